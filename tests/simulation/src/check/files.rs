//! A file that its provider gives in the end is stored, and its text read, whatever failed before.

use super::Told;
use crate::simulator::Simulator;
use recado_domain::message::MessageFile;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    if !sim.reconciles {
        return;
    }
    for message in told.iter().flat_map(|(_, messages)| messages) {
        let Some(gap) = message.file.as_ref().and_then(MessageFile::describe_gap) else {
            continue;
        };
        sim.common
            .broken(format!("the file of {} is missing: {gap}", message.message_id()));
    }
}
