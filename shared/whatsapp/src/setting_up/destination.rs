use crate::catalogue::Module;
use crate::config::ProviderConfig;
use crate::reach::{check, is_at_home};
use recado_domain::config::{ConfigError, Instance};
use recado_domain::provider::Provider;
use reqwest::Url;

/// Where an instance's key would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The host (scheme, name and port) that the instance names, where it is another than the one configured here.
    pub named_elsewhere: Option<String>,
}

/// Checks what an instance that somebody else describes names, and says where its key would go.
pub fn destination(instance: &Instance, config: &ProviderConfig) -> Result<Destination, ConfigError> {
    let Some(module) = Module::of(instance.provider) else {
        return Ok(Destination {
            named_elsewhere: None,
        });
    };
    check(module, instance)?;
    let elsewhere = instance
        .base_url
        .as_deref()
        .filter(|_| !is_at_home(module, instance, config));
    Ok(Destination {
        named_elsewhere: elsewhere.and_then(host),
    })
}

/// The setting whose secret connecting shows to the installation's webhook URL, if there is one.
pub fn shown_to_webhook(provider: Provider) -> Option<&'static str> {
    match Module::of(provider)? {
        Module::Meta => Some(crate::meta::VERIFY_TOKEN),
        Module::Evolution | Module::Dialog360 | Module::AwsSocial => None,
    }
}

/// Scheme, name and port of an HTTP URL, for people and to compare.
pub fn host(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    let web = matches!(url.scheme(), "http" | "https");
    web.then(|| url.origin().ascii_serialization())
}
