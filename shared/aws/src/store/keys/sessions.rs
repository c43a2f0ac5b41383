//! The key of the sessions of the console.

use super::TableKey;
use recado_domain::access::TokenHash;

impl TableKey {
    /// Returns the key of a session of the console.
    pub(crate) fn for_session(hash: &TokenHash) -> Self {
        Self::new(format!("H#{}", hash.as_str()), "H")
    }
}
