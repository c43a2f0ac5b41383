//! The metrics that the functions write into their logs: each line by the rules of the format, and its numbers those of what
//! happened. The emulator tells no process of its end, so each run writes what it counted.

use crate::bench::{Bench, eventually};
use crate::contact::Contact;
use crate::stack::INSTANCE;
use recado_testkit::emf::{LineMetric, read_line};
use serde_json::Value;
use std::collections::BTreeMap;

const FUNCTIONS: [&str; 4] = ["webhook", "processor", "deferred-reply", "sender"];

impl Bench {
    /// The lines of metrics that a function wrote.
    async fn metric_lines(&self, function: &str) -> Vec<Value> {
        let texts = self.log_texts(function).await;
        let lines = texts.iter().filter_map(|text| serde_json::from_str(text).ok());
        lines.filter(|line: &Value| line.get("_aws").is_some()).collect()
    }

    /// What the functions counted since the stack began: by name and dimensions, the sum of a count, and the number of
    /// durations.
    async fn sum_metrics(&self) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for function in FUNCTIONS {
            for line in self.metric_lines(function).await {
                let metrics = read_line(&line).unwrap_or_else(|fault| panic!("{function}: {fault}: {line}"));
                for LineMetric {
                    name,
                    dimensions,
                    values,
                } in metrics
                {
                    let parts: Vec<String> = dimensions
                        .iter()
                        .map(|(name, value)| format!("{name}={value}"))
                        .collect();
                    assert!(parts.iter().all(|part| !part.starts_with("instance=")), "{line}");
                    let durations = name.ends_with("_seconds");
                    let more = if durations {
                        values.iter().map(|_| 1.0).sum()
                    } else {
                        values.iter().sum::<f64>()
                    };
                    *sums.entry(format!("{name} {}", parts.join(" "))).or_insert(0.0) += more;
                }
            }
        }
        sums
    }
}

#[tokio::test]
async fn an_answered_message_is_counted_once_at_each_of_its_stages() {
    let bench = Bench::alone().await;
    bench.quiet().await;
    let before = bench.sum_metrics().await;
    let contact = Contact::new();
    bench.says(INSTANCE, &contact, "Oi").await;
    bench.phone(&bench.stack.stand_ins.evolution, &contact, 1).await;
    bench.quiet().await;
    let after = bench.sum_metrics().await;
    let more: BTreeMap<&str, f64> = after
        .iter()
        .map(|(name, sum)| (name.as_str(), sum - before.get(name).unwrap_or(&0.0)))
        .filter(|(_, more)| *more > 0.0)
        .collect();
    for (name, count) in [
        ("whatsapp_webhooks_total provider=evolution code=200", 1.0),
        ("whatsapp_webhook_acknowledgement_seconds provider=evolution", 1.0),
        ("whatsapp_webhook_items_total provider=evolution kind=event", 1.0),
        ("whatsapp_message_latency_seconds stage=inbound", 1.0),
        ("whatsapp_message_latency_seconds stage=turn", 1.0),
        ("whatsapp_message_latency_seconds stage=outbound", 1.0),
        ("whatsapp_message_latency_seconds stage=reply", 1.0),
        ("whatsapp_turn_step_seconds step=model", 1.0),
        ("whatsapp_messages_processed_total status=success", 1.0),
    ] {
        let counted = more.get(name).copied().unwrap_or_default();
        assert!((counted - count).abs() < f64::EPSILON, "{name}: {more:?}");
    }
    assert!(
        more.contains_key("whatsapp_model_tokens_total kind=output"),
        "{more:?}"
    );
    let bytes: usize = {
        let mut sum = 0;
        for function in FUNCTIONS {
            let lines = bench.metric_lines(function).await;
            // What CloudWatch bills: the text, and 26 bytes for each line.
            sum += lines.last().map_or(0, |line| line.to_string().len() + 26);
        }
        sum
    };
    println!("\nthe last line of metrics of each of four functions: {bytes} bytes in all");
}

#[tokio::test]
async fn each_minute_tells_the_state_of_all_instances() {
    let bench = Bench::new().await;
    let line = eventually("a pass of reconcile", || async {
        let lines = bench.metric_lines("reconcile").await;
        lines
            .into_iter()
            .find(|line| line.get("worst_instances").is_some())
    })
    .await;
    let metrics = read_line(&line).unwrap();
    let value = |name: &str| {
        let found = metrics.iter().find(|one| one.name == name);
        found.unwrap_or_else(|| panic!("{name}: {line}")).values[0]
    };
    for name in [
        "whatsapp_queue_depth",
        "whatsapp_dead_letters",
        "whatsapp_parked_conversations",
        "whatsapp_oldest_waiting_seconds",
    ] {
        assert!(value(name) >= 0.0);
    }
    for name in ["whatsapp_instance_connected", "whatsapp_evolution_connected"] {
        assert!([0.0, 1.0].contains(&value(name)), "{line}");
    }
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Namespace"], "Recado/recado");
}
