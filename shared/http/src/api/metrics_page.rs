//! The page of metrics: the function that writes it, and what it is made of.

use futures::lock::Mutex;
use recado_domain::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_pipeline::installation_reading::InstallationReading;
use recado_pipeline::ports::QueueDepth;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All that is read of the store and the queues when the metrics are asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct GaugeReading {
    /// State of all instances.
    pub installation: InstallationReading,
    /// Depth of each queue.
    pub queues: BTreeMap<QueueName, QueueDepth>,
}

/// The function that writes the metrics. It is given what was read, or `None` if the store could not be read.
#[derive(Clone)]
pub struct MetricsPage(Arc<WritePage>);

type WritePage = dyn Fn(Option<&GaugeReading>) -> String + Send + Sync;

impl MetricsPage {
    /// Creates a page that `write` writes.
    pub fn new(write: impl Fn(Option<&GaugeReading>) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    /// Writes the page of what was read.
    pub fn write(&self, reading: Option<&GaugeReading>) -> String {
        (self.0)(reading)
    }
}

impl std::fmt::Debug for MetricsPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MetricsPage")
    }
}

/// The last reading, with its time; `None` in it: the store could not be read.
#[derive(Debug, Default)]
pub struct ReadingCache(pub Mutex<Option<(Timestamp, Option<GaugeReading>)>>);
