use jiff::Timestamp;

/// A text message from a contact, as a sample for a webhook.
#[derive(Debug, Clone, Copy)]
pub struct SampleMessage<'a> {
    /// Phone number of the contact, in digits with the country code.
    pub phone: &'a str,
    /// Profile name of the contact.
    pub name: &'a str,
    /// Text of the message.
    pub text: &'a str,
    /// Id of the message.
    pub id: &'a str,
    /// Time of the message.
    pub at: Timestamp,
}
