//! Access to the API: the tokens, their roles, and the permissions of each role.

mod guess_limit;
mod session;

use crate::ids::{CorrelationId, TenantId, TokenName};
use crate::millis;
pub use guess_limit::GuessLimit;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
pub use session::{ConsoleRequest, ConsoleSession, SESSION_PATH};
use std::collections::BTreeSet;
use std::fmt;
use strum::IntoStaticStr;

/// The shortest token that is accepted, in characters: a shorter one can be guessed.
pub const TOKEN_LENGTH_MIN: usize = 32;

/// The fewest different characters of a token that is accepted. Random ones of 32 hexadecimal digits have about 14.
const DIFFERENT_MIN: usize = 8;

/// Returns `true` if a token is hard to guess. It is long, of several characters, and repeats no part of itself.
pub fn is_strong_token(text: &str) -> bool {
    let different: BTreeSet<char> = text.chars().collect();
    // A text that repeats itself holds itself once more, a bit later.
    let is_repetition = text.get(1..).is_some_and(|rest| {
        let twice = format!("{rest}{text}");
        twice.find(text).is_some_and(|at| (at + 1) * 2 <= text.len())
    });
    text.len() >= TOKEN_LENGTH_MIN && different.len() >= DIFFERENT_MIN && !is_repetition
}

/// The role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = TokenRoleSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TokenRole {
    /// Reads.
    Viewer,
    /// Reads, sends, answers, takes over, gives back, resolves, and handles dead letters.
    Operator,
    /// Sends, and cancels scheduled messages. Reads nothing.
    Sender,
    /// Reads, and configures.
    Manager,
    /// May do everything, also create and revoke tokens.
    Admin,
}

/// The permission that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// To read records.
    Read,
    /// To send messages, upload files for them, and cancel scheduled ones.
    Send,
    /// To do what people do with conversations and dead letters.
    Operate,
    /// To change the configuration.
    Configure,
    /// To create and revoke tokens.
    Administer,
}

impl TokenRole {
    /// All roles.
    pub const ALL: [Self; 5] = [
        Self::Viewer,
        Self::Operator,
        Self::Sender,
        Self::Manager,
        Self::Admin,
    ];

    /// Returns the name of the role in records, requests and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Parses the name of a role.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }

    /// Returns `true` if the role includes `permission`.
    pub fn permits(self, permission: Permission) -> bool {
        match permission {
            Permission::Read => self != Self::Sender,
            Permission::Send => matches!(self, Self::Sender | Self::Operator | Self::Admin),
            Permission::Operate => matches!(self, Self::Operator | Self::Admin),
            Permission::Configure => matches!(self, Self::Manager | Self::Admin),
            Permission::Administer => self == Self::Admin,
        }
    }
}

impl fmt::Display for TokenRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The part of the installation that a token opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every tenant, and what belongs to no tenant.
    Installation,
    /// One tenant.
    Tenant(TenantId),
}

impl Scope {
    /// Makes the scope of a token of `tenant`; `None` stands for the installation.
    pub fn from_tenant(tenant: Option<TenantId>) -> Self {
        tenant.map_or(Self::Installation, Self::Tenant)
    }

    /// Returns the only tenant of the scope; `None` for the installation. Lists are queried by it.
    pub fn tenant(&self) -> Option<&TenantId> {
        match self {
            Self::Installation => None,
            Self::Tenant(tenant) => Some(tenant),
        }
    }

    /// Returns `true` if records of `tenant` are within the scope.
    pub fn covers(&self, tenant: &TenantId) -> bool {
        self.tenant().is_none_or(|own| own == tenant)
    }

    /// Returns `true` if a record that may belong to no tenant is within the scope.
    pub fn covers_owner(&self, tenant: Option<&TenantId>) -> bool {
        match (self, tenant) {
            (Self::Installation, _) => true,
            (Self::Tenant(own), Some(tenant)) => own == tenant,
            (Self::Tenant(_), None) => false,
        }
    }
}

/// The holder of a token during one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Name of the token. Records of what the caller did hold it.
    pub name: TokenName,
    /// Role of the token.
    pub role: TokenRole,
    /// Scope of the token.
    pub scope: Scope,
    /// Correlation id of the request; `None` if the installation acts by itself.
    pub request: Option<CorrelationId>,
}

impl Caller {
    /// Returns the installation itself, which may do everything.
    pub fn installation() -> Self {
        Self {
            name: TokenName::installation(),
            role: TokenRole::Admin,
            scope: Scope::Installation,
            request: None,
        }
    }
}

/// The keyed hash of a token, in 64 hexadecimal digits. [`crate::identity::IdentityKey::hash_token`] makes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash(pub(crate) String);

impl TokenHash {
    /// Returns the hash as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A token as it is stored: without its text, which is shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Name of the token, which no other token of the same tenant has.
    pub name: TokenName,
    /// Tenant that the token is limited to; `None` for the whole installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Role of the token.
    pub role: TokenRole,
    /// Keyed hash of the token's text.
    pub hash: TokenHash,
    /// Time at which the token was created.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// Name of the token that created this one.
    pub created_by: TokenName,
    /// Time from which the token is refused; `None` if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "millis::optional")]
    pub expires_at: Option<Timestamp>,
}

impl Token {
    /// Returns `true` if the token is accepted at `now`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires_at| now < expires_at)
    }

    /// Returns the holder of the token.
    pub fn to_caller(&self) -> Caller {
        Caller {
            name: self.name.clone(),
            role: self.role,
            scope: Scope::from_tenant(self.tenant.clone()),
            request: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Permission::{Administer, Configure, Operate, Read, Send};

    #[test]
    fn a_token_of_few_or_repeated_characters_is_weak() {
        for weak in [
            "short".to_owned(),
            "a".repeat(32),
            "ab".repeat(16),
            "password".repeat(4),
            "0123456789".repeat(4),
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaabcd".to_owned(),
        ] {
            assert!(!is_strong_token(&weak), "{weak}");
        }
        for strong in [
            "operator-token-1-of-32-characters",
            "0f6e5a1b9c3d7284e6a0b5c1d9f83e72",
            "recado_9d2f",
        ]
        .map(|text| format!("{text}-of-this-test-and-no-other"))
        {
            assert!(is_strong_token(&strong), "{strong}");
        }
    }

    #[test]
    fn each_role_has_the_permissions_that_its_description_names() {
        for (role, permissions) in [
            (TokenRole::Viewer, &[Read][..]),
            (TokenRole::Operator, &[Read, Send, Operate]),
            (TokenRole::Sender, &[Send]),
            (TokenRole::Manager, &[Read, Configure]),
            (TokenRole::Admin, &[Read, Send, Operate, Configure, Administer]),
        ] {
            for permission in [Read, Send, Operate, Configure, Administer] {
                assert_eq!(
                    role.permits(permission),
                    permissions.contains(&permission),
                    "{role} {permission:?}"
                );
            }
            assert_eq!(TokenRole::parse(role.as_str()), Some(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
        }
        assert_eq!(TokenRole::parse("root"), None);
    }

    #[test]
    fn a_tenants_scope_covers_that_tenant_alone() {
        let tenant = |id| TenantId::parse(id).unwrap();
        let (all, one) = (Scope::Installation, Scope::Tenant(tenant("a")));
        assert!(all.covers(&tenant("a")) && all.covers(&tenant("b")) && all.covers_owner(None));
        assert!(one.covers(&tenant("a")) && one.covers_owner(Some(&tenant("a"))));
        assert!(
            !one.covers(&tenant("b")) && !one.covers_owner(Some(&tenant("b"))) && !one.covers_owner(None)
        );
    }
}
