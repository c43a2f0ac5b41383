//! Lists the providers. Other crates use a provider only through this module, so a new provider changes only this crate.

use crate::config::ProviderConfig;
use crate::webhook::WebhookHandler;
use crate::{aws_social, credential_policy, dialog360, evolution, meta};
use recado_domain::config::{ConfigError, CredentialRef, Instance};
use recado_domain::ids::ExternalId;
use recado_domain::provider::{Provider, ProviderCapabilities};

/// The known providers. The compiler checks that every `match` over them is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderModule {
    Evolution,
    Meta,
    Dialog360,
    AwsSocial,
}

/// All provider names.
pub const ALL_PROVIDERS: [Provider; 4] = [evolution::NAME, meta::NAME, dialog360::NAME, aws_social::NAME];

impl ProviderModule {
    pub(crate) const ALL: [Self; 4] = [Self::Evolution, Self::Meta, Self::Dialog360, Self::AwsSocial];

    /// Returns the provider of that name; `None` if there is none.
    pub(crate) fn from_provider(provider: Provider) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|module| module.to_provider() == provider)
    }

    const fn to_provider(self) -> Provider {
        match self {
            Self::Evolution => evolution::NAME,
            Self::Meta => meta::NAME,
            Self::Dialog360 => dialog360::NAME,
            Self::AwsSocial => aws_social::NAME,
        }
    }

    pub(crate) fn webhook_handler(self) -> &'static dyn WebhookHandler {
        match self {
            Self::Evolution => &evolution::webhook::EvolutionWebhook,
            Self::Meta => &meta::webhook::MetaWebhook,
            Self::Dialog360 => &dialog360::webhook::Dialog360Webhook,
            Self::AwsSocial => &aws_social::webhook::AwsSocialWebhook,
        }
    }

    fn capabilities(self) -> ProviderCapabilities {
        match self {
            Self::Evolution => ProviderCapabilities {
                has_history: true,
                text_max: evolution::TEXT_MAX,
                ..ProviderCapabilities::LINKED_DEVICE
            },
            Self::Meta | Self::Dialog360 | Self::AwsSocial => ProviderCapabilities {
                text_max: meta::TEXT_MAX,
                ..ProviderCapabilities::CLOUD_API
            },
        }
    }

    /// Returns the environment variable of the installation's key or token. `None` for AWS, whose SDK finds AWS's own
    /// credentials.
    pub(crate) fn credential_variable(self) -> Option<&'static str> {
        match self {
            Self::Evolution => Some("EVOLUTION_API_KEY"),
            Self::Meta => Some("META_ACCESS_TOKEN"),
            Self::Dialog360 => Some("D360_API_KEY"),
            Self::AwsSocial => None,
        }
    }

    /// Returns the environment variable of the installation's base URL; `None` for AWS.
    pub(crate) fn base_url_variable(self) -> Option<&'static str> {
        match self {
            Self::Evolution => Some("EVOLUTION_API_URL"),
            Self::Meta => Some("META_BASE_URL"),
            Self::Dialog360 => Some("D360_BASE_URL"),
            Self::AwsSocial => None,
        }
    }

    /// Returns the installation's base URL; `None` if it has none for this provider.
    pub(crate) fn base_url(self, config: &ProviderConfig) -> Option<&str> {
        match self {
            Self::Evolution => config.evolution_base_url.as_deref(),
            Self::Meta => Some(&config.meta_base_url),
            Self::Dialog360 => Some(&config.dialog360_base_url),
            Self::AwsSocial => None,
        }
    }
}

/// Returns the capabilities of a provider; `None` if there is no provider of that name.
pub fn capabilities(provider: Provider) -> Option<ProviderCapabilities> {
    ProviderModule::from_provider(provider).map(ProviderModule::capabilities)
}

/// Returns the reference to an instance's key or token: the instance's own, or else its provider's variable. `None` if
/// AWS's own credentials are used.
pub fn find_credential_ref(instance: &Instance) -> Option<CredentialRef> {
    let of_provider = || ProviderModule::from_provider(instance.provider)?.credential_variable();
    let own = instance.credential.clone();
    own.or_else(|| Some(CredentialRef::Env(of_provider()?.to_owned())))
}

/// Returns the instance in its stored form, with the same external id that webhooks have. Fails if the provider does not
/// exist, or if the instance may not use its credential or base URL.
pub fn normalize(mut instance: Instance) -> Result<Instance, ConfigError> {
    let Some(module) = ProviderModule::from_provider(instance.provider) else {
        return Err(ConfigError::UnknownProvider {
            provider: instance.provider,
            instance: instance.id,
            known: ALL_PROVIDERS.map(|provider| provider.to_string()).join(", "),
        });
    };
    if module == ProviderModule::AwsSocial {
        let bare = |id: &ExternalId| ExternalId::parse(aws_social::parse_phone_number_id(id.as_str())).ok();
        instance.external_id = instance.external_id.map(|id| bare(&id).unwrap_or(id));
    }
    credential_policy::check_credential_and_url(module, &instance)?;
    Ok(instance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn instance(provider: &str, external: &str) -> Instance {
        let written = json!({"id": "a", "tenant": "clinic", "agent": "ana", "provider": provider, "external_id": external});
        serde_json::from_value(written).unwrap()
    }

    #[test]
    fn an_aws_number_is_kept_by_its_bare_id_however_it_is_written() {
        let id = "0123456789abcdef0123456789abcdef";
        for written in [
            id.to_owned(),
            format!("phone-number-id-{id}"),
            format!("arn:aws:social-messaging:sa-east-1:123456789012:phone-number-id/{id}"),
        ] {
            let adopted = normalize(instance("aws-social", &written)).unwrap();
            assert_eq!(adopted.resolve_external_id().unwrap().as_str(), id);
        }
        let other = normalize(instance("360dialog", "x/phone-number-id-7")).unwrap();
        assert_eq!(
            other.resolve_external_id().unwrap().as_str(),
            "x/phone-number-id-7"
        );
    }

    #[test]
    fn a_provider_that_there_is_not_is_named_with_those_that_there_are() {
        let refused = normalize(instance("telepathy", "1")).unwrap_err().to_string();
        assert!(
            refused.contains("`telepathy`") && refused.contains("360dialog, aws-social"),
            "{refused}"
        );
        assert_eq!(capabilities(Provider::from_static("telepathy")), None);
    }

    #[test]
    fn every_name_finds_its_own_module() {
        let found: Vec<_> = ALL_PROVIDERS
            .into_iter()
            .map(|name| ProviderModule::from_provider(name).unwrap().to_provider())
            .collect();
        assert_eq!(found, ALL_PROVIDERS);
    }
}
