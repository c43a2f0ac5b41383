//! Reads secrets from environment variables.

use recado_domain::secret::Secret;

/// The key of 360dialog, and its name in an earlier delivery service.
const EARLIER_NAME: (&str, &str) = ("D360_API_KEY", "WA_API_TOKEN");

/// Reads a secret from the environment variable `setting`, or else from its earlier name, if it has one.
pub fn read_secret_variable(setting: &str) -> Option<Secret> {
    let read = |name: &str| std::env::var(name).ok().and_then(|text| Secret::new(&text));
    let (own, earlier) = EARLIER_NAME;
    read(setting).or_else(|| read(earlier).filter(|_| setting == own))
}
