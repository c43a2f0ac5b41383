//! The hook for work that a feature does in the background, once a minute or less often.

use crate::steps::installation_reading::InstallationReading;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::alert::MissingSecret;
use recado_domain::connection_look::ConnectionLook;
use recado_domain::sample::MinuteSample;
use recado_ports::Deps;
use recado_ports::ports::PortResult;

/// A pass of a feature, which `reconcile` runs in each minute in which it is due. One that fails is logged and counted, and the others
/// run all the same.
#[async_trait]
pub(crate) trait ReconcilePass: Send + Sync {
    /// Returns the name by which the report counts what the pass did.
    fn name_in_report(&self) -> &'static str;

    /// Returns the text that is logged if the pass fails.
    fn failure_message(&self) -> &'static str;

    /// Returns `true` if the pass runs in the minute of `now`.
    fn is_due_at(&self, _now: Timestamp) -> bool {
        true
    }

    /// Returns `true` if the pass works on what was read of the installation. Such passes run after the others, and not at all in a
    /// minute in which the reading failed.
    fn works_on_reading(&self) -> bool {
        false
    }

    /// Runs the pass. Returns how much it did.
    async fn run_for_minute(&self, deps: &Deps, minute: &mut PassMinute) -> PortResult<usize>;
}

/// The state that the passes of one minute share.
pub(crate) struct PassMinute {
    /// Time at which `reconcile` began its work of this minute.
    pub(crate) began: Timestamp,
    /// The state of the installation. `None`: it was not read yet, or the reading failed.
    pub(crate) reading: Option<InstallationReading>,
    /// The looks at connections that count now. The sample keeps them.
    pub(crate) looks: Vec<ConnectionLook>,
    /// The sample of the installation that was stored.
    pub(crate) sample: Option<MinuteSample>,
    /// The secrets that entries name and that are not there; `None`: no pass looked for them.
    pub(crate) missing_secrets: Option<Vec<MissingSecret>>,
}

impl PassMinute {
    /// Creates the minute that began at `began`, of which nothing is known yet.
    pub(crate) fn new(began: Timestamp) -> Self {
        Self {
            began,
            reading: None,
            looks: Vec::new(),
            sample: None,
            missing_secrets: None,
        }
    }
}
