//! The keys of tokens, and of the sessions of the console.

use super::{TOKENS, TableKey};
use recado_domain::access::TokenHash;
use recado_domain::ids::{TenantId, TokenName};

impl TableKey {
    /// Returns the key of a token's record under its hash.
    pub(crate) fn for_token(hash: &TokenHash) -> Self {
        Self::new(format!("U#{}", hash.as_str()), "U")
    }

    /// Returns the key of a token's record under its tenant and name.
    pub(crate) fn for_named_token(tenant: Option<&TenantId>, name: &TokenName) -> Self {
        let tenant = tenant.map_or("", TenantId::as_str);
        Self::new(TOKENS.to_owned(), format!("{tenant}#{name}"))
    }

    /// Returns the key of a session of the console.
    pub(crate) fn for_session(hash: &TokenHash) -> Self {
        Self::new(format!("H#{}", hash.as_str()), "H")
    }
}
