//! The keys of the HTTP surface on AWS.

use crate::compose::ComposeError;
use futures::future::try_join;
use recado_aws::{AwsSecrets, SystemAmbient};
use recado_domain::config::CredentialRef;
use recado_domain::event::Provider;
use recado_domain::secret::Secret;
use recado_http::{Keys, WebhookKeys, WebhookLimits};
use recado_pipeline::ports::{PortError, Secrets};
use recado_pipeline::settings::Problem;
use std::sync::Arc;

/// The template's generated secrets and the parameters that its user named. Each is read once and kept for some minutes;
/// none is read before the first request that needs it.
#[derive(Debug, Clone)]
pub struct AwsKeys {
    secrets: AwsSecrets<SystemAmbient>,
}

impl AwsKeys {
    /// The keys that `secrets` holds.
    pub fn new(secrets: AwsSecrets<SystemAmbient>) -> Self {
        Self { secrets }
    }

    async fn parameter(&self, name: &str) -> Result<Option<Secret>, PortError> {
        self.secrets.resolve(&CredentialRef::Env(name.to_owned())).await
    }
}

impl Keys for AwsKeys {
    async fn webhook(&self, provider: Provider) -> Result<Arc<WebhookKeys>, PortError> {
        let mut keys = WebhookKeys::default();
        match provider {
            recado_whatsapp::evolution::NAME => keys.masters = self.secrets.webhook_masters().await?,
            recado_whatsapp::meta::NAME => {
                let (app_secrets, verify_token) = try_join(
                    self.parameter("META_APP_SECRET"),
                    self.parameter("META_VERIFY_TOKEN"),
                )
                .await?;
                keys.meta_app_secrets = several(app_secrets.as_ref());
                keys.meta_verify_token = verify_token;
            }
            recado_whatsapp::dialog360::NAME => {
                let (masters, partner) = try_join(
                    self.secrets.webhook_masters(),
                    self.parameter("D360_PARTNER_SECRET"),
                )
                .await?;
                keys.masters = masters;
                keys.dialog360_partner_secrets = several(partner.as_ref());
            }
            // Its events come by a queue, whose policy says who may write to it.
            _ => {}
        }
        Ok(Arc::new(keys))
    }

    async fn operator_token(&self) -> Result<Option<Secret>, PortError> {
        self.secrets.operator_token().await
    }
}

/// Secrets separated by commas.
fn several(written: Option<&Secret>) -> Vec<Secret> {
    let parts = written.iter().flat_map(|several| several.expose().split(','));
    parts.filter_map(Secret::new).collect()
}

/// The largest webhook that is taken: `RECADO_WEBHOOK_MAX_BYTES`, else what Lambda carries.
pub fn webhook_limits() -> Result<WebhookLimits, ComposeError> {
    let name = "RECADO_WEBHOOK_MAX_BYTES";
    match std::env::var(name).ok().filter(|text| !text.trim().is_empty()) {
        None => Ok(WebhookLimits::default()),
        Some(text) => match text.trim().parse() {
            Ok(bytes_max) => Ok(WebhookLimits { bytes_max }),
            Err(_) => Err(ComposeError::Environment(vec![Problem {
                name: name.to_owned(),
                what: "must be a number of bytes".to_owned(),
            }])),
        },
    }
}
