//! Builds signed webhooks as Meta would post them.

use crate::sign::{AuthenticateError, AuthenticatedWebhook, WebhookCredentials};
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, hmac_sha256};
use serde_json::Value;

/// Returns `true` if a body looks like one of Meta's.
pub(crate) fn is_meta_body(body: &Value) -> bool {
    body.get("entry").is_some()
}

/// Signs `body` with the secret of its number's own app, or with that of the installation. If there are several, signs with the
/// first one.
pub(crate) fn sign_webhook(
    body: &Value,
    proofs: &WebhookCredentials,
) -> Result<AuthenticatedWebhook, AuthenticateError> {
    let several = proofs.lookup_setting("META_APP_SECRET");
    let mut secrets = several
        .iter()
        .flat_map(|several| several.expose_secret().split(','))
        .filter_map(Secret::new);
    let number = body["entry"][0]["changes"][0]["value"]["metadata"]["phone_number_id"].as_str();
    let own = number.and_then(|number| proofs.find_instance_secret(Provider::Meta, number));
    let secret = own.cloned().or_else(|| secrets.next());
    let secret = secret.ok_or(AuthenticateError::Missing(
        "webhooks of Meta are signed: set META_APP_SECRET as the installation has it, or what the instance's app_secret names",
    ))?;
    let body = body.to_string().into_bytes();
    let mac = hmac_sha256(secret.expose_secret().as_bytes(), &body);
    Ok(AuthenticatedWebhook {
        path: format!("/webhooks/{}", Provider::Meta),
        headers: vec![("x-hub-signature-256", format!("sha256={}", hex::encode(mac)))],
        body,
    })
}
