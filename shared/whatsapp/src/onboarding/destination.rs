use crate::config::ProviderConfig;
use crate::credential_policy::{check_credential_and_url, uses_installation_host};
use crate::registry::ProviderModule;
use recado_domain::config::{ConfigError, Instance};
use recado_domain::provider::Provider;
use reqwest::Url;

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
    let Some(module) = ProviderModule::from_provider(instance.provider) else {
        return Ok(KeyDestination {
            named_elsewhere: None,
        });
    };
    check_credential_and_url(module, instance)?;
    let elsewhere = instance
        .base_url
        .as_deref()
        .filter(|_| !uses_installation_host(module, instance, config));
    Ok(KeyDestination {
        named_elsewhere: elsewhere.and_then(url_origin),
    })
}

/// Returns the setting whose secret the connect command sends to the installation's webhook URL; `None` if it sends
/// none.
pub fn setting_shown_to_webhook(provider: Provider) -> Option<&'static str> {
    match ProviderModule::from_provider(provider)? {
        ProviderModule::Meta => Some(crate::meta::VERIFY_TOKEN),
        ProviderModule::Evolution | ProviderModule::Dialog360 | ProviderModule::AwsSocial => None,
    }
}

/// Returns scheme, name and port of an HTTP URL, to be shown and compared; `None` for any other URL.
pub fn url_origin(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    let web = matches!(url.scheme(), "http" | "https");
    web.then(|| url.origin().ascii_serialization())
}
