//! The providers of models. An agent names one with its model, such as `openai::gpt-4.1`.

use genai::adapter::AdapterKind;
use recado_domain::config::USUAL_MODEL_PROVIDER;

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
}

/// Anthropic, whose models are named without a provider.
pub(crate) static ANTHROPIC: ModelProvider = ModelProvider {
    name: USUAL_MODEL_PROVIDER,
    key_variable: Some("ANTHROPIC_API_KEY"),
    url_variable: "ANTHROPIC_BASE_URL",
    base_url: "https://api.anthropic.com",
    version: "v1",
    adapter: AdapterKind::Anthropic,
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
    },
    ModelProvider {
        name: "gemini",
        key_variable: Some("GEMINI_API_KEY"),
        url_variable: "GEMINI_BASE_URL",
        base_url: "https://generativelanguage.googleapis.com",
        version: "v1beta",
        adapter: AdapterKind::Gemini,
    },
    ModelProvider {
        name: "bedrock",
        key_variable: Some("BEDROCK_API_KEY"),
        url_variable: "BEDROCK_BASE_URL",
        base_url: "https://bedrock-runtime.us-east-1.amazonaws.com",
        version: "",
        adapter: AdapterKind::BedrockApi,
    },
    ModelProvider {
        name: "ollama",
        key_variable: None,
        url_variable: "OLLAMA_BASE_URL",
        base_url: "http://127.0.0.1:11434",
        version: "",
        adapter: AdapterKind::Ollama,
    },
];
