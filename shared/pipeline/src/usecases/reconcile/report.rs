use crate::steps::installation_reading::InstallationReading;
use crate::steps::queue_message::format_error_chain;
use recado_domain::alert::MissingSecret;
use recado_domain::sample::MinuteSample;
use recado_ports::ports::PortResult;
use std::collections::BTreeMap;

/// The result of one pass, in numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReconcileReport {
    /// Counts of what was done, by name. A count of nothing is left out.
    counts: BTreeMap<&'static str, usize>,
    /// The secrets that entries name and that are not there; `None`: this pass did not look for them.
    pub missing_secrets: Option<Vec<MissingSecret>>,
    /// Actions that failed.
    pub failed: usize,
    /// The sample of the installation that was stored.
    pub sample: Option<MinuteSample>,
    /// The state of the installation that the sample was made of.
    pub reading: Option<InstallationReading>,
}

impl ReconcileReport {
    /// Returns how much was done of what `name` stands for. The path of a message has these names:
    ///
    /// * `events`: events enqueued again
    /// * `send_jobs`: conversations for which a send job was enqueued; e-mails are counted with them
    /// * `turns`: turn jobs enqueued
    /// * `probes`: instances that were asked for their connection state
    /// * `parked`: parked conversations released or given up
    /// * `collected`: messages removed from the dead-letter queues. They were dead-lettered by a queue itself and are entered into the
    ///   records now, or they were copies without a dead letter.
    ///
    /// The timers and passes of features say their own (`name_in_report`).
    pub fn count_of(&self, name: &str) -> usize {
        self.counts.get(name).copied().unwrap_or_default()
    }

    /// Counts what was done.
    pub(super) fn count(&mut self, name: &'static str, more: usize) {
        if more > 0 {
            *self.counts.entry(name).or_default() += more;
        }
    }

    /// Returns the result of an action. A failure is logged and counted, and returns the default.
    pub(super) fn count_failure<T: Default>(&mut self, failure: &'static str, result: PortResult<T>) -> T {
        result.unwrap_or_else(|error| {
            tracing::warn!(error = %format_error_chain(&error), "{failure}");
            self.failed += 1;
            T::default()
        })
    }
}
