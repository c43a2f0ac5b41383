//! Which providers there are. All that others ask of one goes through here, so that a provider is added in this crate alone.

use crate::config::ProviderConfig;
use crate::webhook::Door;
use crate::{aws_social, dialog360, evolution, meta, reach};
use recado_domain::config::{ConfigError, CredentialRef, Instance};
use recado_domain::ids::ExternalId;
use recado_domain::provider::{Provider, Traits};

/// The providers. A `match` over them is asked for by the compiler wherever they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Module {
    Evolution,
    Meta,
    Dialog360,
    AwsSocial,
}

/// The providers that there are.
pub const ALL: [Provider; 4] = [evolution::NAME, meta::NAME, dialog360::NAME, aws_social::NAME];

impl Module {
    pub(crate) const ALL: [Self; 4] = [Self::Evolution, Self::Meta, Self::Dialog360, Self::AwsSocial];

    /// Which one is called so, if any.
    pub(crate) fn of(provider: Provider) -> Option<Self> {
        Self::ALL.into_iter().find(|module| module.name() == provider)
    }

    const fn name(self) -> Provider {
        match self {
            Self::Evolution => evolution::NAME,
            Self::Meta => meta::NAME,
            Self::Dialog360 => dialog360::NAME,
            Self::AwsSocial => aws_social::NAME,
        }
    }

    /// What it has for its webhooks.
    pub(crate) fn door(self) -> &'static dyn Door {
        match self {
            Self::Evolution => &evolution::webhook::Webhook,
            Self::Meta => &meta::webhook::Webhook,
            Self::Dialog360 => &dialog360::webhook::Webhook,
            Self::AwsSocial => &aws_social::webhook::Webhook,
        }
    }

    fn traits(self) -> Traits {
        match self {
            Self::Evolution => Traits {
                remembers: true,
                text_max: evolution::TEXT_MAX,
                ..Traits::LINKED
            },
            Self::Meta | Self::Dialog360 | Self::AwsSocial => Traits {
                text_max: meta::TEXT_MAX,
                ..Traits::CLOUD
            },
        }
    }

    /// The variable with the installation's key or token. None for AWS, whose SDK finds AWS's own credentials.
    pub(crate) fn credential(self) -> Option<&'static str> {
        match self {
            Self::Evolution => Some("EVOLUTION_API_KEY"),
            Self::Meta => Some("META_ACCESS_TOKEN"),
            Self::Dialog360 => Some("D360_API_KEY"),
            Self::AwsSocial => None,
        }
    }

    /// The variable with the installation's base URL, where there is one.
    pub(crate) fn url_setting(self) -> Option<&'static str> {
        match self {
            Self::Evolution => Some("EVOLUTION_API_URL"),
            Self::Meta => Some("META_BASE_URL"),
            Self::Dialog360 => Some("D360_BASE_URL"),
            Self::AwsSocial => None,
        }
    }

    /// The installation's base URL.
    pub(crate) fn base_url(self, config: &ProviderConfig) -> Option<&str> {
        match self {
            Self::Evolution => config.evolution_base_url.as_deref(),
            Self::Meta => Some(&config.meta_base_url),
            Self::Dialog360 => Some(&config.dialog360_base_url),
            Self::AwsSocial => None,
        }
    }
}

/// What the rules ask of a provider; `None` if there is none of that name.
pub fn traits(provider: Provider) -> Option<Traits> {
    Module::of(provider).map(Module::traits)
}

/// Where an instance's key or token is: where it says, else in its provider's variable. None where AWS's own credentials
/// serve.
pub fn credential(instance: &Instance) -> Option<CredentialRef> {
    let of_provider = || Module::of(instance.provider)?.credential();
    let own = instance.credential.clone();
    own.or_else(|| Some(CredentialRef::Env(of_provider()?.to_owned())))
}

/// The instance as it is kept: with the name that webhooks have for it. An error if there is no such provider, or if its
/// credential or base URL is none that it may name.
pub fn adopt(mut instance: Instance) -> Result<Instance, ConfigError> {
    let Some(module) = Module::of(instance.provider) else {
        return Err(ConfigError::NoProvider {
            provider: instance.provider,
            instance: instance.id,
            known: ALL.map(|provider| provider.to_string()).join(", "),
        });
    };
    if module == Module::AwsSocial {
        let bare = |id: &ExternalId| ExternalId::parse(aws_social::phone_number_id(id.as_str())).ok();
        instance.external_id = instance.external_id.map(|id| bare(&id).unwrap_or(id));
    }
    reach::check(module, &instance)?;
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
            let adopted = adopt(instance("aws-social", &written)).unwrap();
            assert_eq!(adopted.external().unwrap().as_str(), id);
        }
        let other = adopt(instance("360dialog", "x/phone-number-id-7")).unwrap();
        assert_eq!(other.external().unwrap().as_str(), "x/phone-number-id-7");
    }

    #[test]
    fn a_provider_that_there_is_not_is_named_with_those_that_there_are() {
        let refused = adopt(instance("telepathy", "1")).unwrap_err().to_string();
        assert!(
            refused.contains("`telepathy`") && refused.contains("360dialog, aws-social"),
            "{refused}"
        );
        assert_eq!(traits(Provider::named("telepathy")), None);
    }

    #[test]
    fn every_name_finds_its_own_module() {
        let found: Vec<_> = ALL
            .into_iter()
            .map(|name| Module::of(name).unwrap().name())
            .collect();
        assert_eq!(found, ALL);
    }
}
