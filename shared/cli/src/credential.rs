//! Finds the credentials of providers for the command line.

use crate::consent::Consent;
use anyhow::{Context, Result, bail};
use recado_domain::config::{CredentialRef, Instance};
use recado_domain::secret::Secret;
use recado_machine::secret_variable::read_secret_variable;
use recado_onboarding::check_key_destination;
use recado_whatsapp::ProviderConfig;

/// Returns the credential of an instance: the one that was given, else one from the environment. A credential in AWS's
/// Parameter Store must be given.
///
/// The installation names the instance's reference and host, and may belong to anybody. So only references that an
/// instance may have are looked up, and a person is asked before a credential goes to a host that is not configured
/// here.
pub(crate) fn find_credential(
    instance: &Instance,
    given: Option<&str>,
    config: &ProviderConfig,
    consent: &Consent,
) -> Result<Secret> {
    let destination = check_key_destination(instance, config)?;
    let (secret, name) = match given.and_then(Secret::new) {
        Some(secret) => (secret, "the key that was given".to_owned()),
        None => read_local_credential(instance)?,
    };
    if let Some(host) = destination.named_elsewhere {
        consent.confirm_sending(&name, &host)?;
    }
    Ok(secret)
}

/// Returns the credential that this machine has, and its name.
fn read_local_credential(instance: &Instance) -> Result<(Secret, String)> {
    match recado_whatsapp::find_credential_ref(instance) {
        Some(CredentialRef::Env(name)) => {
            let secret = read_secret_variable(&name)
                .with_context(|| format!("the variable {name} is not set here: set it, or give --key"))?;
            Ok((secret, name))
        }
        Some(CredentialRef::Ssm(name)) => {
            bail!("its key is the parameter {name} of AWS: give it with --key or RECADO_PROVIDER_KEY")
        }
        None => bail!("this provider is called with AWS's own credentials: check it with AWS's tools"),
    }
}
