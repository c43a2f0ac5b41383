//! The providers and their capabilities, as far as the domain rules depend on them.

use crate::outgoing::TEXT_MAX;
use crate::rate::Rate;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::IntoStaticStr;

/// A service through which WhatsApp numbers are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(rename_all = "kebab-case"))]
#[serde(try_from = "String", into = "&'static str")]
#[strum(serialize_all = "kebab-case")]
pub enum Provider {
    /// Evolution API, which drives a linked phone.
    Evolution,
    /// Meta's Cloud API.
    Meta,
    /// 360dialog, a partner of Meta.
    #[cfg_attr(feature = "schema", schema(rename = "360dialog"))]
    #[strum(serialize = "360dialog")]
    Dialog360,
    /// AWS End User Messaging Social, a partner of Meta.
    AwsSocial,
}

impl Provider {
    /// All providers.
    pub const ALL: [Self; 4] = [Self::Evolution, Self::Meta, Self::Dialog360, Self::AwsSocial];

    /// Returns the provider of that name.
    pub fn parse(name: &str) -> Result<Self, UnknownProvider> {
        let mut all = Self::ALL.into_iter();
        all.find(|provider| provider.as_str() == name)
            .ok_or_else(|| UnknownProvider(name.to_owned()))
    }

    /// Returns the provider's name in routes, records and secrets.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the provider's capabilities.
    pub const fn capabilities(self) -> ProviderCapabilities {
        match self {
            Self::Evolution => ProviderCapabilities {
                address_format: AddressFormat::Jids,
                has_service_window: false,
                echoes_our_id: false,
                acceptance_is_local: true,
                has_pictures: true,
                is_linked_device: true,
                has_history: true,
                text_max: TEXT_MAX,
                rate: None,
                pair_rate: None,
                typing_lasts: SignedDuration::from_secs(8),
                typing_marks_read: false,
                blocks_downloads: false,
            },
            Self::Meta | Self::Dialog360 | Self::AwsSocial => ProviderCapabilities {
                address_format: AddressFormat::Numbers,
                has_service_window: true,
                echoes_our_id: true,
                acceptance_is_local: false,
                has_pictures: false,
                is_linked_device: false,
                has_history: false,
                text_max: TEXT_MAX,
                rate: Some(Rate::META),
                pair_rate: Some(Rate::META_PAIR),
                // Meta shows it for 25 seconds.
                typing_lasts: SignedDuration::from_secs(20),
                typing_marks_read: true,
                blocks_downloads: matches!(self, Self::Dialog360),
            },
        }
    }
}

impl TryFrom<String> for Provider {
    type Error = UnknownProvider;

    fn try_from(name: String) -> Result<Self, UnknownProvider> {
        Self::parse(&name)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a name that no provider has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no provider `{0}`; there are {known}", known = Provider::ALL.map(Provider::as_str).join(", "))]
pub struct UnknownProvider(String);

/// The capabilities of a provider that the domain rules depend on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProviderCapabilities {
    /// Format of contacts' addresses in the provider's webhooks and requests.
    pub address_format: AddressFormat,
    /// `true` if Meta's 24-hour service window applies: outside the window only templates are sent.
    pub has_service_window: bool,
    /// `true` if statuses carry the id that Recado gave the message; `false` if they carry the provider's id.
    pub echoes_our_id: bool,
    /// `true` if the provider accepts a message before WhatsApp does: only a status shows that WhatsApp has it.
    pub acceptance_is_local: bool,
    /// `true` if the provider tells the pictures that contacts show.
    pub has_pictures: bool,
    /// `true` if the provider is a linked phone, which can lose its connection without a report. The stored connection
    /// state then becomes outdated, and Recado asks for it.
    pub is_linked_device: bool,
    /// `true` if the provider can list past messages, so that messages whose webhooks were lost can be found.
    pub has_history: bool,
    /// Largest length of a text in one message, in UTF-16 code units. Evolution has no limit of its own, but WhatsApp hides
    /// the rest of a longer text behind "read more". Meta does not say which kind of characters it counts:
    /// <https://developers.facebook.com/docs/whatsapp/cloud-api/messages/text-messages>
    pub text_max: usize,
    /// Rate of an instance that configures no rate; `None`: the installation's setting.
    pub rate: Option<Rate>,
    /// Rate of messages from one instance to one contact; `None`: not limited.
    pub pair_rate: Option<Rate>,
    /// Time after which "typing…" is shown again, so that it does not end in between.
    pub typing_lasts: SignedDuration,
    /// `true` if the contact's messages are also marked as read where "typing…" is shown.
    pub typing_marks_read: bool,
    /// `true` if the provider refuses all downloads of a number for a while after many that failed
    /// ([`crate::instance::DownloadBlock`]).
    pub blocks_downloads: bool,
}

/// The format in which a provider writes people's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressFormat {
    /// `5511999998888@s.whatsapp.net`, and `…@lid` where WhatsApp hides the number.
    Jids,
    /// `5511999998888`, and a business-scoped user id (`BR.134…`) where WhatsApp hides the number.
    Numbers,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_itself_in_records() {
        for (provider, name) in
            Provider::ALL
                .into_iter()
                .zip(["evolution", "meta", "360dialog", "aws-social"])
        {
            assert_eq!(provider.to_string(), name);
            assert_eq!(Provider::parse(name), Ok(provider));
            let written = serde_json::to_string(&provider).unwrap();
            assert_eq!(written, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Provider>(&written).unwrap(), provider);
        }
    }

    #[test]
    fn each_provider_has_its_rate() {
        let capabilities = Provider::Evolution.capabilities();
        assert_eq!((capabilities.rate, capabilities.pair_rate), (None, None));
        let evolution = (Rate::EVOLUTION.per_second, Rate::EVOLUTION.burst);
        assert_eq!(
            evolution,
            (1.0, 5),
            "the rate of the settings, unless they say otherwise"
        );
        for provider in [Provider::Meta, Provider::Dialog360, Provider::AwsSocial] {
            let capabilities = provider.capabilities();
            let (rate, pair) = (capabilities.rate.unwrap(), capabilities.pair_rate.unwrap());
            assert_eq!((rate.per_second, rate.burst), (80.0, 160), "{provider}");
            assert_eq!((pair.per_second, pair.burst), (1.0 / 6.0, 45), "{provider}");
        }
    }

    #[test]
    fn what_is_no_provider_is_refused_with_the_names_of_those_that_there_are() {
        for text in ["", "Evolution", "telepathy", "360dialog ", "a\0"] {
            assert!(Provider::parse(text).is_err(), "{text}");
            let written = serde_json::to_string(text).unwrap();
            let refused = serde_json::from_str::<Provider>(&written)
                .unwrap_err()
                .to_string();
            let named = refused.contains(&format!("`{text}`"));
            assert!(named && refused.contains("360dialog, aws-social"), "{refused}");
        }
    }
}
