//! Keys of the HTTP API on AWS.

use async_trait::async_trait;
use futures::future::{try_join, try_join_all};
use recado_aws::{AwsSecrets, OsSystem};
use recado_domain::config::CredentialRef;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_http::Keys;
use recado_pipeline::ports::{PortError, Secrets};
use recado_whatsapp::required_keys;
use recado_whatsapp::webhook::WebhookKeys;
use std::sync::Arc;

/// The keys of an AWS installation: the secrets that the template generates and the parameters that the template's user
/// named. Each key is read once and kept for some minutes; none but the webhook masters is read before a request needs it.
#[derive(Debug, Clone)]
pub(crate) struct AwsKeys {
    secrets: AwsSecrets<OsSystem>,
}

impl AwsKeys {
    /// Creates keys that are read through `secrets`.
    pub(crate) fn new(secrets: AwsSecrets<OsSystem>) -> Self {
        Self { secrets }
    }

    async fn read_parameter(&self, name: &str) -> Result<Option<Secret>, PortError> {
        self.secrets
            .resolve_secret(&CredentialRef::Env(name.to_owned()))
            .await
    }
}

#[async_trait]
impl Keys for AwsKeys {
    async fn webhook_keys(&self, provider: Provider) -> Result<Arc<WebhookKeys>, PortError> {
        let needs = required_keys(provider);
        let masters = async {
            if needs.masters {
                self.secrets.webhook_masters().await
            } else {
                Ok(Vec::new())
            }
        };
        let named = needs.named.iter();
        let named = try_join_all(named.map(|key| self.read_parameter(key.setting)));
        let (masters, named) = try_join(masters, named).await?;
        let mut keys = WebhookKeys::default().with_masters(masters);
        for (key, written) in needs.named.iter().zip(named) {
            keys.set_named_secrets(key, written.as_ref());
        }
        Ok(Arc::new(keys))
    }

    async fn app_secret(&self, reference: &CredentialRef) -> Result<Option<Secret>, PortError> {
        self.secrets.resolve_secret(reference).await
    }

    async fn operator_token(&self) -> Result<Option<Secret>, PortError> {
        self.secrets.operator_token().await
    }
}
