//! The keys of providers, as far as the command line has them.

use anyhow::{Context, Result};
use recado_domain::config::{CredentialRef, Instance};
use recado_domain::secret::Secret;

/// The key of an instance: as given, else from the environment. What lies in AWS's Parameter Store must be given.
pub(crate) fn of(instance: &Instance, given: Option<&str>) -> Result<Secret> {
    if let Some(secret) = given.and_then(Secret::new) {
        return Ok(secret);
    }
    match recado_whatsapp::credential(instance) {
        CredentialRef::Env(name) => named(&name)
            .with_context(|| format!("the variable {name} is not set here: set it, or give --key")),
        CredentialRef::Ssm(name) => Err(anyhow::anyhow!(
            "its key is the parameter {name} of AWS: give it with --key or RECADO_PROVIDER_KEY"
        )),
    }
}

/// A secret of this machine, by its setting's name.
pub(crate) fn named(setting: &str) -> Option<Secret> {
    std::env::var(setting).ok().and_then(|text| Secret::new(&text))
}
