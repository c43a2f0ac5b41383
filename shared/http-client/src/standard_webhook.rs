//! Signs requests as Standard Webhooks defines it: <https://www.standardwebhooks.com>.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::secret::{Secret, hmac_sha256};

/// The prefix of a secret.
const SECRET_PREFIX: &str = "whsec_";

/// The error for a secret that is not `whsec_` and base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the secret must be whsec_ and base64 (of 24 to 64 bytes)")]
pub struct NoSigningSecret;

/// Returns the headers that prove a body which is sent at `seconds` of the Unix epoch under this id.
pub fn sign_webhook(
    secret: &Secret,
    id: &str,
    seconds: i64,
    body: &str,
) -> Result<[(&'static str, String); 3], NoSigningSecret> {
    sign_with_secrets(std::slice::from_ref(secret), id, seconds, body)
}

/// Returns these headers with a signature by each of several secrets, separated by spaces: a receiver knows one of them.
pub fn sign_with_secrets(
    secrets: &[Secret],
    id: &str,
    seconds: i64,
    body: &str,
) -> Result<[(&'static str, String); 3], NoSigningSecret> {
    let signed = format!("{id}.{seconds}.{body}");
    let sign = |secret: &Secret| {
        let text = secret.expose_secret();
        let key = STANDARD.decode(text.strip_prefix(SECRET_PREFIX).unwrap_or(text));
        let key = key.map_err(|_| NoSigningSecret)?;
        let signature = hmac_sha256(&key, signed.as_bytes());
        Ok(format!("v1,{}", STANDARD.encode(signature)))
    };
    let signatures: Vec<String> = secrets.iter().map(sign).collect::<Result<_, _>>()?;
    Ok([
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signatures.join(" ")),
    ])
}
