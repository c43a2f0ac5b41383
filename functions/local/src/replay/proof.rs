//! The proofs that providers show: recordings hold none, so they are made anew.

use crate::environment::Environment;
use crate::installation::Installation;
use crate::record::Line;
use anyhow::{Context, Result, bail};
use recado_domain::config::Instance;
use recado_domain::event::Provider;
use recado_domain::secret::{Secret, hmac_sha256};
use recado_whatsapp::dialog360::SECRET_HEADER;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A webhook, ready to be posted.
#[derive(Debug)]
pub(super) struct Signed {
    pub(super) provider: Provider,
    pub(super) body: Vec<u8>,
    /// The header that proves it.
    pub(super) header: (&'static str, String),
}

/// What proofs are made with.
pub(super) struct Proofs {
    /// Secrets of Evolution's and 360dialog's instances, by provider and its name of the instance.
    secrets: BTreeMap<(Provider, String), String>,
    meta: Option<Secret>,
    /// The name that bodies of Evolution get.
    instead: Option<String>,
}

impl Proofs {
    /// Asks the installation for the secrets of Evolution's instances, if `lines` have any; Meta's app secret comes from
    /// the environment.
    pub(super) async fn of(
        there: &Installation,
        environment: &Environment,
        lines: &[Line],
        instead: Option<&str>,
    ) -> Result<Self> {
        let mut proofs = Self {
            secrets: BTreeMap::new(),
            meta: environment.webhook.named("META_APP_SECRET").first().cloned(),
            instead: None,
        };
        let by_secret = |provider| {
            matches!(
                provider,
                recado_whatsapp::evolution::NAME | recado_whatsapp::dialog360::NAME
            )
        };
        if !lines.iter().any(|line| by_secret(line.provider)) {
            return Ok(proofs);
        }
        let configured = there.configured().await?;
        if let Some(name) = instead {
            let external = configured.instance(name)?.external();
            proofs.instead = external.map(|external| external.to_string());
        }
        let instances: Vec<&Instance> = configured
            .document
            .instances
            .iter()
            .filter(|instance| by_secret(instance.provider))
            .collect();
        let told = there.webhooks(&instances).await?;
        for (instance, webhook) in instances.iter().zip(told) {
            if let (Some(external), Some(secret)) = (instance.external(), webhook.secret) {
                let key = (instance.provider, external.to_string());
                proofs.secrets.insert(key, secret);
            }
        }
        Ok(proofs)
    }

    /// Makes the proof of a webhook.
    pub(super) fn sign(&self, mut line: Line) -> Result<Signed> {
        match line.provider {
            recado_whatsapp::evolution::NAME => {
                let instance = self.instance(&mut line.body)?;
                self.with_secret(&line, "apikey", &instance)
            }
            recado_whatsapp::dialog360::NAME => {
                let number = line
                    .body
                    .pointer("/entry/0/changes/0/value/metadata/phone_number_id");
                let number = number.and_then(Value::as_str).map(str::to_owned);
                let number = number.context("a body of 360dialog names no number: only its URL did")?;
                self.with_secret(&line, SECRET_HEADER, &number)
            }
            recado_whatsapp::meta::NAME => {
                let secret = self.meta.as_ref();
                let secret = secret
                    .context("webhooks of Meta are signed: set META_APP_SECRET as the installation has it")?;
                let body = line.body.to_string().into_bytes();
                let mac = hmac_sha256(secret.expose().as_bytes(), &body);
                Ok(Signed {
                    provider: line.provider,
                    body,
                    header: ("x-hub-signature-256", format!("sha256={}", hex::encode(mac))),
                })
            }
            _ => bail!("events of AWS come by a queue and cannot be posted"),
        }
    }

    fn with_secret(&self, line: &Line, header: &'static str, instance: &str) -> Result<Signed> {
        let secret = self.secrets.get(&(line.provider, instance.to_owned()));
        let secret = secret.with_context(|| {
            format!("the installation has no instance {instance}: give --as, or configure it there")
        })?;
        Ok(Signed {
            provider: line.provider,
            body: line.body.to_string().into_bytes(),
            header: (header, secret.clone()),
        })
    }

    /// The instance that a body names, after it was given another name if it is to have one.
    fn instance(&self, body: &mut Value) -> Result<String> {
        let field = if body.get("instance").is_some() {
            "instance"
        } else {
            "instanceName"
        };
        if let Some(name) = &self.instead {
            body[field] = json!(name);
        }
        let named = &body[field];
        let name = named.as_str().or_else(|| named["instanceName"].as_str());
        name.map(str::to_owned).context("a body names no instance")
    }
}
