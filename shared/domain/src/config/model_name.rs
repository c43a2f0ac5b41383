//! Names of models, with the provider that has them: `openai::gpt-4.1`.

use super::CredentialRef;

/// The provider of a model whose name names none.
pub const USUAL_MODEL_PROVIDER: &str = "anthropic";

/// The provider whose models run on the user's own machines, and who asks for no key.
const KEYLESS_MODEL_PROVIDER: &str = "ollama";

/// The light model of [`USUAL_MODEL_PROVIDER`], which rewrites questions.
pub const USUAL_REWRITING_MODEL: &str = "claude-haiku-4-5";

/// The model that rewrites questions for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RewritingModel<'a> {
    /// Name of the model.
    pub name: &'a str,
    /// Reference to the tenant's own key. `None`: the installation's key for the model's provider.
    pub key: Option<&'a CredentialRef>,
}

/// Returns `true` if a provider of models asks for a key.
pub fn model_provider_asks_for_key(provider: &str) -> bool {
    provider != KEYLESS_MODEL_PROVIDER
}

/// Splits the name of a model into the name of its provider and its name there. A name without `::` is Anthropic's.
pub fn split_model_name(model: &str) -> (&str, &str) {
    model.split_once("::").unwrap_or((USUAL_MODEL_PROVIDER, model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_provider_is_anthropics_and_a_single_colon_belongs_to_the_name() {
        assert_eq!(
            split_model_name("claude-sonnet-4-5"),
            ("anthropic", "claude-sonnet-4-5")
        );
        assert_eq!(split_model_name("openai::gpt-4.1"), ("openai", "gpt-4.1"));
        assert_eq!(
            split_model_name("bedrock::anthropic.claude-sonnet-4-5-20250929-v1:0"),
            ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0")
        );
    }
}
