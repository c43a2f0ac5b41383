//! What webhooks are proven with.

use recado_domain::secret::Secret;
use std::collections::BTreeMap;

/// What webhooks are proven with.
#[derive(Debug, Clone, Default)]
pub struct WebhookKeys {
    /// The masters that instances' secrets are derived from: the present one first, the one before while it is replaced.
    pub masters: Vec<Secret>,
    named: BTreeMap<&'static str, Vec<Secret>>,
}

impl WebhookKeys {
    /// Takes the secret of a setting as it was written, if it was.
    pub fn set_named_secrets(&mut self, key: &NamedKey, written: Option<&Secret>) {
        self.named.insert(key.setting, key.split_secrets(written));
    }

    /// Adds the masters.
    #[must_use]
    pub fn with_masters(self, masters: Vec<Secret>) -> Self {
        Self { masters, ..self }
    }

    /// The secrets that a setting holds: the present one, and others while it is replaced.
    pub fn named_secrets(&self, setting: &str) -> &[Secret] {
        self.named.get(setting).map_or(&[], Vec::as_slice)
    }
}

/// What proves a provider's webhooks, for whoever fetches it. What belongs to others need not be fetched: one provider's
/// webhooks must not depend on where another's keys are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredKeys {
    /// Whether instances' secrets are derived from the master.
    pub masters: bool,
    /// The secrets that it needs besides.
    pub named: &'static [NamedKey],
}

impl RequiredKeys {
    /// What comes by another way than a webhook needs no keys.
    pub(crate) const NOTHING: Self = Self {
        masters: false,
        named: &[],
    };
}

/// A secret that a setting holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedKey {
    /// The setting's name, such as `META_APP_SECRET`.
    pub setting: &'static str,
    /// Whether it may hold several, separated by commas: any of them proves.
    pub several: bool,
}

impl NamedKey {
    fn split_secrets(&self, written: Option<&Secret>) -> Vec<Secret> {
        match written {
            Some(written) if self.several => {
                let parts = written.expose_secret().split(',');
                parts.filter_map(Secret::new).collect()
            }
            written => written.cloned().into_iter().collect(),
        }
    }
}
