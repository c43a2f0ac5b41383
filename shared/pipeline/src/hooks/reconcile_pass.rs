//! The hook for work that a feature does in the background, once a minute or less often.

use crate::Deps;
use crate::steps::installation_reading::InstallationReading;
use futures::future::BoxFuture;
use jiff::Timestamp;
use recado_domain::alert::MissingSecret;
use recado_domain::connection_check::ConnectionCheck;
use recado_domain::sample::MinuteSample;
use recado_ports::ports::PortResult;

/// A pass of a feature, which `reconcile` runs in each minute in which it is due. One that fails is logged and counted, and the others
/// run all the same.
#[derive(Debug)]
pub struct ReconcilePass {
    /// Name by which the report counts what the pass did.
    pub name_in_report: &'static str,
    /// Text that is logged if the pass fails.
    pub failure_message: &'static str,
    /// Returns `true` if the pass runs in the minute of a time.
    pub is_due_at: fn(Timestamp) -> bool,
    /// `true`: the pass works on what was read of the installation. Such passes run after the others, and not at all in a minute in
    /// which the reading failed.
    pub works_on_reading: bool,
    /// Runs the pass. Returns how much it did.
    pub run: for<'a> fn(&'a Deps, &'a mut PassMinute) -> BoxFuture<'a, PortResult<usize>>,
}

/// Is the `is_due_at` of a pass that runs in each minute.
pub fn is_every_minute(_: Timestamp) -> bool {
    true
}

/// Time between two runs of passes that need not run each minute, in minutes of the clock.
pub const CHECK_INTERVAL_MINUTES: i64 = 5;

/// Is the `is_due_at` of a pass that runs in one minute of [`CHECK_INTERVAL_MINUTES`].
pub fn is_check_minute(now: Timestamp) -> bool {
    now.as_second().div_euclid(60) % CHECK_INTERVAL_MINUTES == 0
}

/// The state that the passes of one minute share.
#[derive(Debug)]
pub struct PassMinute {
    /// Time at which `reconcile` began its work of this minute.
    pub began: Timestamp,
    /// The state of the installation. `None`: it was not read yet, or the reading failed.
    pub reading: Option<InstallationReading>,
    /// The checks of connections that count now. The sample keeps them.
    pub looks: Vec<ConnectionCheck>,
    /// The sample of the installation that was stored.
    pub sample: Option<MinuteSample>,
    /// The secrets that entries name and that are not there; `None`: no pass looked for them.
    pub missing_secrets: Option<Vec<MissingSecret>>,
}

impl PassMinute {
    /// Creates the minute that began at `began`, of which nothing is known yet.
    pub fn new(began: Timestamp) -> Self {
        Self {
            began,
            reading: None,
            looks: Vec::new(),
            sample: None,
            missing_secrets: None,
        }
    }
}
