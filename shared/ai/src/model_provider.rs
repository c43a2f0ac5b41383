//! The providers of models. An agent names one with its model, such as `openai::gpt-4.1`.

use genai::adapter::AdapterKind;
use recado_domain::config::USUAL_MODEL_PROVIDER;
use recado_domain::model_files::ProviderFileLimits;

/// A provider of models.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelProvider {
    /// The name by which agents name it, before `::`.
    pub name: &'static str,
    /// Name of the variable that holds the installation's key. `None`: it asks for no key.
    pub key_variable: Option<&'static str>,
    /// Name of the variable that holds its base URL.
    pub url_variable: &'static str,
    /// The base URL, unless set.
    pub base_url: &'static str,
    /// The version that its URLs begin with; may be empty.
    pub(crate) version: &'static str,
    /// The interface.
    pub(crate) adapter: AdapterKind,
    /// The files that it opens, by its documentation.
    pub(crate) file_limits: ProviderFileLimits,
}

/// <https://docs.claude.com/en/docs/build-with-claude/vision> (pixels),
/// <https://docs.claude.com/en/docs/build-with-claude/pdf-support> (no encryption).
const ANTHROPIC_FILES: ProviderFileLimits = ProviderFileLimits {
    side_max: Some(8_000),
    side_max_among: Some((20, 2_000)),
    opens_encrypted: false,
};

/// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html>
const BEDROCK_FILES: ProviderFileLimits = ProviderFileLimits {
    side_max: Some(8_000),
    ..ProviderFileLimits::NONE
};

/// Anthropic, whose models are named without a provider.
pub(crate) static ANTHROPIC: ModelProvider = ModelProvider {
    name: USUAL_MODEL_PROVIDER,
    key_variable: Some("ANTHROPIC_API_KEY"),
    url_variable: "ANTHROPIC_BASE_URL",
    base_url: "https://api.anthropic.com",
    version: "v1",
    adapter: AdapterKind::Anthropic,
    file_limits: ANTHROPIC_FILES,
};

/// The other providers.
pub static OTHER_PROVIDERS: [ModelProvider; 4] = [
    ModelProvider {
        name: "openai",
        key_variable: Some("OPENAI_API_KEY"),
        url_variable: "OPENAI_BASE_URL",
        base_url: "https://api.openai.com",
        version: "v1",
        adapter: AdapterKind::OpenAI,
        file_limits: ProviderFileLimits::NONE,
    },
    ModelProvider {
        name: "gemini",
        key_variable: Some("GEMINI_API_KEY"),
        url_variable: "GEMINI_BASE_URL",
        base_url: "https://generativelanguage.googleapis.com",
        version: "v1beta",
        adapter: AdapterKind::Gemini,
        file_limits: ProviderFileLimits::NONE,
    },
    ModelProvider {
        name: "bedrock",
        key_variable: Some("BEDROCK_API_KEY"),
        url_variable: "BEDROCK_BASE_URL",
        base_url: "https://bedrock-runtime.us-east-1.amazonaws.com",
        version: "",
        adapter: AdapterKind::BedrockApi,
        file_limits: BEDROCK_FILES,
    },
    ModelProvider {
        name: "ollama",
        key_variable: None,
        url_variable: "OLLAMA_BASE_URL",
        base_url: "http://127.0.0.1:11434",
        version: "",
        adapter: AdapterKind::Ollama,
        file_limits: ProviderFileLimits::NONE,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::config::model_provider_asks_for_key;

    #[test]
    fn the_rules_know_which_providers_ask_for_a_key() {
        for provider in OTHER_PROVIDERS.iter().chain([&ANTHROPIC]) {
            let asks = model_provider_asks_for_key(provider.name);
            assert_eq!(asks, provider.key_variable.is_some(), "{}", provider.name);
        }
    }
}
