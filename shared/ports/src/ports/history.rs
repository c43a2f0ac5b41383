use jiff::Timestamp;
use recado_domain::delivery::DeliveryKey;
use recado_domain::inbound::WebhookItem;

/// A period in a provider's message history, both ends included, by the provider's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySpan {
    /// Start of the period.
    pub since: Timestamp,
    /// End of the period. All pages use the same end, so that new messages do not shift the pages.
    pub until: Timestamp,
}

/// One message in a provider's history.
#[derive(Debug, Clone)]
pub struct HistoryRecord {
    /// Items that webhooks about this message would have brought: the message with the same id as in its webhook, and
    /// for a message of the business the best of its statuses.
    pub items: Vec<WebhookItem>,
    /// Time when the message was written, by the provider's clock; `None` if the provider does not tell.
    pub at: Option<Timestamp>,
    /// Key of the delivery record that exists if Recado sent the message; `None` for a message of the contact.
    pub own_delivery: Option<DeliveryKey>,
}

/// One page of a provider's message history.
#[derive(Debug, Clone, Default)]
pub struct HistoryPage {
    /// Messages of the page, the oldest first.
    pub records: Vec<HistoryRecord>,
    /// Number of pages of the period when this page was read. Page 1 has the newest messages.
    pub pages: u32,
    /// Number of messages of the period when this page was read.
    pub total: u64,
    /// `true` if the period begins earlier than the provider lets Recado read.
    pub cut: bool,
}

/// The reason why a page of the history could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The provider has no history that can be read. Trying again does not help.
    #[error("the provider keeps no messages that could be fetched")]
    NotOffered,
    /// The key or token is missing or was refused.
    #[error("the provider's key or token is missing or was refused")]
    Credentials,
    /// The provider did not answer, or its answer made no sense. Trying again may help.
    #[error("the provider could not be asked: {why}")]
    Unavailable {
        /// Description of the failure, without personal data.
        why: &'static str,
    },
}
