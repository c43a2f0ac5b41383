use recado_domain::config::{ConfigError, Instance};
use recado_http_client::url_origin;
use recado_whatsapp::ProviderConfig;
use recado_whatsapp::{check_credential_and_url, uses_installation_host};

/// The destination of an instance's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDestination {
    /// Host (scheme, name and port) that the instance names, if it differs from the host that is configured here.
    pub named_elsewhere: Option<String>,
}

/// Checks the credential and URL of an instance that was described elsewhere, and returns the destination of its key. An
/// error means that the instance may not use them.
pub fn check_key_destination(
    instance: &Instance,
    config: &ProviderConfig,
) -> Result<KeyDestination, ConfigError> {
    check_credential_and_url(instance)?;
    let elsewhere = instance
        .base_url
        .as_deref()
        .filter(|_| !uses_installation_host(instance, config));
    Ok(KeyDestination {
        named_elsewhere: elsewhere.and_then(url_origin),
    })
}
