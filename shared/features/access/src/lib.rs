//! Creates, lists and revokes tokens, begins and ends sessions of the console, and finds the caller of a request.
//!
//! Its types and rules are in [`recado_domain::access`].

use jiff::Timestamp;
use recado_domain::access::{Caller, ConsoleSession, Scope, Token, TokenRole};
use recado_domain::audit::AuditAction;
use recado_domain::ids::{TenantId, TokenName};
use recado_domain::secret::Secret;
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::identity::load_identity_key;
use recado_pipeline::steps::invited_tenant::find_tenant;
use recado_ports::ports::{Page, PageRequest, PortError, PortResult, System};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::sessions::{delete_session, find_session, renew_session};
use recado_ports::records::tokens::{self, find_token};
use recado_ports::table::put_record;

/// The prefix of every token's text, by which people and scanners recognize it.
const PREFIX: &str = "recado_";

/// The number of hexadecimal digits after the prefix: 256 random bits.
const DIGITS: usize = 64;

/// The longest name of a token, in characters.
const NAME_MAX: usize = 64;

/// The token that a request asks for.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Name of the token.
    pub name: TokenName,
    /// Tenant that the token is limited to. If absent, the token has the scope of its creator.
    pub tenant: Option<TenantId>,
    /// Role of the token.
    pub role: TokenRole,
    /// Time from which the token is refused.
    pub expires_at: Option<Timestamp>,
}

/// A token that was created, with its text, which nobody can read again.
#[derive(Debug)]
pub struct CreatedToken {
    /// The token as it is stored.
    pub token: Token,
    /// Text of the token.
    pub text: Secret,
}

/// The reason for which a token was not created or revoked.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The named record does not exist.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The name cannot be used for a token.
    #[error(
        "a token's name has 1 to {NAME_MAX} ASCII letters, digits, spaces and . _ - @ : + =, and is not `installation`"
    )]
    Name,
    /// The token would have expired already.
    #[error("`expires_at` must be in the future")]
    Expired,
    /// A token with this name exists.
    #[error("there is a token with this name; revoke it first, or choose another name")]
    NameTaken,
    /// The store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Creates a token with a random text. A caller of one tenant creates tokens of that tenant.
pub async fn create_token(deps: &Deps, caller: &Caller, new: NewToken) -> Result<CreatedToken, TokenError> {
    let name = new.name.as_str();
    let fine = name.is_ascii() && name.len() <= NAME_MAX && name.trim() == name;
    if !fine || new.name.is_reserved() {
        return Err(TokenError::Name);
    }
    let now = deps.system().now();
    if new.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return Err(TokenError::Expired);
    }
    let tenant = choose_tenant(deps, caller, new.tenant).await?;
    let text = generate_random_text(deps.system(), PREFIX);
    let token = Token {
        name: new.name,
        tenant,
        role: new.role,
        hash: load_identity_key(deps).await?.hash_token(text.expose_secret()),
        created_at: now,
        created_by: caller.name.clone(),
        expires_at: new.expires_at,
    };
    let made = AuditAction::TokenCreated.on_object(token.tenant.as_ref(), "token", token.name.as_str());
    let expiry = token
        .expires_at
        .map_or_else(|| "never expires".to_owned(), |at| format!("expires {at}"));
    audit_action(
        deps,
        caller,
        made.with_result(format!("{}, {expiry}", token.role)),
    )
    .await?;
    if !tokens::put_token(deps.store(), &token).await? {
        return Err(TokenError::NameTaken);
    }
    tracing::info!(by = %caller.name, token = %token.name, role = %token.role, "a token was created");
    Ok(CreatedToken { token, text })
}

/// Returns the tenant of a token that `caller` names. A tenant outside the caller's scope counts as unknown.
async fn choose_tenant(
    deps: &Deps,
    caller: &Caller,
    wanted: Option<TenantId>,
) -> Result<Option<TenantId>, TokenError> {
    match (&caller.scope, wanted) {
        (Scope::Tenant(own), wanted) => {
            if wanted.is_some_and(|wanted| wanted != *own) {
                return Err(TokenError::NotFound("tenant"));
            }
            Ok(Some(own.clone()))
        }
        (Scope::Installation, None) => Ok(None),
        (Scope::Installation, Some(wanted)) => {
            let known = find_tenant(deps, &wanted).await?;
            known.map(|_| Some(wanted)).ok_or(TokenError::NotFound("tenant"))
        }
    }
}

/// Generates the text of a token or a session: 256 random bits, as two nonces, behind a prefix.
fn generate_random_text(system: &dyn System, prefix: &str) -> Secret {
    let (first, second) = (generate_nonce(system), generate_nonce(system));
    Secret::from_generated(format!("{prefix}{first}{second}"))
}

/// Lists the tokens within the caller's scope, or those of `tenant`.
pub async fn list_tokens(
    deps: &Deps,
    caller: &Caller,
    tenant: Option<&TenantId>,
    page: &PageRequest,
) -> PortResult<Page<Token>> {
    if tenant.is_some_and(|tenant| !caller.scope.covers(tenant)) {
        return Ok(Page::empty());
    }
    let tenant = caller.scope.tenant().or(tenant);
    tokens::list_tokens(deps.store(), tenant, page).await
}

/// Revokes a token of `tenant` (if absent, of the caller's own scope). A token outside the caller's scope counts as
/// unknown.
pub async fn revoke_token(
    deps: &Deps,
    caller: &Caller,
    tenant: Option<&TenantId>,
    name: &TokenName,
) -> Result<(), TokenError> {
    if tenant.is_some_and(|tenant| !caller.scope.covers(tenant)) {
        return Err(TokenError::NotFound("token"));
    }
    let tenant = caller.scope.tenant().or(tenant);
    let revoked = AuditAction::TokenRevoked.on_object(tenant, "token", name.as_str());
    audit_action(deps, caller, revoked).await?;
    if !tokens::delete_token(deps.store(), tenant, name).await? {
        return Err(TokenError::NotFound("token"));
    }
    tracing::info!(by = %caller.name, token = %name, "a token was revoked");
    Ok(())
}

/// Returns the caller whose token has the text `shown`; `None` if there is no such token, or it has expired. A text that
/// cannot be a token's is refused without a read.
pub async fn find_caller(deps: &Deps, shown: &str) -> PortResult<Option<Caller>> {
    let digits = shown.strip_prefix(PREFIX).unwrap_or_default();
    if digits.len() != DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let hash = load_identity_key(deps).await?.hash_token(shown);
    let found = tokens::find_token(deps.store(), &hash).await?;
    let now = deps.system().now();
    let valid = found.filter(|token| token.hash == hash && token.is_valid_at(now));
    Ok(valid.map(|token| token.to_caller()))
}

/// The prefix of every session's text. No token has it.
const SESSION_PREFIX: &str = "session_";

/// Begins a session for the holder of the token `token`, which the caller has checked. Returns its text, which nobody can read again.
pub async fn begin_session(deps: &Deps, token: &str) -> PortResult<Secret> {
    let key = load_identity_key(deps).await?;
    let text = generate_random_text(deps.system(), SESSION_PREFIX);
    let hash = key.hash_token(text.expose_secret());
    let session = ConsoleSession::begin(hash, key.hash_token(token), None, deps.system().now());
    put_record(deps.store(), &session).await?;
    Ok(text)
}

/// Returns the caller who is signed in by the session with the text `shown`, and renews the session. `None`: it ended, or its token
/// is not accepted any more. `own` is the installation's own token.
pub async fn find_session_caller(deps: &Deps, shown: &Secret, own: &Secret) -> PortResult<Option<Caller>> {
    if !shown.expose_secret().starts_with(SESSION_PREFIX) {
        return Ok(None);
    }
    let key = load_identity_key(deps).await?;
    let now = deps.system().now();
    let found = find_session(deps.store(), &key.hash_token(shown.expose_secret())).await?;
    let Some(found) = found.filter(|found| found.record.is_valid_at(now)) else {
        return Ok(None);
    };
    let session = &found.record;
    let caller = if session.token == key.hash_token(own.expose_secret()) {
        Some(Caller::installation())
    } else {
        let token = find_token(deps.store(), &session.token).await?;
        let valid = token.filter(|token| token.hash == session.token && token.is_valid_at(now));
        valid.map(|token| token.to_caller())
    };
    if let (Some(_), Some(expires)) = (&caller, session.renew_at(now)) {
        renew_session(deps.store(), found, expires).await?;
    }
    Ok(caller)
}

/// Ends the session with the text `shown`.
pub async fn end_session(deps: &Deps, shown: &Secret) -> PortResult<()> {
    let hash = load_identity_key(deps).await?.hash_token(shown.expose_secret());
    delete_session(deps.store(), &hash).await
}
