//! The metrics of the functions. What a process counts is written to its log at the end of a run, at most once a minute, as lines
//! in the embedded metric format (EMF), of which CloudWatch makes metrics.
//!
//! Names are those of [`recado_pipeline::measure`]. The label `instance` is no dimension: each value of a dimension is a
//! metric that costs. `reconcile` writes the state of all instances each minute, and names the worst ones beside it.
//!
//! Counts wait in memory only where Lambda tells the process of its end ([`crate::process_end`]): then what waits is written. Elsewhere,
//! as on an emulator, each run writes. So the counts of a run that no other follows are late, and not lost; they keep the time of that
//! run. A run that crashes its process or passes its time limit loses what it counted, and what waited: of a minute at most.

mod lines;
mod waiting_counts;

use crate::process_end::run_at_end;
use jiff::Timestamp;
use lines::{MetricPoint, MetricValue, format_lines};
use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use recado_aws::OsSystem;
use recado_domain::instance::ConnectionStatus;
use recado_domain::sample::{InstanceSample, MinuteSample};
use recado_pipeline::installation_reading::{InstallationReading, InstanceReading};
use recado_pipeline::measure;
use recado_pipeline::ports::System;
use recado_pipeline::settings::VariableReader;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use waiting_counts::{DueCounts, WaitingCounts};

/// Number of instances that `reconcile` names each minute: the worst ones.
const WORST_MAX: usize = 10;

/// The metrics that the functions write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsMode {
    /// None.
    Off,
    /// Totals over all instances.
    Totals,
    /// Totals, and the state of the worst instances as metrics of their own.
    Instances,
}

/// The settings of the metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsSettings {
    /// The metrics that are written.
    pub mode: MetricsMode,
    /// Namespace of the metrics in CloudWatch.
    pub namespace: String,
}

impl MetricsSettings {
    /// Reads `RECADO_METRICS` and `RECADO_METRICS_NAMESPACE`.
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        let what = "must be off, totals or instances";
        let mode = reader.read_parsed("RECADO_METRICS", MetricsMode::Off, what, |text| match text {
            "off" => Some(MetricsMode::Off),
            "totals" => Some(MetricsMode::Totals),
            "instances" => Some(MetricsMode::Instances),
            _ => None,
        });
        let namespace = reader.read_text("RECADO_METRICS_NAMESPACE");
        Self {
            mode,
            namespace: namespace.unwrap_or_else(|| "Recado".to_owned()),
        }
    }
}

/// A metric with its dimensions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    name: String,
    dimensions: Vec<(String, String)>,
}

impl Series {
    /// Makes the series under which a key is recorded: without the instance.
    fn from_key(key: &Key) -> Self {
        let labels = key.labels().filter(|label| label.key() != "instance");
        Self {
            name: key.name().to_owned(),
            dimensions: labels
                .map(|label| (label.key().to_owned(), label.value().to_owned()))
                .collect(),
        }
    }
}

/// What was counted, by the metric.
type Counts = BTreeMap<Series, MetricValue>;

/// What was recorded since it was last taken.
type Recorded = Arc<Mutex<Counts>>;

/// Records metrics in memory until they are taken.
#[derive(Debug, Clone, Default)]
struct EmfRecorder(Recorded);

/// The place at which one metric is recorded.
struct RecordedSeries {
    recorded: Recorded,
    series: Series,
}

impl RecordedSeries {
    fn change(&self, empty: MetricValue, change: impl FnOnce(&mut MetricValue)) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        change(recorded.entry(self.series.clone()).or_insert(empty));
    }
}

impl CounterFn for RecordedSeries {
    fn increment(&self, value: u64) {
        self.change(MetricValue::Count(0), |counted| {
            if let MetricValue::Count(count) = counted {
                *count += value;
            }
        });
    }

    fn absolute(&self, value: u64) {
        self.change(MetricValue::Count(0), |counted| {
            if let MetricValue::Count(count) = counted {
                *count = value.max(*count);
            }
        });
    }
}

impl HistogramFn for RecordedSeries {
    fn record(&self, value: f64) {
        self.change(MetricValue::Seconds(Vec::new()), |recorded| {
            if let MetricValue::Seconds(values) = recorded {
                values.push(value);
            }
        });
    }
}

impl EmfRecorder {
    fn place_of(&self, key: &Key) -> Arc<RecordedSeries> {
        Arc::new(RecordedSeries {
            recorded: Arc::clone(&self.0),
            series: Series::from_key(key),
        })
    }

    /// Takes what was recorded, and begins anew.
    fn take_counts(&self) -> Counts {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Recorder for EmfRecorder {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.place_of(key))
    }

    /// Records nothing: [`write_state`] writes the gauges.
    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.place_of(key))
    }
}

/// What a process counts and writes.
#[derive(Debug)]
struct MetricsWriter {
    recorder: EmfRecorder,
    settings: MetricsSettings,
    /// Counts that wait to be written. Not set: nobody tells this process of its end, so none may wait.
    waiting: OnceLock<Mutex<WaitingCounts>>,
}

impl MetricsWriter {
    fn new(settings: MetricsSettings) -> Self {
        Self {
            recorder: EmfRecorder::default(),
            settings,
            waiting: OnceLock::new(),
        }
    }

    /// Returns the lines that are due at the end of a run.
    fn end_run(&self, now: Timestamp) -> Vec<Value> {
        let counts = self.recorder.take_counts();
        let due = match self.waiting.get() {
            Some(waiting) => waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .end_run(counts, now),
            None => vec![DueCounts { counts, at: now }],
        };
        self.format_due(due)
    }

    /// Returns the lines of all that is not written yet.
    fn end_process(&self, now: Timestamp) -> Vec<Value> {
        let counts = self.recorder.take_counts();
        let waiting = self.waiting.get_or_init(Mutex::default);
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.format_due(waiting.end_process(counts, now))
    }

    fn format_due(&self, due: impl IntoIterator<Item = DueCounts>) -> Vec<Value> {
        let format = |due: DueCounts| format_lines(&self.settings.namespace, due.at, list_points(due.counts));
        due.into_iter().flat_map(format).collect()
    }
}

/// The metrics of this process.
static PROCESS_METRICS: OnceLock<MetricsWriter> = OnceLock::new();

/// Begins to record metrics, unless they are off. A second call changes nothing.
pub(crate) fn start_metrics(settings: &MetricsSettings) {
    if settings.mode == MetricsMode::Off {
        return;
    }
    let process = MetricsWriter::new(settings.clone());
    let recorder = process.recorder.clone();
    if PROCESS_METRICS.set(process).is_ok() {
        // An error only means that another recorder was installed before: then nothing is written.
        let _installed = metrics::set_global_recorder(recorder);
    }
}

/// Lets counts wait from now on if Lambda tells this process of its end. To be called before the first run.
pub(crate) async fn let_counts_wait(runtime_api: Option<&str>) {
    let (Some(process), Some(runtime_api)) = (PROCESS_METRICS.get(), runtime_api) else {
        return;
    };
    let is_told = run_at_end(runtime_api, move || {
        print_lines(&process.end_process(OsSystem.now()));
        std::process::exit(0);
    });
    if is_told.await {
        process.waiting.get_or_init(Mutex::default);
    }
}

/// Writes what is due. To be called at the end of each run.
pub(crate) fn write_metrics() {
    if let Some(process) = PROCESS_METRICS.get() {
        print_lines(&process.end_run(OsSystem.now()));
    }
}

/// Writes the state of all instances, and names the worst ones.
pub(crate) fn write_state(reading: &InstallationReading, sample: &MinuteSample) {
    if let Some(process) = PROCESS_METRICS.get() {
        print_lines(&format_state(&process.settings, OsSystem.now(), reading, sample));
    }
}

/// Lists counts as points of metrics.
fn list_points(counts: Counts) -> Vec<MetricPoint> {
    let point = |(series, value): (Series, MetricValue)| MetricPoint {
        name: series.name,
        dimensions: series.dimensions,
        value,
    };
    counts.into_iter().map(point).collect()
}

/// Writes lines to standard output. A failure is ignored: no work may fail for its metrics.
fn print_lines(lines: &[Value]) {
    let mut out = std::io::stdout().lock();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
}

/// Formats the state of all instances: one line of totals, which names the worst instances, and, if they are wanted, a line
/// for each of these.
fn format_state(
    settings: &MetricsSettings,
    at: Timestamp,
    reading: &InstallationReading,
    sample: &MinuteSample,
) -> Vec<Value> {
    let mut lines = format_lines(&settings.namespace, at, total_points(reading));
    let worst = &sample.instances[..sample.instances.len().min(WORST_MAX)];
    if let Some(Value::Object(totals)) = lines.first_mut() {
        totals.insert("worst_instances".to_owned(), json!(worst));
    }
    if settings.mode == MetricsMode::Instances {
        let points = worst.iter().flat_map(instance_points).collect();
        lines.extend(format_lines(&settings.namespace, at, points));
    }
    lines
}

/// Lists the gauges of all instances together. "Connected" is 1 if each of them is; the age is that of the oldest of all.
fn total_points(reading: &InstallationReading) -> Vec<MetricPoint> {
    let gauge = |name: &str, value: MetricValue| MetricPoint {
        name: name.to_owned(),
        dimensions: Vec::new(),
        value,
    };
    let age = reading.oldest.map_or(0.0, |oldest| {
        reading.at.duration_since(oldest).as_secs_f64().max(0.0)
    });
    let mut points = vec![
        gauge(measure::QUEUE_DEPTH, MetricValue::Count(reading.depth)),
        gauge(measure::DEAD_LETTERS, MetricValue::Count(reading.dead_letters)),
        gauge(measure::PARKED, MetricValue::Count(reading.parked)),
        gauge(measure::OLDEST, MetricValue::Seconds(vec![age])),
    ];
    let all_open = |of: &dyn Fn(&&InstanceReading) -> bool| {
        let mut chosen = reading.instances.iter().filter(of).peekable();
        chosen.peek()?;
        Some(chosen.all(|one| one.connection == ConnectionStatus::Open))
    };
    let linked = |one: &&InstanceReading| one.instance.provider.capabilities().is_linked_device;
    for (name, open) in [
        (measure::INSTANCE_CONNECTED, all_open(&|_| true)),
        (measure::EVOLUTION_CONNECTED, all_open(&linked)),
    ] {
        points.extend(open.map(|open| gauge(name, MetricValue::Count(open.into()))));
    }
    points
}

/// Lists the gauges of one instance.
fn instance_points(one: &InstanceSample) -> Vec<MetricPoint> {
    let open = one.connection == ConnectionStatus::Open;
    [
        (measure::QUEUE_DEPTH, one.depth),
        (measure::DEAD_LETTERS, one.dead_letters),
        (measure::PARKED, one.parked),
        (measure::INSTANCE_CONNECTED, open.into()),
    ]
    .map(|(name, value)| MetricPoint {
        name: name.to_owned(),
        dimensions: vec![("instance".to_owned(), one.id.to_string())],
        value: MetricValue::Count(value),
    })
    .to_vec()
}

#[cfg(test)]
mod tests;
