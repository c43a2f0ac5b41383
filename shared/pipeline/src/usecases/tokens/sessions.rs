//! Sessions of the console: begun on a token, renewed while they are used, and ended on the server.

use super::generate_random_text;
use crate::steps::identity::load_identity_key;
use recado_domain::access::{Caller, ConsoleSession};
use recado_domain::secret::Secret;
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::sessions::{delete_session, find_session, renew_session};
use recado_ports::records::tokens::find_token;
use recado_ports::table::put_record;

/// The prefix of every session's text. No token has it.
const PREFIX: &str = "session_";

/// Begins a session for the holder of the token `token`, which the caller has checked. Returns its text, which nobody can read again.
pub async fn begin_session(deps: &Deps, token: &str) -> PortResult<Secret> {
    let key = load_identity_key(deps).await?;
    let text = generate_random_text(deps.system(), PREFIX);
    let hash = key.hash_token(text.expose_secret());
    let session = ConsoleSession::begin(hash, key.hash_token(token), None, deps.system().now());
    put_record(deps.store(), &session).await?;
    Ok(text)
}

/// Returns the caller who is signed in by the session with the text `shown`, and renews the session. `None`: it ended, or its token
/// is not accepted any more. `own` is the installation's own token.
pub async fn find_session_caller(deps: &Deps, shown: &Secret, own: &Secret) -> PortResult<Option<Caller>> {
    if !shown.expose_secret().starts_with(PREFIX) {
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
