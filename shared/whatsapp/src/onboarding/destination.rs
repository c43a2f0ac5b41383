use crate::config::ProviderConfig;
use crate::credential_policy::{check_credential_and_url, uses_installation_host};
use crate::registry::ProviderModule;
use recado_domain::config::{ConfigError, Instance};
use recado_domain::provider::Provider;
use reqwest::Url;

/// Where an instance's key would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDestination {
    /// The host (scheme, name and port) that the instance names, where it is another than the one configured here.
    pub named_elsewhere: Option<String>,
}

/// Checks what an instance that somebody else describes names, and says where its key would go.
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

/// The setting whose secret connecting shows to the installation's webhook URL, if there is one.
pub fn setting_shown_to_webhook(provider: Provider) -> Option<&'static str> {
    match ProviderModule::from_provider(provider)? {
        ProviderModule::Meta => Some(crate::meta::VERIFY_TOKEN),
        ProviderModule::Evolution | ProviderModule::Dialog360 | ProviderModule::AwsSocial => None,
    }
}

/// Scheme, name and port of an HTTP URL, for people and to compare.
pub fn url_origin(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    let web = matches!(url.scheme(), "http" | "https");
    web.then(|| url.origin().ascii_serialization())
}
