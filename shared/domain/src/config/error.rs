use super::EntryRef;
use crate::ids::TenantId;
use std::collections::BTreeSet;
use std::fmt::Display;

/// The reason why a configuration is not valid, in words for those who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// Makes an error of words that say by themselves what is wrong.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// Makes the error of an entry, or of another part of a document: its name, and what is wrong with it.
    pub fn of(part: impl Display, why: impl Display) -> Self {
        Self(format!("{part}: {why}"))
    }

    /// Makes the error of a part that refers to an entry which is neither in the document nor configured.
    pub(crate) fn missing(part: impl Display, referred: &EntryRef) -> Self {
        Self::of(part, format_args!("there is no {referred}"))
    }

    /// Makes the error of two items of a kind with the same id.
    pub(super) fn declared_twice(kind: &str, id: &str) -> Self {
        Self(format!("{kind} `{id}` is declared twice"))
    }
}

/// Checks that the tenant to which a part of a document refers is there.
pub(super) fn check_tenant_exists(
    from: &str,
    id: &TenantId,
    tenants: &BTreeSet<&TenantId>,
) -> Result<(), ConfigError> {
    if tenants.contains(id) {
        return Ok(());
    }
    Err(ConfigError::missing(from, &EntryRef::Tenant(id.clone())))
}
