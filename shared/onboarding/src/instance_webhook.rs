use recado_domain::secret::Secret;
use serde::{Deserialize, Deserializer};
use std::fmt;

/// An instance's webhook as the installation wants it at the provider.
#[derive(Clone, Deserialize)]
pub struct InstanceWebhook {
    /// Id of the instance.
    pub id: String,
    /// Webhook URL; empty if the provider's events come through a queue. It may contain the secret (after `/k/`).
    #[serde(rename = "webhook_url", deserialize_with = "or_empty")]
    pub url: String,
    /// Secret of the webhooks. The server returns it only to `apply`.
    #[serde(default, deserialize_with = "secret")]
    pub secret: Option<Secret>,
    /// Header that carries the secret, if the provider sends it in a header that Recado chooses.
    #[serde(default)]
    pub secret_header: Option<String>,
    /// `true` if the installation has the secret that proves the webhooks.
    pub proof_set: bool,
    /// `true` if the installation has the token of the handshake; `None` if the provider has no handshake.
    pub verify_token_set: Option<bool>,
}

impl fmt::Debug for InstanceWebhook {
    /// Omits the secret that the URL may contain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("id", &self.id)
            .field("url", &self.url_without_secret())
            .finish_non_exhaustive()
    }
}

impl InstanceWebhook {
    /// Returns the URL without the secret, to be shown to people.
    pub fn url_without_secret(&self) -> &str {
        self.url.split("/k/").next().unwrap_or_default()
    }
}

fn or_empty<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(from).map(Option::unwrap_or_default)
}

fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.as_deref().and_then(Secret::new))
}
