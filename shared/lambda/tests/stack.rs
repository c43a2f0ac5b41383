//! The stack's own numbers: times and batches of each queue and its function, and the marks of the alarms.

use recado_lambda::required_variables::FUNCTIONS;
use recado_lambda::use_cases::SERVER_ERROR;
use recado_pipeline::measure::METRICS;
use recado_pipeline::settings::VisibilityTimeouts;
use std::time::Duration;

const TEMPLATE: &str = include_str!("../../../template.yaml");
const MONITORING: &str = include_str!("../../../infra/monitoring.yaml");
const GRADUAL: &str = include_str!("../../../infra/gradual.yaml");

const AGE: &str = "ApproximateAgeOfOldestMessage";
const DEPTH: &str = "ApproximateNumberOfMessagesVisible";

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
        ("Inbound", VisibilityTimeouts::INBOUND, "Processor", 15, "10"),
        (
            "Turns",
            VisibilityTimeouts::TURNS,
            "DeferredReply",
            90,
            "!Ref TurnsPerInvocation",
        ),
        ("Outbound", VisibilityTimeouts::OUTBOUND, "Sender", 30, "1"),
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
            ("BatchSize", batch.to_owned()),
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
fn only_its_own_queue_may_give_messages_to_a_dead_letter_queue() {
    for queue in ["Inbound", "Turns", "Outbound", "Social"] {
        let source = resource(TEMPLATE, &format!("{queue}Queue"));
        let name = property(&source, "QueueName")
            .trim_start_matches("!Sub ")
            .trim_matches('"');
        let dead = resource(TEMPLATE, &format!("{queue}DeadLetters"));
        assert_eq!(property(&dead, "redrivePermission"), "byQueue", "{queue}");
        let allowed =
            format!("[!Sub \"arn:${{AWS::Partition}}:sqs:${{AWS::Region}}:${{AWS::AccountId}}:{name}\"]");
        assert_eq!(property(&dead, "sourceQueueArns"), allowed, "{queue}");
        let target = format!("!GetAtt {queue}DeadLetters.Arn");
        assert_eq!(property(&source, "deadLetterTargetArn"), target, "{queue}");
    }
}

#[test]
fn each_alarm_has_its_mark() {
    // What is measured, over how many seconds and how often in a row, and above which mark it is told.
    let marks = [
        ("InboundDeadLetters", DEPTH, 60, 5, 0),
        ("TurnsDeadLetters", DEPTH, 60, 5, 0),
        ("OutboundDeadLetters", DEPTH, 60, 5, 0),
        ("SocialDeadLettersAlarm", DEPTH, 60, 1, 0),
        ("InboundAge", AGE, 60, 3, 300),
        ("TurnsAge", AGE, 60, 3, 600),
        ("OutboundAge", AGE, 60, 3, 1800),
        ("WebhooksAge", AGE, 60, 3, 7200),
        ("SocialAge", AGE, 60, 3, 300),
        ("HttpErrors", "ServerErrors", 60, 5, 0),
        ("WebhookErrors", "Errors", 60, 5, 0),
        ("ProcessorErrors", "Errors", 60, 5, 0),
        ("DeferredReplyErrors", "Errors", 60, 5, 0),
        ("SenderErrors", "Errors", 60, 5, 0),
        ("ApiErrors", "Errors", 60, 5, 0),
        ("PublisherErrors", "Errors", 60, 5, 0),
        ("PosterErrors", "Errors", 60, 5, 0),
        ("Throttles", "Throttles", 60, 5, 0),
        ("LoggedErrors", "ErrorLines", 300, 1, 0),
        ("NeedsCredentials", "NeedsCredentials", 300, 3, 0),
        ("ReconcileErrors", "Errors", 300, 3, 0),
        ("PublisherLate", "IteratorAge", 60, 3, 300_000),
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

#[test]
fn each_function_and_each_queue_has_an_alarm() {
    for needs in FUNCTIONS {
        let alarm_of = resource(MONITORING, &format!("{}Errors", needs.name));
        assert_eq!(property(&alarm_of, "MetricName"), "Errors", "{}", needs.name);
    }
    let queues: Vec<&str> = TEMPLATE
        .lines()
        .filter_map(|line| line.trim().strip_prefix("QueueName: !Sub \"${AWS::StackName}-"))
        .map(|name| name.trim_end_matches('"'))
        .collect();
    assert_eq!(queues.len(), 9, "{queues:?}");
    for queue in queues.into_iter().filter(|queue| *queue != "aws-social-dlq") {
        let watched = format!("Value: !Sub \"${{System}}-{queue}\" }}]");
        assert!(MONITORING.contains(&watched), "{queue}");
    }
    assert!(MONITORING.contains("Value: !Ref SocialDeadLetters }]"));
}

#[test]
fn an_answer_that_health_gives_by_design_is_no_server_error() {
    for function in ["Webhook", "Api"] {
        let filter = resource(MONITORING, &format!("{function}ServerErrors"));
        let pattern = format!("'{{ $.fields.event = \"{SERVER_ERROR}\" }}'");
        assert_eq!(property(&filter, "FilterPattern"), pattern);
        assert_eq!(property(&filter, "LogGroupName"), format!("!Ref {function}Logs"));
    }
    assert!(
        !MONITORING.contains("MetricName: 5xx"),
        "API Gateway counts health's 503"
    );
}

#[test]
fn each_functions_error_lines_are_counted() {
    for function in FUNCTIONS.map(|needs| needs.name) {
        let filter = resource(MONITORING, &format!("{function}ErrorLines"));
        assert_eq!(property(&filter, "LogGroupName"), format!("!Ref {function}Logs"));
        assert_eq!(property(&filter, "FilterPattern"), "'{ $.level = \"ERROR\" }'");
    }
}

#[test]
fn dead_letters_that_reconcile_hides_for_a_moment_do_not_end_the_alarm() {
    for queue in ["Inbound", "Turns", "Outbound"] {
        let alarm_of = resource(MONITORING, &format!("{queue}DeadLetters"));
        assert_eq!(property(&alarm_of, "DatapointsToAlarm"), "1", "{queue}");
    }
}

/// The functions filter themselves. Alarms count log lines, so Lambda may drop none.
#[test]
fn lambda_drops_no_line_that_the_functions_write() {
    // A line without a time is INFO to Lambda, whatever it says itself.
    let level = TEMPLATE
        .lines()
        .filter(|line| line.contains("ApplicationLogLevel:"));
    let level: Vec<&str> = level.map(str::trim).collect();
    assert_eq!(level, ["ApplicationLogLevel: TRACE"]);
}

/// The names of the resources of a type, with the one that each waits for.
fn chained(kind: &str) -> Vec<(&'static str, Option<&'static str>)> {
    let mut found = Vec::new();
    let (mut name, mut wanted) = ("", false);
    for line in TEMPLATE.lines() {
        if line.starts_with("  ") && !line.starts_with("   ") && line.ends_with(':') {
            (name, wanted) = (line.trim().trim_end_matches(':'), false);
        } else if line.trim() == format!("Type: AWS::ApiGatewayV2::{kind}") {
            wanted = true;
            found.push((name, None));
        } else if let Some(other) = line.strip_prefix("    DependsOn: ").filter(|_| wanted)
            && let Some(last) = found.last_mut()
        {
            last.1 = Some(other);
        }
    }
    found
}

/// API Gateway may refuse routes that are created at the same time.
#[test]
fn routes_are_made_one_after_the_other_and_the_stage_last() {
    let is_push = |(name, _): &(&str, Option<&str>)| name.starts_with("Push");
    let (push, http): (Vec<_>, Vec<_>) = chained("Route").into_iter().partition(is_push);
    assert!(http.len() > 5, "{http:?}");
    let mut stages = Vec::new();
    // The first of the one waits for its integration anyway.
    for (routes, stage, mut before) in [
        (http, "HttpStage", Some("ApiIntegration")),
        (push, "PushStage", None),
    ] {
        for (route, waits_for) in routes {
            assert_eq!(waits_for, before, "{route}");
            before = Some(route);
        }
        stages.push((stage, before));
    }
    assert_eq!(chained("Stage"), stages);
    let integrations = chained("Integration");
    assert_eq!(
        integrations[1].1,
        Some("[WebhookIntegration, ApiPermission]"),
        "{integrations:?}"
    );
}

#[test]
fn the_websocket_api_takes_connections_alone_and_logs_no_ticket() {
    let keys: Vec<&str> = ["PushConnectRoute", "PushDisconnectRoute"]
        .iter()
        .map(|route| property(&resource(TEMPLATE, route), "RouteKey"))
        .collect();
    assert_eq!(keys, ["$connect", "$disconnect"]);
    let pushes = chained("Route")
        .iter()
        .filter(|(name, _)| name.starts_with("Push"))
        .count();
    assert_eq!(pushes, keys.len(), "what a client sends reaches no function");
    let stage = resource(TEMPLATE, "PushStage");
    let settings = property(&stage, "DefaultRouteSettings");
    for setting in [
        "ThrottlingRateLimit: 50",
        "ThrottlingBurstLimit: 200",
        "LoggingLevel: \"OFF\"",
        "DataTraceEnabled: false",
    ] {
        assert!(settings.contains(setting), "{setting}");
    }
    assert!(
        !TEMPLATE.contains("AccessLogSettings"),
        "a ticket stands in the URL"
    );
}

#[test]
fn events_are_published_where_they_are_switched_on_and_no_alarm_misses_them() {
    let publisher = resource(TEMPLATE, "PublisherFunction");
    for (name, value) in [
        ("Enabled", "!If [Publishes, true, false]"),
        ("StartingPosition", "TRIM_HORIZON"),
        ("MaximumBatchingWindowInSeconds", "!Ref PublishWindowSeconds"),
    ] {
        assert_eq!(property(&publisher, name), value);
    }
    for (function, value) in [
        ("Api", "&publish !If [Publishes, !Ref AWS::NoValue, \"off\"]"),
        ("Reconcile", "*publish"),
    ] {
        let told = resource(TEMPLATE, &format!("{function}Function"));
        assert_eq!(property(&told, "RECADO_PUBLISH_EVENTS"), value, "{function}");
    }
    // Without a run nothing is measured.
    for alarm in ["PublisherErrors", "PublisherLate"] {
        let missing = property(&resource(MONITORING, alarm), "TreatMissingData");
        assert_eq!(missing, "notBreaching", "{alarm}");
    }
}

#[test]
fn what_holds_data_is_kept_and_a_failed_first_deployment_leaves_no_bucket_and_no_secret() {
    for (name, policy) in [
        // Protected from deletion, which would keep the stack from rolling back.
        ("Table", "Retain"),
        ("Bucket", "RetainExceptOnCreate"),
        ("WebhookMaster", "RetainExceptOnCreate"),
    ] {
        let kept = resource(TEMPLATE, name);
        assert_eq!(property(&kept, "DeletionPolicy"), policy, "{name}");
        assert_eq!(property(&kept, "UpdateReplacePolicy"), "Retain", "{name}");
    }
}

#[test]
fn a_gradual_deployment_is_taken_back_when_an_alarm_goes_off() {
    let group = resource(GRADUAL, "Group");
    let alarms: Vec<&str> = group
        .iter()
        .filter_map(|line| line.trim().strip_prefix("- { Name: !Ref ")?.strip_suffix(" }"))
        .collect();
    let errors = ["Webhook", "Processor", "DeferredReply", "Sender", "Api"]
        .map(|function| format!("{function}Errors"));
    let expected: Vec<&str> = std::iter::once("HttpErrors")
        .chain(errors.iter().map(String::as_str))
        .collect();
    assert_eq!(alarms, expected);
    let stack = resource(TEMPLATE, "Gradual");
    for alarm in alarms {
        let output = format!("!GetAtt Monitoring.Outputs.{alarm}");
        assert_eq!(property(&stack, alarm), output);
        resource(MONITORING, alarm);
    }
    let config = property(&group, "DeploymentConfigName");
    assert_eq!(config, "!Sub \"CodeDeployDefault.Lambda${Pace}\"");
    // The alarms and the rollback.
    let enabled = group.iter().filter(|line| line.trim() == "Enabled: true");
    assert_eq!(enabled.count(), 2);
    let events = property(&group, "Events");
    assert!(events.contains("DEPLOYMENT_STOP_ON_ALARM"), "{events}");
}

#[test]
fn the_dashboard_shows_each_queue_each_function_and_metrics_that_there_are() {
    let dashboard = resource(MONITORING, "Dashboard");
    let body: Vec<&str> = dashboard
        .into_iter()
        .skip_while(|line| line.trim() != "{")
        .collect();
    // What follows in the file is no part of it.
    let body = serde_json::Deserializer::from_str(&body.join("\n"))
        .into_iter::<serde_json::Value>()
        .next();
    let body = body.unwrap().unwrap();
    let widgets = body["widgets"].as_array().unwrap();
    let shown: Vec<Vec<&str>> = widgets
        .iter()
        .flat_map(|widget| widget["properties"]["metrics"].as_array().into_iter().flatten())
        .map(|metric| {
            let words = metric.as_array().unwrap().iter();
            words.filter_map(serde_json::Value::as_str).collect()
        })
        .collect();
    let count = shown.len();
    assert!(count <= 50, "more of them cost $3 a month: {count}");
    let is_shown = |wanted: &[&str]| shown.iter().any(|metric| metric.starts_with(wanted));
    for queue in ["inbound.fifo", "turns", "outbound.fifo"] {
        let name = format!("${{System}}-{queue}");
        let dead = match queue.split_once('.') {
            Some((name, fifo)) => format!("${{System}}-{name}-dlq.{fifo}"),
            None => format!("{name}-dlq"),
        };
        for (metric, name) in [(DEPTH, &name), (AGE, &name), (DEPTH, &dead)] {
            assert!(
                is_shown(&["AWS/SQS", metric, "QueueName", name]),
                "{metric} {name}"
            );
        }
    }
    for function in [
        "webhook",
        "processor",
        "deferred-reply",
        "sender",
        "api",
        "reconcile",
        "publisher",
        "poster",
    ] {
        let name = format!("${{System}}-{function}");
        for metric in ["Invocations", "Errors", "Duration"] {
            assert!(
                is_shown(&["AWS/Lambda", metric, "FunctionName", &name]),
                "{metric} {name}"
            );
        }
    }
    let counted = ["NeedsCredentials", "ErrorLines"];
    let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).chain(counted).collect();
    let own: Vec<&str> = shown
        .iter()
        .filter(|metric| metric[0] == "Recado/${System}")
        .map(|metric| metric[1])
        .collect();
    assert!(
        own.len() > 8 && own.iter().all(|name| known.contains(name)),
        "{own:?}"
    );
    let latency = [
        "Recado/${System}",
        "whatsapp_message_latency_seconds",
        "stage",
        "reply",
    ];
    assert!(is_shown(&latency), "how long a contact waits for a reply");
}
