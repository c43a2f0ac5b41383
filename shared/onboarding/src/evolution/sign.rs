//! Builds authenticated webhooks as Evolution would post them.

use crate::sign::{AuthenticateError, AuthenticatedWebhook, WebhookCredentials};
use recado_domain::config::Instance;
use recado_domain::provider::Provider;
use recado_whatsapp::{SimulatedInbound, write_simulated_webhook};
use serde_json::{Value, json};

/// Returns `true` if a body looks like one of Evolution's.
pub(crate) fn is_evolution_body(body: &Value) -> bool {
    body.get("instance").is_some() || body.get("instanceName").is_some()
}

/// Authenticates `body` with the secret of the instance that it names. If a replacement name is set, the body gets that
/// name first.
pub(crate) fn authenticate(
    mut body: Value,
    proofs: &WebhookCredentials,
) -> Result<AuthenticatedWebhook, AuthenticateError> {
    const NO_INSTANCE_NAME: AuthenticateError = AuthenticateError::NoInstanceName("a body names no instance");
    let field = if body.get("instance").is_some() {
        "instance"
    } else {
        "instanceName"
    };
    let fields = body.as_object_mut().ok_or(NO_INSTANCE_NAME)?;
    if let Some(name) = proofs.replacement_name() {
        fields.insert(field.to_owned(), json!(name));
    }
    let named = fields.get(field).ok_or(NO_INSTANCE_NAME)?;
    let name = named.as_str().or_else(|| named["instanceName"].as_str());
    let name = name.ok_or(NO_INSTANCE_NAME)?.to_owned();
    proofs.authenticate_with_header(Provider::Evolution, &name, "apikey", &body)
}

/// Returns a webhook body with a text message from a contact; `None` if the instance has no name in Evolution.
pub(crate) fn example_webhook(instance: &Instance, sample: &SimulatedInbound<'_>) -> Option<Value> {
    write_simulated_webhook(Provider::Evolution, &instance.resolve_external_id()?, sample)
}

/// Returns the same body for use between a shell's single quotes; the shell fills in the id and the time. `None` if the
/// instance has no name in Evolution.
pub(crate) fn example_webhook_in_shell(instance: &Instance, sample: &SimulatedInbound<'_>) -> Option<String> {
    let SimulatedInbound {
        phone, name, text, ..
    } = sample;
    let external = instance.resolve_external_id()?;
    Some(format!(
        r#"{{
  "event": "messages.upsert", "instance": "{external}",
  "data": {{"key": {{"remoteJid": "{phone}@s.whatsapp.net", "fromMe": false, "id": "'$(date +%s%N)$RANDOM'"}},
           "pushName": "{name}", "message": {{"conversation": "{text}"}},
           "messageType": "conversation", "messageTimestamp": '$(date +%s)'}}}}"#
    ))
}
