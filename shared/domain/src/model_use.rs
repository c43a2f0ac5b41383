//! The tokens that calls of models used.

use serde::{Deserialize, Serialize};

/// The numbers of tokens that a model call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens read from the prompt, without tokens read from or written to the prompt cache.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Tokens read from the prompt cache.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cache_read_tokens: u64,
    /// Tokens written to the prompt cache.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cache_write_tokens: u64,
}

impl TokenUsage {
    /// Returns the number of all tokens.
    pub fn count_all_tokens(self) -> u64 {
        [
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
        ]
        .into_iter()
        .fold(self.input_tokens, u64::saturating_add)
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn add_token_counts(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
        }
    }
}

/// A model that a turn asked, and the tokens that it used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUse {
    /// Name of the model, as its API reports it.
    pub model: String,
    /// Tokens that it used.
    #[serde(flatten)]
    pub tokens: TokenUsage,
}
