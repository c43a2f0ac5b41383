//! AWS posts no webhook: its events come through a queue, whose policy decides who may write to it.

use crate::webhook::{
    AcceptedWebhook, RequiredKeys, WebhookHandler, WebhookKeys, WebhookMethod, WebhookRefusal,
    WebhookRequest, WebhookSetup,
};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::provider::Provider;

/// A webhook handler without routes: AWS posts no webhooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AwsSocialWebhook;

impl WebhookHandler for AwsSocialWebhook {
    fn provider(&self) -> Provider {
        crate::aws_social::NAME
    }

    fn path_prefixes(&self) -> &'static [&'static str] {
        &[]
    }

    fn allowed_methods(&self, _: &[String]) -> &'static [WebhookMethod] {
        &[]
    }

    fn required_keys(&self) -> RequiredKeys {
        RequiredKeys::NOTHING
    }

    fn authenticate_and_parse(
        &self,
        _: &WebhookRequest<'_>,
        _: &WebhookKeys,
        _: Timestamp,
    ) -> Result<AcceptedWebhook, WebhookRefusal> {
        Err(WebhookRefusal::NoRoute)
    }

    fn describe_webhook_setup(&self, _: &Instance, _: &WebhookKeys, _: &str, _: bool) -> WebhookSetup {
        WebhookSetup::NOTHING
    }
}
