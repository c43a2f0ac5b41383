//! Builds signed webhooks as Meta would post them.

use crate::sign::{AuthenticateError, AuthenticatedWebhook, WebhookCredentials};
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, hmac_sha256};
use serde_json::Value;

/// Returns `true` if a body looks like one of Meta's.
pub(crate) fn is_meta_body(body: &Value) -> bool {
    body.get("entry").is_some()
}

/// Signs `body` with the app secret; if there are several, with the first one.
pub(crate) fn sign_webhook(
    body: &Value,
    proofs: &WebhookCredentials,
) -> Result<AuthenticatedWebhook, AuthenticateError> {
    let several = proofs.lookup_setting("META_APP_SECRET");
    let mut secrets = several
        .iter()
        .flat_map(|several| several.expose_secret().split(','))
        .filter_map(Secret::new);
    let secret = secrets.next().ok_or(AuthenticateError::Missing(
        "webhooks of Meta are signed: set META_APP_SECRET as the installation has it",
    ))?;
    let body = body.to_string().into_bytes();
    let mac = hmac_sha256(secret.expose_secret().as_bytes(), &body);
    Ok(AuthenticatedWebhook {
        path: format!("/webhooks/{}", Provider::Meta),
        headers: vec![("x-hub-signature-256", format!("sha256={}", hex::encode(mac)))],
        body,
    })
}
