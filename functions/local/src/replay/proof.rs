//! The proofs that providers show: recordings hold none, so they are made anew.

use crate::credential;
use crate::installation::Installation;
use crate::record::Line;
use anyhow::Result;
use recado_domain::config::Instance;
use recado_whatsapp::setting_up::{Proofs, by_instance};

/// What the proofs of `lines` are made with. The installation is asked for the secrets of its instances if one of them is
/// needed; what else there is comes from the environment.
pub(super) async fn of(there: &Installation, lines: &[Line], instead: Option<&str>) -> Result<Proofs> {
    let mut proofs = Proofs::new(credential::named);
    if !lines.iter().any(|line| by_instance(line.provider)) {
        return Ok(proofs);
    }
    let configured = there.configured().await?;
    if let Some(name) = instead {
        proofs.as_if_for(configured.instance(name)?);
    }
    let instances: Vec<&Instance> = configured
        .document
        .instances
        .iter()
        .filter(|instance| by_instance(instance.provider))
        .collect();
    let told = there.webhooks(&instances).await?;
    for (instance, webhook) in instances.iter().zip(told) {
        if let Some(secret) = webhook.secret {
            proofs.learn(instance, secret);
        }
    }
    Ok(proofs)
}
