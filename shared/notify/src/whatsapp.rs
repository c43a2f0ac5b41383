//! WhatsApp messages through an instance of Recado itself. The notification's id is the idempotency key, so a repeat
//! sends nothing again.

use crate::Notifier;
use recado_domain::access::Caller;
use recado_domain::alert::Notification;
use recado_domain::config::WhatsAppDestination;
use recado_domain::content::Content;
use recado_domain::ids::IdempotencyKey;
use recado_domain::options::SendOptions;
use recado_pipeline::ports::{ChannelError, Secrets};
use recado_pipeline::random_id::generate_correlation_id;
use recado_sends::{DeliverRequest, accept_message};

/// Longest text of a message, and of a template's parameter, in characters.
const TEXT_MAX: usize = 3_000;
const PARAMETER_MAX: usize = 500;

/// Returns the beginning of `text`, at most so many characters.
fn shorten_text(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Returns the message: the whole text, or one line as the only parameter of a template.
fn build_content(whatsapp: &WhatsAppDestination, notification: &Notification) -> Content {
    let line = shorten_text(&notification.subject_line(), PARAMETER_MAX);
    match whatsapp.fill_template(&line) {
        Some(template) => Content::Template(template),
        None => Content::from_text(shorten_text(&notification.body_text(), TEXT_MAX)),
    }
}

impl<S: Secrets> Notifier<'_, S> {
    /// Stores the message to be sent. If the instance is not open, the message waits for it.
    pub(crate) async fn send_whatsapp(
        &self,
        whatsapp: &WhatsAppDestination,
        notification: &Notification,
    ) -> Result<(), ChannelError> {
        let key = IdempotencyKey::parse(&notification.id);
        let key = key.map_err(|error| ChannelError::Failed(error.to_string()))?;
        let request = DeliverRequest {
            to: whatsapp.to.clone(),
            content: build_content(whatsapp, notification),
            options: SendOptions::default(),
            key: Some(key),
            metadata: None,
            send_at: None,
            correlation: generate_correlation_id(self.deps.system()),
        };
        // Errors of this use case hold no text and no number.
        let accepted = accept_message(self.deps, &Caller::installation(), &whatsapp.instance, request).await;
        accepted
            .map(drop)
            .map_err(|error| ChannelError::Failed(error.to_string()))
    }
}
