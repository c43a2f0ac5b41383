//! Names of models, with the provider that has them: `openai::gpt-4.1`.

/// The provider of a model whose name names none.
pub const USUAL_MODEL_PROVIDER: &str = "anthropic";

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
