//! The metrics of the functions. At the end of each invocation, what was counted in it is written to the log as lines in
//! the embedded metric format (EMF), of which CloudWatch makes metrics.
//!
//! Names are those of [`recado_pipeline::measure`]. The label `instance` is no dimension: each value of a dimension is a
//! metric that costs. `reconcile` writes the state of all instances in the same way, and names the worst ones beside it.
//! What a process counted that ended before its invocation did is lost.

mod lines;

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

/// What was recorded since the last lines were written.
type Recorded = Arc<Mutex<BTreeMap<Series, MetricValue>>>;

/// Records metrics in memory until they are written.
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
    fn take_points(&self) -> Vec<MetricPoint> {
        let recorded = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let point = |(series, value): (Series, MetricValue)| MetricPoint {
            name: series.name,
            dimensions: series.dimensions,
            value,
        };
        recorded.into_iter().map(point).collect()
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

/// The metrics of this process.
static PROCESS_METRICS: OnceLock<(EmfRecorder, MetricsSettings)> = OnceLock::new();

/// Begins to record metrics, unless they are off. A second call changes nothing.
pub(crate) fn start_metrics(settings: &MetricsSettings) {
    if settings.mode == MetricsMode::Off {
        return;
    }
    let recorder = EmfRecorder::default();
    if PROCESS_METRICS.set((recorder.clone(), settings.clone())).is_ok() {
        // An error only means that another recorder was installed before: then nothing is written.
        let _installed = metrics::set_global_recorder(recorder);
    }
}

/// Writes what was counted since the last call. To be called at the end of each invocation.
pub(crate) fn write_metrics() {
    if let Some((recorder, settings)) = PROCESS_METRICS.get() {
        print_lines(&format_lines(
            &settings.namespace,
            OsSystem.now(),
            recorder.take_points(),
        ));
    }
}

/// Writes the state of all instances, and names the worst ones.
pub(crate) fn write_state(reading: &InstallationReading, sample: &MinuteSample) {
    if let Some((_, settings)) = PROCESS_METRICS.get() {
        print_lines(&format_state(settings, OsSystem.now(), reading, sample));
    }
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
