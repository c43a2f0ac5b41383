"""The cases, by their topics, and the attacks (`attacks_…`)."""

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "EVOLUTION_API_URL", "EVOLUTION_API_KEY", "META_ACCESS_TOKEN", "D360_API_KEY")
# Names of settings that an earlier worker and an earlier delivery service had, and that have no effect.
WITHOUT_EFFECT = ("REDIS_URL", "INSTANCE_NAME", "WA_CONSUMER_GROUP", "CONSUMER_NAME", "DELIVERY_STATUS_CACHE_TTL_SECONDS",
                  "RESEND_API_KEY", "WA_SESSION_TTL_SECONDS", "DELIVERY_QUEUE_NAME", "WA_OUTBOUND_QUEUE_NAME")


def with_names_of_a_queue_worker(partners):
    """The names that an earlier queue worker and a delivery service had for settings."""
    settings = {
        "WA_MAX_DELIVERIES": "3", "WA_BASE_BACKOFF": "0.4", "WA_MAX_BACKOFF": "1", "WA_TOKENS_PER_SECOND": "4",
        "WA_BUCKET_CAPACITY": "2", "WA_EVOLUTION_HTTP_TIMEOUT": "1", "WA_API_BASE": partners.dialog360.url,
        "WA_API_TOKEN": "key-of-the-service-before", "DELIVERY_DEDUPE_WINDOW_MIN": "0",
        **dict.fromkeys(WITHOUT_EFFECT, "1"),
    }
    without = ("RECADO_OUTBOUND_BACKOFF", "RECADO_INBOUND_BACKOFF", "RECADO_TURNS_BACKOFF", "D360_BASE_URL", "D360_API_KEY")
    return settings, without


# The programs that cases share, by name: settings in place of the usual ones, and settings that are left out. A case that has
# the program `own` gets a maker of programs in place of a program.
PROGRAMS = {
    "main": lambda partners: ({}, ()),
    # For what a pass of the periodic work does for few conversations at a time, for what concerns the whole installation, and for
    # what waits as long as usual.
    "quiet": lambda partners: ({"RECADO_METRICS_TOKEN": "token-of-the-metrics-0123456789abcdef",
                                "RECADO_HEARTBEAT_URL": f"{partners.host.url}/heartbeat",
                                "RECADO_ALERT_PAGER": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="},
                               ("RECADO_OUTBOUND_BACKOFF",)),
    "earlier_names": with_names_of_a_queue_worker,
    # With the hosts that a server on the internet has: none of this machine but the installation's own.
    "guarded": lambda partners: ({}, ("RECADO_PRIVATE_MEDIA", "RECADO_PRIVATE_TOOLS")),
    "simulated": lambda partners: ({"RECADO_SIMULATION": "auto", "RECADO_SIMULATED_LATENCY_MS": "10"}, KEYS),
}
