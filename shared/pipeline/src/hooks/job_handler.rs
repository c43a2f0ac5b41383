//! The hook for the jobs of features on the queues `turns` and `outbound`.

use crate::Deps;
use crate::steps::verdict::Verdict;
use futures::future::BoxFuture;
use jiff::Timestamp;
use recado_domain::wake_up::{OutboundJob, TurnsJob};
use recado_ports::ports::{EmailSenders, PortResult};

/// Does the jobs of a feature. `receives` is how often the queue has delivered the job.
pub trait JobHandler: Send + Sync {
    /// Returns the work on a job of `turns`; `None` if it is none of this feature's.
    fn handle_turns_job<'a>(
        &self,
        _deps: &'a Deps,
        _job: &'a TurnsJob,
        _receives: u32,
    ) -> Option<BoxFuture<'a, PortResult<Verdict>>> {
        None
    }

    /// Returns the work on a job of `outbound`; `None` if it is none of this feature's. No attempt begins that may not end before
    /// `deadline`.
    fn handle_outbound_job<'a>(
        &self,
        _deps: &'a Deps,
        _carriers: &'a dyn EmailSenders,
        _job: &'a OutboundJob,
        _receives: u32,
        _deadline: Option<Timestamp>,
    ) -> Option<BoxFuture<'a, Verdict>> {
        None
    }
}
