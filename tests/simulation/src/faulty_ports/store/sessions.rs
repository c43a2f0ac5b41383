//! The sessions of the console.

use super::FaultyPort;
use jiff::Timestamp;
use recado_domain::access::{ConsoleSession, TokenHash};
use recado_pipeline::ports::{Sessions, Store};
use recado_testkit::delegate_calls;

/// No use case of a message's way calls it.
impl<S: Store> Sessions for FaultyPort<S> {
    delegate_calls! { directly:
        put_session(session: &ConsoleSession) -> ();
        find_session(hash: &TokenHash) -> Option<ConsoleSession>;
        renew_session(hash: &TokenHash, expires: Timestamp) -> ();
        delete_session(hash: &TokenHash) -> ();
    }
}
