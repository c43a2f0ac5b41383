use super::*;
use metrics::{counter, histogram, with_local_recorder};
use recado_domain::config::{ConfigDocument, Instance};
use recado_domain::millis::from_unix_millis;
use recado_domain::provider::Provider;
use recado_pipeline::ports::TroubledInstances;
use recado_testkit::builders::Fixture;
use recado_testkit::emf::{LineMetric, read_line};

const NAMESPACE: &str = "Recado/recado";

fn settings(mode: MetricsMode) -> MetricsSettings {
    MetricsSettings {
        mode,
        namespace: NAMESPACE.to_owned(),
    }
}

fn metrics_of(lines: &[Value]) -> Vec<LineMetric> {
    lines.iter().flat_map(|line| read_line(line).unwrap()).collect()
}

/// A process that nobody tells of its end.
fn untold_process() -> MetricsWriter {
    MetricsWriter::new(settings(MetricsMode::Totals))
}

/// A process that is told of its end.
fn told_process() -> MetricsWriter {
    let process = untold_process();
    process.waiting.get_or_init(Mutex::default);
    process
}

/// The lines after a run that ends at this second and counts what `record` counts.
fn lines_at(process: &MetricsWriter, second: i64, record: impl FnOnce()) -> Vec<Value> {
    with_local_recorder(&process.recorder, record);
    process.end_run(from_unix_millis(second * 1_000))
}

fn lines_after(process: &MetricsWriter, record: impl FnOnce()) -> Vec<Value> {
    lines_at(process, 1_700_000_000, record)
}

/// A run that answers a webhook.
fn count_webhook() {
    counter!(measure::WEBHOOKS, "provider" => "meta", "code" => "200").increment(1);
    histogram!(measure::ACKNOWLEDGEMENT, "provider" => "meta").record(0.25);
}

/// Seconds under which lines are written, each with its sum of webhooks.
fn webhooks_of(lines: &[Value]) -> Vec<(i64, f64)> {
    let counted = |line: &Value| {
        let metrics = read_line(line).unwrap();
        let one = metrics.iter().find(|one| one.name == measure::WEBHOOKS).unwrap();
        let millis = line["_aws"]["Timestamp"].as_i64().unwrap();
        (millis / 1_000, one.values.iter().sum())
    };
    lines.iter().map(counted).collect()
}

fn metric(name: &str, dimensions: &[(&str, &str)], values: &[f64]) -> LineMetric {
    let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    LineMetric {
        name: name.to_owned(),
        dimensions: dimensions.iter().map(text).collect(),
        values: values.to_vec(),
    }
}

#[test]
fn a_runs_counts_are_written_once_without_the_instance() {
    let process = untold_process();
    let first = lines_after(&process, || {
        for instance in ["a", "b"] {
            counter!(measure::PROCESSED, "instance" => instance, "status" => "success").increment(2);
        }
        counter!(measure::CONVERSATIONS_PARKED, "instance" => "a").increment(1);
        histogram!(measure::LATENCY, "instance" => "a", "stage" => "turn").record(4.000_04);
        histogram!(measure::LATENCY, "instance" => "b", "stage" => "turn").record(5.5);
    });
    let found = metrics_of(&first);
    let expected = [
        metric(measure::CONVERSATIONS_PARKED, &[], &[1.0]),
        metric(measure::LATENCY, &[("stage", "turn")], &[4.0, 5.5]),
        metric(measure::PROCESSED, &[("status", "success")], &[4.0]),
    ];
    for one in &expected {
        assert!(found.contains(one), "{one:?}: {found:?}");
    }
    assert_eq!(
        (found.len(), first.len()),
        (3, 1),
        "no two need lines of their own"
    );
    assert!(!first[0].to_string().contains("instance"));
    assert_eq!(first[0]["_aws"]["Timestamp"], 1_700_000_000_000_i64);
    assert_eq!(
        lines_after(&process, || ()),
        Vec::<Value>::new(),
        "they are written once"
    );
    let again = lines_after(&process, || {
        counter!(measure::CONVERSATIONS_PARKED, "instance" => "a").increment(3);
    });
    assert_eq!(
        metrics_of(&again),
        [metric(measure::CONVERSATIONS_PARKED, &[], &[3.0])]
    );
}

#[test]
fn values_that_disagree_are_in_different_lines() {
    let process = untold_process();
    let lines = lines_after(&process, || {
        for kind in ["input", "output"] {
            counter!(measure::TOKENS, "kind" => kind).increment(7);
        }
        // Another metric whose dimension has the same name.
        counter!(measure::WEBHOOK_ITEMS, "provider" => "meta", "kind" => "event").increment(1);
    });
    let found = metrics_of(&lines);
    assert_eq!((lines.len(), found.len()), (3, 3));
    for (name, dimensions) in [
        (measure::TOKENS, &[("kind", "input")][..]),
        (measure::TOKENS, &[("kind", "output")]),
        (measure::WEBHOOK_ITEMS, &[("provider", "meta"), ("kind", "event")]),
    ] {
        let value = if name == measure::TOKENS { 7.0 } else { 1.0 };
        assert!(found.contains(&metric(name, dimensions, &[value])), "{found:?}");
    }
}

#[test]
fn more_values_than_a_line_may_hold_are_all_written() {
    let process = untold_process();
    let lines = lines_after(&process, || {
        for number in 0..250 {
            histogram!(measure::LATENCY, "stage" => "outbound").record(f64::from(number));
        }
    });
    let found = metrics_of(&lines);
    let lengths: Vec<usize> = found.iter().map(|one| one.values.len()).collect();
    assert_eq!(lengths, [100, 100, 50]);
    let sum: f64 = found.iter().flat_map(|one| &one.values).sum();
    assert!((sum - 31_125.0).abs() < f64::EPSILON);
}

#[test]
fn every_metric_of_the_catalogue_can_be_written() {
    let process = untold_process();
    let recorder = &process.recorder;
    let lines = lines_after(&process, || {
        for metric in measure::METRICS {
            let labels: Vec<metrics::Label> = metric
                .labels
                .iter()
                .map(|name| metrics::Label::new(*name, "x"))
                .collect();
            let about = Metadata::new("", metrics::Level::INFO, None);
            let key = Key::from_parts(metric.name, labels);
            match metric.kind {
                measure::MetricKind::Counter => recorder.register_counter(&key, &about).increment(1),
                measure::MetricKind::Histogram(_) => recorder.register_histogram(&key, &about).record(0.1),
                measure::MetricKind::Gauge => recorder.register_gauge(&key, &about).set(1.0),
            }
        }
    });
    let found = metrics_of(&lines);
    let counted = measure::METRICS
        .iter()
        .filter(|metric| metric.kind != measure::MetricKind::Gauge);
    assert_eq!(found.len(), counted.count());
    assert!(
        found
            .iter()
            .all(|one| one.dimensions.iter().all(|(name, _)| name != "instance"))
    );
}

#[test]
fn runs_that_follow_each_other_write_once_a_minute() {
    let process = told_process();
    let first = lines_at(&process, 1_000, count_webhook);
    assert_eq!(
        webhooks_of(&first),
        [(1_000, 1.0)],
        "the first message shows at once"
    );
    for second in 1_001..1_055 {
        assert_eq!(lines_at(&process, second, count_webhook), Vec::<Value>::new());
    }
    let minute = lines_at(&process, 1_060, count_webhook);
    assert_eq!(webhooks_of(&minute), [(1_060, 55.0)]);
    let durations = metrics_of(&minute)
        .into_iter()
        .filter(|one| one.name == measure::ACKNOWLEDGEMENT);
    assert_eq!(durations.map(|one| one.values.len()).sum::<usize>(), 55);
    assert_eq!(lines_at(&process, 1_061, || ()), Vec::<Value>::new());
}

#[test]
fn a_function_that_runs_each_minute_or_hour_writes_at_each_run() {
    for apart in [59, 60, 3_600] {
        let process = told_process();
        for run in 1..5 {
            let lines = lines_at(&process, run * apart, count_webhook);
            assert_eq!(webhooks_of(&lines), [(run * apart, 1.0)], "{apart} s apart");
        }
    }
}

#[test]
fn what_waited_while_the_process_slept_keeps_its_time() {
    let process = told_process();
    lines_at(&process, 1_000, count_webhook);
    lines_at(&process, 1_010, count_webhook);
    lines_at(&process, 1_020, count_webhook);
    let lines = lines_at(&process, 4_600, count_webhook);
    assert_eq!(webhooks_of(&lines), [(1_020, 2.0), (4_600, 1.0)]);
}

#[test]
fn what_waits_is_written_at_the_end_of_the_process() {
    let process = told_process();
    lines_at(&process, 1_000, count_webhook);
    lines_at(&process, 1_010, count_webhook);
    lines_at(&process, 1_020, count_webhook);
    // Lambda ends a process some minutes after its last run.
    let left = process.end_process(from_unix_millis(1_900_000));
    assert_eq!(webhooks_of(&left), [(1_020, 2.0)]);
    let again = process.end_process(from_unix_millis(1_900_000));
    assert_eq!(again, Vec::<Value>::new(), "it is written once");
}

#[test]
fn a_process_that_is_not_told_of_its_end_writes_at_each_run() {
    let process = untold_process();
    for second in [1_000, 1_001] {
        let lines = lines_at(&process, second, count_webhook);
        assert_eq!(webhooks_of(&lines), [(second, 1.0)]);
    }
}

/// The state of `count` instances, of which the one with this number is closed.
fn make_state(count: usize, closed: Option<usize>) -> (InstallationReading, MinuteSample) {
    let fixtures: Vec<Fixture> = (0..count).map(|_| Fixture::on(Provider::Evolution)).collect();
    let mut configured = ConfigDocument::default();
    for fixture in &fixtures {
        configured.instances.extend(fixture.document().instances);
    }
    let reading = |(number, instance): (usize, &Instance)| InstanceReading {
        instance: instance.into(),
        connection: if closed == Some(number) {
            ConnectionStatus::Closed
        } else {
            ConnectionStatus::Open
        },
        since: None,
        depth: number as u64,
        parked: 0,
        dead_letters: 1,
        oldest: None,
    };
    let instances: Vec<InstanceReading> = configured.instances.iter().enumerate().map(reading).collect();
    let sample = |one: &InstanceReading| InstanceSample {
        id: one.instance.id.clone(),
        connection: one.connection,
        depth: one.depth,
        parked: one.parked,
        dead_letters: one.dead_letters,
        slots: None,
    };
    let sample = MinuteSample::from_instances(from_unix_millis(0), None, instances.iter().map(sample));
    let reading = InstallationReading {
        at: from_unix_millis(90_000),
        at_least: false,
        depth: sample.depth,
        parked: 0,
        dead_letters: sample.dead_letters,
        oldest: Some(from_unix_millis(30_000)),
        waiting_since: Vec::new(),
        troubled: TroubledInstances::default(),
        budgets: Vec::new(),
        instances,
    };
    (reading, sample)
}

fn state_lines(mode: MetricsMode, count: usize, closed: Option<usize>) -> Vec<Value> {
    let (reading, sample) = make_state(count, closed);
    format_state(&settings(mode), from_unix_millis(90_000), &reading, &sample)
}

#[test]
fn the_state_of_all_instances_is_one_line_that_names_the_ten_worst() {
    let lines = state_lines(MetricsMode::Totals, 30, Some(3));
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let mut expected = vec![
        metric(measure::QUEUE_DEPTH, &[], &[435.0]),
        metric(measure::DEAD_LETTERS, &[], &[30.0]),
        metric(measure::PARKED, &[], &[0.0]),
        metric(measure::OLDEST, &[], &[60.0]),
        metric(measure::INSTANCE_CONNECTED, &[], &[0.0]),
        metric(measure::EVOLUTION_CONNECTED, &[], &[0.0]),
    ];
    assert_eq!(metrics_of(&lines), expected);
    let worst = line["worst_instances"].as_array().unwrap();
    let first: Vec<&Value> = worst.iter().take(2).map(|one| &one["connection"]).collect();
    assert_eq!((worst.len(), first[0].as_str()), (10, Some("closed")));
    assert_eq!(worst[1]["depth"], 29);
    expected[4] = metric(measure::INSTANCE_CONNECTED, &[], &[1.0]);
    expected[5] = metric(measure::EVOLUTION_CONNECTED, &[], &[1.0]);
    assert_eq!(metrics_of(&state_lines(MetricsMode::Totals, 30, None)), expected);
}

#[test]
fn the_worst_instances_are_metrics_of_their_own_only_if_that_is_wanted() {
    let lines = state_lines(MetricsMode::Instances, 30, Some(3));
    let of_instances: Vec<LineMetric> = metrics_of(&lines)
        .into_iter()
        .filter(|one| !one.dimensions.is_empty())
        .collect();
    assert_eq!(of_instances.len(), 40);
    let worst = lines[0]["worst_instances"][0]["id"].as_str().unwrap();
    let closed = metric(measure::INSTANCE_CONNECTED, &[("instance", worst)], &[0.0]);
    assert!(of_instances.contains(&closed), "{of_instances:?}");
    assert_eq!(
        state_lines(MetricsMode::Instances, 0, None).len(),
        1,
        "without instances there is nothing to name"
    );
}

#[test]
fn the_settings_are_read() {
    let mut reader = VariableReader::new([
        ("RECADO_METRICS", "instances"),
        ("RECADO_METRICS_NAMESPACE", "Recado/x"),
    ]);
    let read = MetricsSettings::from_environment(&mut reader);
    assert_eq!(
        (read.mode, read.namespace.as_str()),
        (MetricsMode::Instances, "Recado/x")
    );
    let mut wrong = VariableReader::new([("RECADO_METRICS", "all")]);
    assert_eq!(
        MetricsSettings::from_environment(&mut wrong).mode,
        MetricsMode::Off
    );
    assert_eq!(wrong.into_problems().len(), 1);
    assert_eq!(
        MetricsSettings::from_environment(&mut VariableReader::default()).mode,
        MetricsMode::Off
    );
}
