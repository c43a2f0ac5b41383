use jiff::Timestamp;
use recado_domain::delivery::DeliveryKey;
use recado_domain::inbound::WebhookItem;

/// A stretch of a provider's memory, both ends in it, by the provider's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistorySpan {
    /// Its beginning.
    pub since: Timestamp,
    /// Its end. It stays the same for all pages, so that what comes in meanwhile does not shift them.
    pub until: Timestamp,
}

/// One message that a provider remembers.
#[derive(Debug, Clone)]
pub struct HistoryRecord {
    /// What a webhook would have brought of it: the message under the very id that its webhook has, and for one of ours
    /// the best of its statuses.
    pub items: Vec<WebhookItem>,
    /// When it was written, as the provider says.
    pub at: Option<Timestamp>,
    /// For what the business wrote: under which name its delivery is known if we sent it.
    pub own_delivery: Option<DeliveryKey>,
}

/// A page of a provider's memory.
#[derive(Debug, Clone, Default)]
pub struct HistoryPage {
    /// Its messages, the oldest first.
    pub records: Vec<HistoryRecord>,
    /// How many pages the span has now. The first has the newest messages.
    pub pages: u32,
    /// How many messages the span has now.
    pub total: u64,
    /// The span begins earlier than the provider lets us read.
    pub cut: bool,
}

/// Why there is no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The provider keeps nothing that could be asked for. Trying again does not help.
    #[error("the provider keeps no messages that could be fetched")]
    NotOffered,
    /// The key or token is missing or was refused.
    #[error("the provider's key or token is missing or was refused")]
    Credentials,
    /// It did not answer, or nothing that makes sense. It may pass.
    #[error("the provider could not be asked: {why}")]
    Unavailable {
        /// What happened; no personal data.
        why: &'static str,
    },
}
