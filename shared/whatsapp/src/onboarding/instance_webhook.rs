use recado_domain::secret::Secret;
use serde::{Deserialize, Deserializer};
use std::fmt;

/// How a provider is to be set up for an instance, as the installation says.
#[derive(Clone, Deserialize)]
pub struct InstanceWebhook {
    /// The instance's id.
    pub id: String,
    /// Where its webhooks go; empty where the provider's events come by a queue. It may hold the secret (after `/k/`).
    #[serde(rename = "webhook_url", deserialize_with = "or_empty")]
    pub url: String,
    /// What they are proven with. Only in the answer to who applies.
    #[serde(default, deserialize_with = "secret")]
    pub secret: Option<Secret>,
    /// The header that carries it, where it goes into a header of ours.
    #[serde(default)]
    pub secret_header: Option<String>,
    /// Whether the installation has what the webhooks are proven with.
    pub proof_set: bool,
    /// Whether it has what a handshake is answered with, where there is one.
    pub verify_token_set: Option<bool>,
}

impl fmt::Debug for InstanceWebhook {
    /// Without the secret that the URL may hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("id", &self.id)
            .field("url", &self.url_without_secret())
            .finish_non_exhaustive()
    }
}

impl InstanceWebhook {
    /// The URL without a secret, for people.
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
