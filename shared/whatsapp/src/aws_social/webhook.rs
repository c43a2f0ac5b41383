//! AWS posts no webhook: its events come by a queue, whose policy says who may write to it.

use crate::webhook::{Door, KeyNeeds, Method, Refusal, Request, Taken, WebhookKeys, WebhookSetup};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::provider::Provider;

/// A door that is not there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Webhook;

impl Door for Webhook {
    fn provider(&self) -> Provider {
        crate::aws_social::NAME
    }

    fn paths(&self) -> &'static [&'static str] {
        &[]
    }

    fn methods(&self, _: &[String]) -> &'static [Method] {
        &[]
    }

    fn keys(&self) -> KeyNeeds {
        KeyNeeds::NOTHING
    }

    fn receive(&self, _: &Request<'_>, _: &WebhookKeys, _: Timestamp) -> Result<Taken, Refusal> {
        Err(Refusal::NoRoute)
    }

    fn setting_up(&self, _: &Instance, _: &WebhookKeys, _: &str, _: bool) -> WebhookSetup {
        WebhookSetup::NOTHING
    }
}
