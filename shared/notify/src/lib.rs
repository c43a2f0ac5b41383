//! The ways to the destinations of notifications.
//!
//! [`Notifier`] implements the port [`NotificationChannels`]: by a signed request to a URL, by a WhatsApp message through
//! an instance of Recado itself, and by e-mail. Each gives the receiver the notification's id, so that a repeat is
//! recognized. [`EndpointPoster`] posts published events to the endpoints of tenants.

#[cfg_attr(not(feature = "smtp"), path = "email_left_out.rs")]
mod email;
mod endpoint;
mod webhook;
mod whatsapp;

use async_trait::async_trait;
pub use endpoint::EndpointPoster;

use recado_domain::alert::Notification;
use recado_domain::config::{AlertDestination, CredentialRef, DestinationChannel};
use recado_domain::secret::Secret;
use recado_pipeline::Deps;
use recado_pipeline::ports::{ChannelError, NotificationChannels, Secrets};
use std::time::Duration;

/// Longest time that a destination may take to accept a notification.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The channels of an installation.
#[derive(Debug)]
pub struct Notifier<'a, S> {
    deps: &'a Deps,
    secrets: S,
    http: reqwest::Client,
    timeout: Duration,
}

impl<'a, S: Secrets> Notifier<'a, S> {
    /// Creates the channels. `deps` send WhatsApp messages, `http` sends requests, `secrets` has the secrets that the
    /// destinations name.
    pub fn new(deps: &'a Deps, http: reqwest::Client, secrets: S) -> Self {
        Self {
            deps,
            secrets,
            http,
            timeout: DELIVERY_TIMEOUT,
        }
    }

    /// Returns the channels with another time for a destination to accept a notification.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    async fn resolve_secret(&self, reference: &CredentialRef) -> Result<Secret, ChannelError> {
        let missing = || {
            let name = String::from(reference.clone());
            ChannelError::NotConfigured(format!("the secret {name} is not set"))
        };
        match self.secrets.resolve_secret(reference).await {
            Ok(secret) => secret.ok_or_else(missing),
            Err(_) => Err(ChannelError::Failed("the secret could not be read".to_owned())),
        }
    }
}

#[async_trait]
impl<S: Secrets> NotificationChannels for Notifier<'_, S> {
    async fn deliver_notification(
        &self,
        destination: &AlertDestination,
        notification: &Notification,
    ) -> Result<(), ChannelError> {
        match destination.channel() {
            Some(DestinationChannel::Webhook(webhook)) => self.post_webhook(webhook, notification).await,
            Some(DestinationChannel::WhatsApp(whatsapp)) => self.send_whatsapp(whatsapp, notification).await,
            Some(DestinationChannel::Email(email)) => self.send_email(email, notification).await,
            None => Err(ChannelError::NotConfigured(
                "the destination has no channel".to_owned(),
            )),
        }
    }
}
