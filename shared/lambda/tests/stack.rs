//! The stack's own numbers: times and batches of each queue and its function, and the marks of the alarms.

use recado_pipeline::settings::VisibilityTimeouts;
use std::time::Duration;

const TEMPLATE: &str = include_str!("../../../template.yaml");
const MONITORING: &str = include_str!("../../../infra/monitoring.yaml");

/// The lines of a resource.
fn resource<'a>(file: &'a str, name: &str) -> Vec<&'a str> {
    let heading = format!("  {name}:");
    let mut lines = file.lines().skip_while(|line| **line != heading);
    assert!(lines.next().is_some(), "{name} is there");
    lines
        .take_while(|line| !line.starts_with("  ") || line.starts_with("   ") || line.trim().is_empty())
        .collect()
}

/// What a property of a resource is set to, at whatever depth it stands.
fn property<'a>(resource: &[&'a str], name: &str) -> &'a str {
    let mut values = resource
        .iter()
        .filter_map(|line| line.trim().split_once(": ").filter(|(known, _)| *known == name));
    let found = values.next().unwrap_or_else(|| panic!("{name} is there"));
    assert!(values.next().is_none(), "{name} is there once");
    found.1
}

#[test]
fn each_queue_and_its_function_have_their_times_and_batches() {
    for (queue, visibility, function, timeout, batch) in [
        ("Inbound", VisibilityTimeouts::INBOUND, "Processor", 15, 10),
        ("Turns", VisibilityTimeouts::TURNS, "DeferredReply", 90, 1),
        ("Outbound", VisibilityTimeouts::OUTBOUND, "Sender", 30, 1),
    ] {
        let of_queue = resource(TEMPLATE, &format!("{queue}Queue"));
        let seconds = property(&of_queue, "VisibilityTimeout").parse().unwrap();
        assert_eq!(Duration::from_secs(seconds), visibility, "{queue}");
        let receives: u32 = property(&of_queue, "maxReceiveCount").parse().unwrap();
        assert_eq!(receives, VisibilityTimeouts::RECEIVES_MAX, "{queue}");
        // A week for what waits, two for what was given up.
        assert_eq!(property(&of_queue, "MessageRetentionPeriod"), "604800", "{queue}");
        let dead = resource(TEMPLATE, &format!("{queue}DeadLetters"));
        assert_eq!(property(&dead, "MessageRetentionPeriod"), "1209600", "{queue}");
        let of_function = resource(TEMPLATE, &format!("{function}Function"));
        for (name, value) in [
            ("Timeout", timeout.to_string()),
            ("BatchSize", batch.to_string()),
            (
                "ScalingConfig",
                format!("{{ MaximumConcurrency: !Ref {queue}Concurrency }}"),
            ),
        ] {
            assert_eq!(property(&of_function, name), value, "{function} {name}");
        }
    }
}

#[test]
fn each_alarm_has_its_mark() {
    const AGE: &str = "ApproximateAgeOfOldestMessage";
    const DEPTH: &str = "ApproximateNumberOfMessagesVisible";
    // What is measured, over how many seconds and how often in a row, and above which mark it is told.
    let marks = [
        ("InboundDeadLetters", DEPTH, 60, 1, 0),
        ("TurnsDeadLetters", DEPTH, 60, 1, 0),
        ("OutboundDeadLetters", DEPTH, 60, 1, 0),
        ("SocialDeadLettersAlarm", DEPTH, 60, 1, 0),
        ("InboundAge", AGE, 60, 3, 300),
        ("TurnsAge", AGE, 60, 3, 600),
        ("OutboundAge", AGE, 60, 3, 1800),
        ("HttpErrors", "5xx", 60, 5, 0),
        ("WebhookErrors", "Errors", 60, 5, 0),
        ("NeedsCredentials", "NeedsCredentials", 300, 3, 0),
        ("ReconcileErrors", "Errors", 300, 3, 0),
    ];
    for (alarm, metric, period, times, above) in marks {
        let alarm_of = resource(MONITORING, alarm);
        for (name, value) in [
            ("MetricName", metric.to_owned()),
            ("Period", period.to_string()),
            ("EvaluationPeriods", times.to_string()),
            ("ComparisonOperator", "GreaterThanThreshold".to_owned()),
            ("Threshold", above.to_string()),
        ] {
            assert_eq!(property(&alarm_of, name), value, "{alarm} {name}");
        }
    }
    let silent = resource(MONITORING, "ReconcileSilent");
    for (name, value) in [
        ("MetricName", "Invocations"),
        ("Period", "300"),
        ("EvaluationPeriods", "3"),
        ("ComparisonOperator", "LessThanThreshold"),
        ("Threshold", "1"),
        ("TreatMissingData", "breaching"),
    ] {
        assert_eq!(property(&silent, name), value, "ReconcileSilent {name}");
    }
    let alarms = MONITORING.matches("Type: AWS::CloudWatch::Alarm").count();
    assert_eq!(alarms, marks.len() + 1, "each is in this table");
}
