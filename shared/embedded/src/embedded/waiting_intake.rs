//! Events that were acknowledged and are not in the database yet.

use super::{DatabaseAccess, Embedded};
use crate::intake_log::IntakeLog;
use recado_ports::ports::PortResult;

impl Embedded {
    /// Returns the log that takes new events in; `None` where there are no threads.
    pub(crate) fn intake_log(&self) -> Option<&IntakeLog> {
        match &self.inner.access {
            DatabaseAccess::Threads { intake, .. } => Some(intake),
            DatabaseAccess::Inline(_) => None,
        }
    }

    /// Returns whether acknowledged events are not in the database yet.
    pub(crate) fn has_waiting_intake(&self) -> bool {
        self.intake_log().is_some_and(IntakeLog::has_waiting)
    }

    /// Waits until the events that were acknowledged by now are in the database.
    pub(crate) async fn wait_for_intake(&self, what: &'static str) -> PortResult<()> {
        let Some(log) = self.intake_log() else {
            return Ok(());
        };
        let moved = log.wait_until_moved().await;
        moved.map_err(|fault| fault.into_port_error(what))
    }
}
