//! The list of all metrics.

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricKind {
    /// A number that only grows while a process runs.
    Counter,
    /// A number that is read when it is asked for.
    Gauge,
    /// Durations in seconds, counted in buckets up to these bounds.
    Histogram(&'static [f64]),
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// Its description.
    pub help: &'static str,
}

/// Name of the metric of outgoing messages that ended.
pub const PROCESSED: &str = "whatsapp_messages_processed_total";
/// Name of the metric of the stages on a message's way.
pub const LATENCY: &str = "whatsapp_message_latency_seconds";
/// Name of the metric of webhooks that were answered.
pub const WEBHOOKS: &str = "whatsapp_webhooks_total";
/// Name of the metric of the acknowledgement.
pub const ACKNOWLEDGEMENT: &str = "whatsapp_webhook_acknowledgement_seconds";
/// Name of the metric of the parts of webhooks.
pub const WEBHOOK_ITEMS: &str = "whatsapp_webhook_items_total";
/// Name of the metric of dead letters that were made.
pub const DEAD_LETTERS_CREATED: &str = "whatsapp_dead_letters_created_total";
/// Name of the metric of records that could not be read and were passed over.
pub use recado_ports::unreadable_record::RECORDS_UNREADABLE;
/// Name of the metric of conversations that were parked.
pub const CONVERSATIONS_PARKED: &str = "whatsapp_conversations_parked_total";
/// Name of the metric of attempts that were made again.
pub const RETRIES: &str = "whatsapp_retries_total";
/// Name of the metric of the steps of turns.
pub const TURN_STEP: &str = "whatsapp_turn_step_seconds";
/// Name of the metric of the model's tokens.
pub const TOKENS: &str = "whatsapp_model_tokens_total";
/// Name of the metric of attempts to send that failed.
pub const PROVIDER_ERRORS: &str = "whatsapp_provider_errors_total";
/// Name of the metric of requests to the model that failed.
pub const MODEL_ERRORS: &str = "whatsapp_model_errors_total";
/// Name of the metric of the agent's decisions.
pub const DECISIONS: &str = "whatsapp_agent_decisions_total";
/// Name of the gauge of messages that wait.
pub const QUEUE_DEPTH: &str = "whatsapp_queue_depth";
/// Name of the gauge of the connection of an instance that is a linked device of a phone.
pub const EVOLUTION_CONNECTED: &str = "whatsapp_evolution_connected";
/// Name of the gauge of the connection of any instance.
pub const INSTANCE_CONNECTED: &str = "whatsapp_instance_connected";
/// Name of the gauge of dead letters.
pub const DEAD_LETTERS: &str = "whatsapp_dead_letters";
/// Name of the gauge of parked conversations.
pub const PARKED: &str = "whatsapp_parked_conversations";
/// Name of the gauge of the age of what waits longest.
pub const OLDEST: &str = "whatsapp_oldest_waiting_seconds";
/// Name of the gauge of queue messages.
pub const QUEUE_MESSAGES: &str = "whatsapp_queue_messages";
/// Name of the gauge of the last pass of `reconcile`.
pub const RECONCILED: &str = "whatsapp_reconcile_timestamp_seconds";
/// Name of the gauge of whether the store could be read for the gauges.
pub const STORE_READABLE: &str = "whatsapp_store_readable";
/// Name of the counter of log lines that were dropped.
pub const LOG_LINES_DROPPED: &str = "recado_log_lines_dropped_total";
/// Name of the counter of spans that were not exported.
pub const SPANS_DROPPED: &str = "recado_spans_dropped_total";
/// Name of the gauge that is always 1 and names the version.
pub const BUILD: &str = "recado_build_info";

const ACKNOWLEDGEMENT_BOUNDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The stages take from a few milliseconds (a message is applied) to an hour (an instance was not connected).
const LATENCY_BOUNDS: &[f64] = &[
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0,
];

const TURN_STEP_BOUNDS: &[f64] = &[
    0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 90.0,
];

const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric {
        name,
        kind: MetricKind::Counter,
        labels,
        help,
    }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric {
        name,
        kind: MetricKind::Gauge,
        labels,
        help,
    }
}

const fn histogram(
    name: &'static str,
    bounds: &'static [f64],
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric {
        name,
        kind: MetricKind::Histogram(bounds),
        labels,
        help,
    }
}

/// All metrics.
pub const METRICS: [Metric; 26] = [
    counter(
        PROCESSED,
        &["instance", "status"],
        "Outgoing messages that ended: success (accepted by the provider), failed (a dead letter), cancelled (a person took over), undelivered (accepted, and reported as failed later)",
    ),
    histogram(
        LATENCY,
        LATENCY_BOUNDS,
        &["instance", "stage"],
        "Time of a message in a stage: inbound (webhook to stored), turn (webhook to reply committed), outbound (stored to sent), reply (webhook to reply sent)",
    ),
    counter(
        WEBHOOKS,
        &["provider", "code"],
        "Webhooks that were answered, by HTTP status",
    ),
    histogram(
        ACKNOWLEDGEMENT,
        ACKNOWLEDGEMENT_BOUNDS,
        &["provider"],
        "Time from a webhook's arrival to its answer 200",
    ),
    counter(
        WEBHOOK_ITEMS,
        &["provider", "kind"],
        "Parts of webhooks: event (new), repeated (again, and not applied yet), duplicate (again, dropped), status, notice, ignored",
    ),
    counter(
        DEAD_LETTERS_CREATED,
        &["instance", "queue", "reason"],
        "Dead letters that were made",
    ),
    counter(
        CONVERSATIONS_PARKED,
        &["instance"],
        "Conversations that were parked because a message could not leave",
    ),
    counter(
        RETRIES,
        &["instance", "queue"],
        "Attempts that were made again: at an event (inbound), a turn, a send (outbound)",
    ),
    histogram(
        TURN_STEP,
        TURN_STEP_BOUNDS,
        &["instance", "step"],
        "Time of a step of a turn: read, model, commit",
    ),
    counter(
        TOKENS,
        &["instance", "kind"],
        "Tokens of the model: input, output, cache_read, cache_write",
    ),
    counter(
        PROVIDER_ERRORS,
        &["instance", "class"],
        "Attempts to send that were not accepted, by class",
    ),
    counter(
        MODEL_ERRORS,
        &["instance", "class"],
        "Requests to the model that brought no reply, by class",
    ),
    counter(
        DECISIONS,
        &["instance", "decision"],
        "Decisions of agents that were committed, dropped, or ignored because they could not be read",
    ),
    gauge(
        QUEUE_DEPTH,
        &["instance"],
        "Open outgoing messages and pending events",
    ),
    gauge(
        EVOLUTION_CONNECTED,
        &["instance"],
        "1 if the Evolution instance is connected, else 0",
    ),
    gauge(
        INSTANCE_CONNECTED,
        &["instance"],
        "1 if the instance can send, else 0; of every provider",
    ),
    gauge(DEAD_LETTERS, &["instance"], "Dead letters that wait for a person"),
    gauge(PARKED, &["instance"], "Parked conversations"),
    gauge(
        OLDEST,
        &["instance"],
        "Age of the oldest open message or pending event; 0 if nothing waits",
    ),
    gauge(
        QUEUE_MESSAGES,
        &["queue", "state"],
        "Messages in a queue, of all instances: waiting, in_flight, delayed",
    ),
    gauge(
        RECONCILED,
        &[],
        "Time of the last pass of reconcile, in seconds since 1970",
    ),
    gauge(
        STORE_READABLE,
        &[],
        "1 if the store and the queues could be read for the gauges, else 0: then they are missing",
    ),
    counter(
        RECORDS_UNREADABLE,
        &[],
        "Records that could not be read and were passed over, each time that they were met",
    ),
    counter(
        LOG_LINES_DROPPED,
        &[],
        "Log lines that were dropped because whoever reads the log was too slow",
    ),
    counter(
        SPANS_DROPPED,
        &[],
        "Spans of traces that were dropped because their exporter did not take them",
    ),
    gauge(BUILD, &["version"], "Always 1; the label tells the version"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_follow_the_rules_of_prometheus() {
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            let plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(metric.name.chars().all(plain), "{}", metric.name);
            assert_eq!(
                metric.kind == MetricKind::Counter,
                metric.name.ends_with("_total"),
                "{}",
                metric.name
            );
            if let MetricKind::Histogram(bounds) = metric.kind {
                assert!(metric.name.ends_with("_seconds"), "{}", metric.name);
                assert!(bounds.is_sorted_by(|a, b| a < b), "{}", metric.name);
            }
            assert!(
                !metric.help.is_empty() && !metric.help.ends_with('.'),
                "{}",
                metric.name
            );
        }
    }

    #[test]
    fn durations_are_counted_from_a_millisecond_to_an_hour() {
        let bounds = |name: &str| match METRICS.iter().find(|metric| metric.name == name).unwrap().kind {
            MetricKind::Histogram(bounds) => (bounds[0], *bounds.last().unwrap(), bounds.contains(&0.1)),
            _ => panic!("{name} is no histogram"),
        };
        // Each has a bucket that ends at the 100 ms within which a webhook is to be acknowledged.
        assert_eq!(bounds(ACKNOWLEDGEMENT), (0.001, 10.0, true));
        assert_eq!(bounds(LATENCY), (0.05, 3600.0, true));
        assert_eq!(bounds(TURN_STEP), (0.005, 90.0, true));
    }

    #[test]
    fn the_page_of_metrics_names_each_with_its_labels_and_no_other() {
        let page = include_str!("../../../../docs/metrics.md");
        let section = page.split("\n## ").find(|part| part.starts_with("What there is"));
        let rows = section.unwrap().lines().filter(|line| line.starts_with("| `"));
        let told: BTreeSet<String> = rows
            .map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" | "))
            .collect();
        let row = |metric: &Metric| {
            let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
            let labels = if labels.is_empty() {
                "–".to_owned()
            } else {
                labels.join(", ")
            };
            format!("| `{}` | {labels}", metric.name)
        };
        assert_eq!(told, METRICS.iter().map(row).collect());
    }
}
