use jiff::Timestamp;

/// A text that a contact writes, to show what a webhook looks like.
#[derive(Debug, Clone, Copy)]
pub struct SampleMessage<'a> {
    /// The contact's number, in digits with its country code.
    pub phone: &'a str,
    /// What the contact calls itself.
    pub name: &'a str,
    /// What it writes.
    pub text: &'a str,
    /// The message's id.
    pub id: &'a str,
    /// When it writes.
    pub at: Timestamp,
}
