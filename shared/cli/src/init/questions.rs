//! The answers that are usual for a new configuration: the language of a time zone, the texts of a language, the models of a vendor.

use clap::ValueEnum;

/// The language in which a business writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum BusinessLanguage {
    #[value(name = "en")]
    English,
    #[value(name = "pt")]
    Portuguese,
    #[value(name = "es")]
    Spanish,
}

/// The texts of a new configuration in one language. `{business}` stands for the name of the business.
pub(super) struct LanguageWords {
    pub(super) prompt: &'static str,
    pub(super) error_message: &'static str,
    pub(super) closed_message: &'static str,
}

impl BusinessLanguage {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Portuguese => "pt",
            Self::Spanish => "es",
        }
    }

    pub(super) fn words(self) -> LanguageWords {
        match self {
            Self::English => LanguageWords {
                prompt: "You answer for {business} on WhatsApp: briefly, warmly, in the language of the customer.\n\
                    If you do not know something, you say so, and offer that a person answers later.",
                error_message: "Sorry, something went wrong here. Could you write again in a few minutes?",
                closed_message: "We are closed now.",
            },
            Self::Portuguese => LanguageWords {
                prompt: "Você atende por {business} no WhatsApp: com frases curtas e simpatia, na língua do cliente.\n\
                    Se não souber algo, diga isso e ofereça que uma pessoa responda depois.",
                error_message: "Desculpe, tive um problema por aqui. Pode escrever de novo daqui a pouco?",
                closed_message: "Estamos fechados agora.",
            },
            Self::Spanish => LanguageWords {
                prompt: "Atiendes por {business} en WhatsApp: con frases cortas y amables, en el idioma del cliente.\n\
                    Si no sabes algo, dilo y ofrece que una persona responda después.",
                error_message: "Perdona, algo salió mal aquí. ¿Puedes escribir otra vez en unos minutos?",
                closed_message: "Ahora estamos cerrados.",
            },
        }
    }

    /// Returns the language that most people speak in a time zone, if it is one of these; else English.
    pub(super) fn guess_for_zone(zone: &str) -> Self {
        let (region, city) = zone.split_once('/').unwrap_or(("", zone));
        let is_among = |cities: &str| cities.split(' ').any(|one| one == city);
        if is_among(PORTUGUESE) {
            return Self::Portuguese;
        }
        if is_among(SPANISH) || (region == "America" && city.starts_with("Argentina/")) {
            return Self::Spanish;
        }
        Self::English
    }
}

/// The cities of time zones where people speak Portuguese.
const PORTUGUESE: &str = "Araguaina Azores Bahia Belem Boa_Vista Campo_Grande Cuiaba Eirunepe Fortaleza Lisbon Luanda Maceio \
    Madeira Manaus Maputo Noronha Porto_Velho Recife Rio_Branco Santarem Sao_Paulo Cape_Verde";

/// The cities of time zones where people speak Spanish.
const SPANISH: &str = "Asuncion Bahia_Banderas Bogota Buenos_Aires Canary Cancun Caracas Chihuahua Ciudad_Juarez Costa_Rica \
    El_Salvador Guatemala Guayaquil Havana Hermosillo La_Paz Lima Madrid Managua Matamoros Mazatlan \
    Merida Mexico_City Monterrey Montevideo Panama Puerto_Rico Santiago Santo_Domingo Tegucigalpa \
    Tijuana";

/// A vendor of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ModelVendor {
    /// Name of the vendor, as it stands before the name of a model.
    pub(super) name: &'static str,
    /// A model to begin with.
    pub(super) model: &'static str,
    /// The variable of the key. `None`: it asks for none.
    pub(super) key: Option<&'static str>,
}

impl ModelVendor {
    const fn new(name: &'static str, model: &'static str, key: Option<&'static str>) -> Self {
        Self { name, model, key }
    }
}

/// The vendors. The first is the usual one.
pub(super) const VENDORS: [ModelVendor; 5] = [
    ModelVendor::new("anthropic", "claude-sonnet-4-5", Some("ANTHROPIC_API_KEY")),
    ModelVendor::new("openai", "openai::gpt-4.1", Some("OPENAI_API_KEY")),
    ModelVendor::new("gemini", "gemini::gemini-2.5-flash", Some("GEMINI_API_KEY")),
    ModelVendor::new(
        "bedrock",
        "bedrock::amazon.nova-lite-v1:0",
        Some("BEDROCK_API_KEY"),
    ),
    ModelVendor::new("ollama", "ollama::llama3.2", None),
];

/// Finds a vendor by its name.
pub(super) fn parse_vendor(text: &str) -> Result<ModelVendor, String> {
    let found = VENDORS.into_iter().find(|vendor| vendor.name == text);
    found.ok_or_else(|| {
        let known = VENDORS.map(|vendor| vendor.name);
        format!("there is no vendor `{text}`; known are {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::config::{model_provider_asks_for_key, split_model_name};

    #[test]
    fn a_time_zone_suggests_a_language() {
        for (zone, language) in [
            ("America/Sao_Paulo", "pt"),
            ("Europe/Lisbon", "pt"),
            ("America/Argentina/Cordoba", "es"),
            ("America/Mexico_City", "es"),
            ("Europe/Berlin", "en"),
            ("UTC", "en"),
        ] {
            assert_eq!(
                BusinessLanguage::guess_for_zone(zone).as_str(),
                language,
                "{zone}"
            );
        }
    }

    #[test]
    fn each_vendor_has_a_model_of_its_own() {
        for vendor in VENDORS {
            assert_eq!(split_model_name(vendor.model).0, vendor.name);
            assert_eq!(model_provider_asks_for_key(vendor.name), vendor.key.is_some());
            assert_eq!(parse_vendor(vendor.name), Ok(vendor));
        }
        assert!(parse_vendor("acme").unwrap_err().contains("openai"));
    }
}
