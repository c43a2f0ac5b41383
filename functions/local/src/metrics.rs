//! The metrics of this process, in the text format of Prometheus.
//!
//! Counters and histograms are recorded where the facts arise (`recado_pipeline::measure`). Gauges are made of a reading
//! of the store when the metrics are asked for, and are not kept: an instance that was removed leaves no gauge behind.

mod instance_limit;

use crate::logging::count_dropped_lines;
use anyhow::{Context, Result};
use instance_limit::{InstanceLabels, LimitedRecorder};
use metrics::{Recorder, counter, gauge, with_local_recorder};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use recado_domain::Timestamp;
use recado_domain::config::ConfigDocument;
use recado_domain::ids::InstanceId;
use recado_domain::instance::ConnectionStatus;
use recado_http::{GaugeReading, MetricsPage};
use recado_pipeline::installation_reading::InstallationReading;
use recado_pipeline::measure::{self, METRICS, MetricKind};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The metrics of this process. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct ProcessMetrics {
    handle: PrometheusHandle,
    labels: Arc<InstanceLabels>,
    /// Time of the last pass of `reconcile`, in milliseconds since 1970; 0: none yet.
    reconciled_at: Arc<AtomicI64>,
}

fn build_recorder() -> Result<PrometheusRecorder, BuildError> {
    let mut builder = PrometheusBuilder::new();
    for metric in METRICS {
        if let MetricKind::Histogram(bounds) = metric.kind {
            builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), bounds)?;
        }
    }
    Ok(builder.build_recorder())
}

/// Tells a recorder the description of each metric, which it writes above the numbers.
fn describe_metrics(recorder: &impl Recorder) {
    for metric in METRICS {
        let (name, help) = (metric.name.into(), metric.help.into());
        match metric.kind {
            MetricKind::Counter => recorder.describe_counter(name, None, help),
            MetricKind::Gauge => recorder.describe_gauge(name, None, help),
            MetricKind::Histogram(_) => recorder.describe_histogram(name, None, help),
        }
    }
}

impl ProcessMetrics {
    /// Creates the metrics and their recorder. At most `most` instances get series of their own.
    fn build(most: usize) -> Result<(Self, LimitedRecorder<PrometheusRecorder>)> {
        let recorder = build_recorder().context("the buckets of the metrics cannot be used")?;
        describe_metrics(&recorder);
        let (handle, labels) = (recorder.handle(), Arc::new(InstanceLabels::with_limit(most)));
        let metrics = Self {
            handle,
            labels: Arc::clone(&labels),
            reconciled_at: Arc::default(),
        };
        Ok((metrics, LimitedRecorder::new(recorder, labels)))
    }

    /// Installs the recorder of this process. At most `most` instances get series of their own; those of `configured`
    /// come first.
    pub(crate) fn install_recorder(most: usize, configured: &ConfigDocument) -> Result<Self> {
        let (metrics, recorder) = Self::build(most)?;
        let mut ids: Vec<&InstanceId> = configured.instances.iter().map(|instance| &instance.id).collect();
        ids.sort();
        for id in ids {
            metrics.labels.admit_instance(id.as_str());
        }
        metrics::set_global_recorder(recorder).context("the metrics cannot be recorded")?;
        Ok(metrics)
    }

    /// Moves recorded durations into their buckets. To be called every few seconds: until then each takes memory.
    pub(crate) fn run_upkeep(&self) {
        self.handle.run_upkeep();
    }

    /// Records that a pass of `reconcile` ended at `at`.
    pub(crate) fn record_reconcile(&self, at: Timestamp) {
        self.reconciled_at.store(at.as_millisecond(), Ordering::Relaxed);
    }

    /// Returns the page that shows the metrics.
    pub(crate) fn to_page(&self) -> MetricsPage {
        let metrics = self.clone();
        MetricsPage::new(move |reading| metrics.render_page(reading))
    }

    fn render_page(&self, reading: Option<&GaugeReading>) -> String {
        let gauges = PrometheusBuilder::new().build_recorder();
        describe_metrics(&gauges);
        with_local_recorder(&gauges, || self.set_gauges(reading));
        [self.handle.render(), gauges.handle().render()].concat()
    }

    fn set_gauges(&self, reading: Option<&GaugeReading>) {
        counter!(measure::LOG_LINES_DROPPED).absolute(count_dropped_lines());
        gauge!(measure::BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        let reconciled_at = self.reconciled_at.load(Ordering::Relaxed);
        if reconciled_at > 0 {
            gauge!(measure::RECONCILED).set(to_float(reconciled_at.unsigned_abs()) / 1000.0);
        }
        gauge!(measure::STORE_READABLE).set(if reading.is_some() { 1.0 } else { 0.0 });
        let Some(reading) = reading else { return };
        for (queue, depth) in &reading.queues {
            let states = [
                ("waiting", depth.waiting),
                ("in_flight", depth.in_flight),
                ("delayed", depth.delayed),
            ];
            for (state, count) in states {
                gauge!(measure::QUEUE_MESSAGES, "queue" => queue.as_str(), "state" => state)
                    .set(to_float(count));
            }
        }
        for (label, sum) in self.sum_by_label(&reading.installation) {
            sum.set_gauges(&label);
        }
    }

    /// Sums the instances up under their labels: most have one of their own.
    fn sum_by_label(&self, installation: &InstallationReading) -> BTreeMap<String, LabelSum> {
        let mut sums: BTreeMap<String, LabelSum> = BTreeMap::new();
        let (mut depth, mut parked, mut dead) = (0, 0, 0);
        for one in &installation.instances {
            let sum = sums
                .entry(self.labels.choose_label(one.instance.id.as_str()))
                .or_default();
            let open = one.connection == ConnectionStatus::Open;
            let age = one.oldest.map_or(0, |oldest| {
                (installation.at.as_second() - oldest.as_second()).max(0)
            });
            sum.depth += one.depth;
            sum.parked += one.parked;
            sum.dead_letters += one.dead_letters;
            sum.age_seconds = sum.age_seconds.max(age.unsigned_abs());
            sum.closed |= !open;
            sum.linked_closed |= !open && one.instance.provider.capabilities().is_linked_device;
            sum.linked |= one.instance.provider.capabilities().is_linked_device;
            sum.configured = true;
            (depth, parked, dead) = (depth + one.depth, parked + one.parked, dead + one.dead_letters);
        }
        // What belongs to no configured instance, so that the sum over all is the whole.
        let rest = LabelSum {
            depth: installation.depth.saturating_sub(depth),
            parked: installation.parked.saturating_sub(parked),
            dead_letters: installation.dead_letters.saturating_sub(dead),
            ..LabelSum::default()
        };
        sums.insert(measure::NO_INSTANCE.to_owned(), rest);
        sums
    }
}

/// The gauges of the instances that share a label.
#[derive(Debug, Default)]
struct LabelSum {
    depth: u64,
    parked: u64,
    dead_letters: u64,
    age_seconds: u64,
    /// `true` if one of them is not open.
    closed: bool,
    /// `true` if one of them is a linked device.
    linked: bool,
    /// `true` if one of them is a linked device that is not open.
    linked_closed: bool,
    /// `true` if there is a configured instance.
    configured: bool,
}

impl LabelSum {
    fn set_gauges(&self, label: &str) {
        let set = |name: &'static str, value: f64| gauge!(name, "instance" => label.to_owned()).set(value);
        set(measure::QUEUE_DEPTH, to_float(self.depth));
        set(measure::PARKED, to_float(self.parked));
        set(measure::DEAD_LETTERS, to_float(self.dead_letters));
        if !self.configured {
            return;
        }
        set(measure::OLDEST, to_float(self.age_seconds));
        set(measure::INSTANCE_CONNECTED, if self.closed { 0.0 } else { 1.0 });
        if self.linked {
            set(
                measure::EVOLUTION_CONNECTED,
                if self.linked_closed { 0.0 } else { 1.0 },
            );
        }
    }
}

/// Converts a count, which is exact up to 2⁵³.
#[expect(clippy::cast_precision_loss, reason = "counts are far smaller")]
fn to_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
