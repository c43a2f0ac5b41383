//! The words of a provider for a number, in the question about it and in the configuration that follows.

/// The question about a number at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberQuestion {
    /// The provider's name, for people.
    pub provider: &'static str,
    /// The provider's word for the number.
    pub called: &'static str,
    /// An example of it.
    pub example: &'static str,
    /// The settings that the provider needs where Recado runs.
    pub settings: &'static [&'static str],
}
