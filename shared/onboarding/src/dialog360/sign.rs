//! Builds authenticated webhooks as 360dialog would post them.

use crate::sign::{AuthenticateError, AuthenticatedWebhook, WebhookCredentials};
use recado_domain::provider::Provider;
use recado_whatsapp::dialog360::SECRET_HEADER;
use serde_json::Value;

/// Authenticates `body` with the webhook secret of the number that it names.
pub(crate) fn sign_webhook(
    body: &Value,
    proofs: &WebhookCredentials,
) -> Result<AuthenticatedWebhook, AuthenticateError> {
    let number = body.pointer("/entry/0/changes/0/value/metadata/phone_number_id");
    let number = number
        .and_then(Value::as_str)
        .ok_or(AuthenticateError::NoInstanceName(
            "a body of 360dialog names no number: only its URL did",
        ))?;
    proofs.authenticate_with_header(Provider::Dialog360, number, SECRET_HEADER, body)
}
