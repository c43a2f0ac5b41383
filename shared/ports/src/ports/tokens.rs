use super::{Page, PageRequest, PortResult};
use recado_domain::access::{Token, TokenHash};
use recado_domain::ids::{TenantId, TokenName};
use std::future::Future;

/// A store of the tokens of the API. It holds their hashes, never their texts.
pub trait Tokens: Send + Sync {
    /// Stores a new token, in one transaction. `false`, and nothing is written: its tenant (or, for a token without a
    /// tenant, the installation) has a token with this name.
    fn put_token(&self, token: &Token) -> impl Future<Output = PortResult<bool>> + Send;

    /// Returns the token with this hash, also an expired one; `None` if there is none. The answer may be as old as
    /// [`crate::settings::Settings::config_ttl`], and takes one read at most.
    fn find_token(&self, hash: &TokenHash) -> impl Future<Output = PortResult<Option<Token>>> + Send;

    /// Lists the tokens of `tenant`, or all tokens (`None`), in a fixed order.
    fn list_tokens(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Token>>> + Send;

    /// Deletes the token with this name of `tenant`, or of the installation (`None`), in one transaction. `false`: there
    /// is no such token.
    fn delete_token(
        &self,
        tenant: Option<&TenantId>,
        name: &TokenName,
    ) -> impl Future<Output = PortResult<bool>> + Send;
}
