//! Setting names of an earlier queue worker. Names that have a meaning in Recado are read together with Recado's own
//! name, which takes precedence.

/// Maximum attempts to send.
pub(super) const MAX_DELIVERIES: &str = "WA_MAX_DELIVERIES";
/// Base of the exponential backoff, in seconds.
pub(super) const BASE_BACKOFF: &str = "WA_BASE_BACKOFF";
/// Maximum of the exponential backoff, in seconds.
pub(super) const MAX_BACKOFF: &str = "WA_MAX_BACKOFF";
/// Rate of an instance, in messages per second.
pub(super) const TOKENS_PER_SECOND: &str = "WA_TOKENS_PER_SECOND";
/// Number of messages of an instance that may leave at once.
pub(super) const BUCKET_CAPACITY: &str = "WA_BUCKET_CAPACITY";
/// Maximum time for Evolution to answer, in seconds.
pub(super) const HTTP_TIMEOUT: &str = "WA_EVOLUTION_HTTP_TIMEOUT";

/// Minutes within which an invitation is not repeated, in an earlier delivery service.
pub(super) const DEDUPE_WINDOW: &str = "DELIVERY_DEDUPE_WINDOW_MIN";

/// Attempts of an earlier delivery service at each of its jobs.
pub(super) const MAX_RETRIES: &str = "DELIVERY_MAX_RETRIES";
/// Its waits between attempts, in milliseconds, separated by commas.
pub(super) const BACKOFF_SEQUENCE: &str = "DELIVERY_BACKOFF_SEQUENCE_MS";

/// Names that have no meaning in Recado, each with the reason.
pub(super) const IGNORED_VARIABLES: [(&str, &str); 11] = [
    (
        "DELIVERY_STATUS_CACHE_TTL_SECONDS",
        "the status of a delivery is read from its message, and not cached",
    ),
    (
        "RESEND_API_KEY",
        "each sender of e-mails names the key of its tenant, see docs/email.md",
    ),
    (
        "WA_SESSION_TTL_SECONDS",
        "a session has the 24 hours that WhatsApp gives it",
    ),
    ("DELIVERY_QUEUE_NAME", "the queues have names of their own"),
    ("WA_OUTBOUND_QUEUE_NAME", "the queues have names of their own"),
    ("REDIS_URL", "there is no Redis: the queues are SQLite's or SQS"),
    ("WA_CONSUMER_GROUP", "there are no consumer groups"),
    ("WA_CONSUMER_NAME", "workers have no names"),
    ("WA_CONSUMER", "workers have no names"),
    ("CONSUMER_NAME", "workers have no names"),
    ("INSTANCE_NAME", "instances are configured, see recado.toml"),
];
