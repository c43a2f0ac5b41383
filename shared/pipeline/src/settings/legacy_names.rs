//! The names that an earlier queue worker had for its settings. Those that mean something here are read where the
//! setting is; Recado's own name wins.

/// Attempts to send.
pub(super) const MAX_DELIVERIES: &str = "WA_MAX_DELIVERIES";
/// Base of the exponential backoff, in seconds.
pub(super) const BASE_BACKOFF: &str = "WA_BASE_BACKOFF";
/// Cap of the exponential backoff, in seconds.
pub(super) const MAX_BACKOFF: &str = "WA_MAX_BACKOFF";
/// Messages per second of an instance.
pub(super) const TOKENS_PER_SECOND: &str = "WA_TOKENS_PER_SECOND";
/// Messages of an instance that may leave at once.
pub(super) const BUCKET_CAPACITY: &str = "WA_BUCKET_CAPACITY";
/// How long Evolution may take, in seconds.
pub(super) const HTTP_TIMEOUT: &str = "WA_EVOLUTION_HTTP_TIMEOUT";

/// Names without a meaning here, and why.
const IGNORED_VARIABLES: [(&str, &str); 6] = [
    ("REDIS_URL", "there is no Redis: the queues are SQLite's or SQS"),
    ("WA_CONSUMER_GROUP", "there are no consumer groups"),
    ("WA_CONSUMER_NAME", "workers have no names"),
    ("WA_CONSUMER", "workers have no names"),
    ("CONSUMER_NAME", "workers have no names"),
    ("INSTANCE_NAME", "instances are configured, see recado.toml"),
];

/// The variables that are set, were read by the earlier worker and are ignored here, each with the reason: to be warned of
/// at start.
pub fn list_ignored_variables(
    variable: impl Fn(&str) -> Option<String>,
) -> Vec<(&'static str, &'static str)> {
    let set = |name: &str| variable(name).is_some_and(|text| !text.trim().is_empty());
    IGNORED_VARIABLES
        .into_iter()
        .filter(|(name, _)| set(name))
        .collect()
}
