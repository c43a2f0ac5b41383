use jiff::{SignedDuration, Timestamp};
use recado_domain::secret::Secret;

/// A ticket that opens a push connection once.
#[derive(Debug)]
pub struct PushTicket {
    /// Text of the ticket. The store keeps a hash of it.
    pub text: Secret,
    /// Time from which the ticket is refused.
    pub expires_at: Timestamp,
    /// Time for which the connection is told of news, from when it is opened.
    pub connection_time: SignedDuration,
}
