use async_trait::async_trait;
use recado_domain::alert::Notification;
use recado_domain::config::AlertDestination;

/// The reason why a notification was not delivered. Each may pass: an operator can mend it while it is retried. The
/// texts hold no secret and no personal data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The destination lacks something to be reached.
    #[error("{0}")]
    NotConfigured(String),
    /// The destination was not reached, or it refused the notification.
    #[error("{0}")]
    Failed(String),
}

/// The ways to the destinations of notifications.
#[async_trait]
pub trait NotificationChannels: Send + Sync {
    /// Delivers a notification within some seconds. The same notification may be delivered again: the channel gives
    /// its id, so that the receiver recognizes it.
    async fn deliver_notification(
        &self,
        destination: &AlertDestination,
        notification: &Notification,
    ) -> Result<(), ChannelError>;
}
