use super::*;
use metrics::{counter, histogram};
use recado_domain::config::ConfigDocument;
use recado_domain::dead_letter::QueueName;
use recado_pipeline::installation_reading::InstanceReading;
use recado_pipeline::ports::{QueueDepth, TroubledInstances};

fn instance(id: &str, provider: &str) -> InstanceReading {
    let toml = format!(
        "tenants = [{{ id = 't', name = 'T' }}]\nagents = [{{ id = 'a', tenant = 't', model = 'm', system_prompt = 'x' }}]\n\
         instances = [{{ id = '{id}', tenant = 't', agent = 'a', provider = '{provider}' }}]"
    );
    let document: ConfigDocument = toml::from_str(&toml).unwrap();
    InstanceReading {
        instance: (&document.instances[0]).into(),
        connection: ConnectionStatus::Open,
        since: None,
        depth: 0,
        parked: 0,
        dead_letters: 0,
        oldest: None,
    }
}

fn reading(instances: Vec<InstanceReading>) -> GaugeReading {
    GaugeReading {
        installation: InstallationReading {
            at: Timestamp::from_second(1_000).unwrap(),
            at_least: false,
            instances,
            depth: 9,
            parked: 1,
            dead_letters: 4,
            oldest: None,
            waiting_since: Vec::new(),
            troubled: TroubledInstances::default(),
            budgets: Vec::new(),
        },
        queues: [(
            QueueName::Turns,
            QueueDepth {
                waiting: 3,
                delayed: 2,
                ..QueueDepth::default()
            },
        )]
        .into(),
    }
}

/// The value of a line that begins with this name and labels.
fn value(page: &str, series: &str) -> Option<f64> {
    let line = page.lines().find(|line| {
        line.strip_prefix(series)
            .is_some_and(|rest| rest.starts_with(' '))
    })?;
    line.rsplit_once(' ')?.1.parse().ok()
}

#[test]
fn gauges_are_those_of_the_reading_and_instances_beyond_the_limit_share_a_label() {
    let (metrics, _) = ProcessMetrics::build(2).unwrap();
    let all = vec![
        InstanceReading {
            depth: 5,
            oldest: Timestamp::from_second(940).ok(),
            ..instance("a", "evolution")
        },
        InstanceReading {
            dead_letters: 3,
            ..instance("b", "meta")
        },
        InstanceReading {
            depth: 2,
            ..instance("c", "evolution")
        },
        InstanceReading {
            connection: ConnectionStatus::Closed,
            depth: 1,
            ..instance("d", "evolution")
        },
    ];
    let page = metrics.render_page(Some(&reading(all)));
    for (series, expected) in [
        (r#"whatsapp_queue_depth{instance="a"}"#, 5.0),
        (r#"whatsapp_queue_depth{instance="b"}"#, 0.0),
        (r#"whatsapp_queue_depth{instance="other"}"#, 3.0),
        // One that waits belongs to no configured instance.
        (r#"whatsapp_queue_depth{instance="none"}"#, 1.0),
        (r#"whatsapp_dead_letters{instance="b"}"#, 3.0),
        (r#"whatsapp_dead_letters{instance="none"}"#, 1.0),
        (r#"whatsapp_evolution_connected{instance="a"}"#, 1.0),
        (r#"whatsapp_evolution_connected{instance="other"}"#, 0.0),
        (r#"whatsapp_instance_connected{instance="b"}"#, 1.0),
        (r#"whatsapp_oldest_waiting_seconds{instance="a"}"#, 60.0),
        (r#"whatsapp_queue_messages{queue="turns",state="waiting"}"#, 3.0),
        ("whatsapp_store_readable", 1.0),
    ] {
        assert_eq!(value(&page, series), Some(expected), "{series}\n{page}");
    }
    for absent in [
        r#"whatsapp_evolution_connected{instance="b"}"#,
        r#"whatsapp_instance_connected{instance="none"}"#,
        "whatsapp_reconcile_timestamp_seconds",
    ] {
        assert_eq!(value(&page, absent), None, "{absent}");
    }
}

#[test]
fn a_removed_instance_leaves_no_gauge_and_a_store_that_fails_is_told() {
    let (metrics, _) = ProcessMetrics::build(10).unwrap();
    let page = metrics.render_page(Some(&reading(vec![instance("a", "evolution")])));
    assert!(page.contains(r#"instance="a""#));
    metrics.record_reconcile(Timestamp::from_millisecond(1_500).unwrap());
    let page = metrics.render_page(None);
    assert!(!page.contains(r#"instance="a""#), "{page}");
    assert_eq!(value(&page, "whatsapp_store_readable"), Some(0.0));
    assert_eq!(value(&page, "whatsapp_reconcile_timestamp_seconds"), Some(1.5));
}

#[test]
fn counts_of_instances_beyond_the_limit_are_summed_up_and_durations_fall_into_the_buckets() {
    let (metrics, recorder) = ProcessMetrics::build(1).unwrap();
    with_local_recorder(&recorder, || {
        for id in ["a", "b", "c", "a"] {
            counter!(measure::PROCESSED, "instance" => id, "status" => "success").increment(1);
            histogram!(measure::LATENCY, "instance" => id, "stage" => "reply").record(2.0);
        }
    });
    metrics.run_upkeep();
    let page = metrics.render_page(None);
    for (series, expected) in [
        (
            r#"whatsapp_messages_processed_total{instance="a",status="success"}"#,
            2.0,
        ),
        (
            r#"whatsapp_messages_processed_total{instance="other",status="success"}"#,
            2.0,
        ),
        (
            r#"whatsapp_message_latency_seconds_bucket{instance="a",stage="reply",le="1"}"#,
            0.0,
        ),
        (
            r#"whatsapp_message_latency_seconds_bucket{instance="a",stage="reply",le="2.5"}"#,
            2.0,
        ),
        (
            r#"whatsapp_message_latency_seconds_bucket{instance="a",stage="reply",le="+Inf"}"#,
            2.0,
        ),
        (
            r#"whatsapp_message_latency_seconds_sum{instance="other",stage="reply"}"#,
            4.0,
        ),
    ] {
        assert_eq!(value(&page, series), Some(expected), "{series}\n{page}");
    }
}

#[test]
fn every_metric_is_described_and_of_its_kind() {
    let (metrics, recorder) = ProcessMetrics::build(1).unwrap();
    with_local_recorder(&recorder, || {
        for metric in METRICS {
            match metric.kind {
                MetricKind::Counter => counter!(metric.name).increment(1),
                MetricKind::Histogram(_) => histogram!(metric.name).record(1.0),
                MetricKind::Gauge => {}
            }
        }
    });
    metrics.record_reconcile(Timestamp::from_second(1).unwrap());
    let page = metrics.render_page(Some(&reading(vec![instance("a", "evolution")])));
    for metric in METRICS {
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram(_) => "histogram",
        };
        let (name, help) = (metric.name, metric.help);
        assert!(
            page.contains(&format!("# TYPE {name} {kind}\n")),
            "{name}\n{page}"
        );
        assert!(
            page.contains(&format!("# HELP {name} {help}\n")),
            "{name}\n{page}"
        );
    }
}
