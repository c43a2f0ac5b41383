use crate::steps::installation_reading::InstallationReading;
use crate::steps::queue_message::format_error_chain;
use recado_domain::alert::MissingSecret;
use recado_domain::sample::MinuteSample;
use recado_ports::ports::PortResult;

/// The result of one pass, in numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReconcileReport {
    /// Events enqueued again.
    pub events: usize,
    /// Conversations and e-mails for which a send job was enqueued.
    pub send_jobs: usize,
    /// Turn jobs enqueued.
    pub turns: usize,
    /// Instances that were asked for their connection state.
    pub probes: usize,
    /// Open instances whose providers were asked whether they still are.
    pub asked: usize,
    /// Parked conversations released or given up.
    pub parked: usize,
    /// Scheduled messages that fell due.
    pub scheduled: usize,
    /// Threads of whose effects one was settled, or a fence removed.
    pub effects: usize,
    /// Jobs that were enqueued to fetch files.
    pub files: usize,
    /// Batches of invitations whose time had come, or whose expansion was restarted.
    pub batches: usize,
    /// Silent instances found.
    pub silent: usize,
    /// Messages removed from the dead-letter queues. They were dead-lettered by a queue itself and are entered into the
    /// records now, or they were copies without a dead letter.
    pub collected: usize,
    /// Messages deleted because their retention period is over.
    pub expired: usize,
    /// Dead letters given up for good because their retention period is over.
    pub given_up: usize,
    /// Answers about contacts' pictures that were stored.
    pub pictures: usize,
    /// Numbers of which a provider told the quality and the limit.
    pub standings: usize,
    /// The secrets that entries name and that are not there; `None`: this pass did not look for them.
    pub missing_secrets: Option<Vec<MissingSecret>>,
    /// First messages that are sent once more, to linked identities.
    pub identity_attempts: usize,
    /// Actions that failed.
    pub failed: usize,
    /// The sample of the installation that was stored.
    pub sample: Option<MinuteSample>,
    /// The state of the installation that the sample was made of.
    pub reading: Option<InstallationReading>,
}

impl ReconcileReport {
    /// Returns the result of an action. A failure is logged and counted, and returns the default.
    pub(super) fn count_failure<T: Default>(&mut self, failure: &'static str, result: PortResult<T>) -> T {
        result.unwrap_or_else(|error| {
            tracing::warn!(error = %format_error_chain(&error), "{failure}");
            self.failed += 1;
            T::default()
        })
    }
}
