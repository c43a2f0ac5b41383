//! Attempts at e-mails, as the observations note them.

/// One attempt to give an e-mail to its carrier: from the write that begins it to the next write of the same e-mail.
#[derive(Debug, Clone)]
pub struct MailAttempt {
    /// The id of its invitation.
    pub invitation: String,
    /// The number of the function that makes it.
    pub function: u64,
    /// `true` if the record says that it may have been sent before.
    pub marked: bool,
    /// Time at which it was stored, in milliseconds since the start.
    pub claimed_ms: i64,
    /// Time at which the carrier was asked, in milliseconds since the start.
    pub requested_ms: Option<i64>,
    /// Text of the e-mail that the carrier was given.
    pub text: String,
    /// `true` once somebody stored its end, or that nobody knows it.
    pub is_settled: bool,
}
