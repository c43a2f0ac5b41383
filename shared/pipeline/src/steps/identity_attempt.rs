//! The attempt by a linked identity: when it may be made, and how it ends without having arrived.

use crate::Deps;
use recado_domain::instance::{ConnectionStatus, InFlightSend, InstanceState};
use recado_domain::message::Outgoing;
use recado_ports::ports::{PortResult, WriteOutcome};

/// Returns `true` if an instance may begin a chat as far as its state tells: it is open, works, and first contacts are not stopped.
pub(crate) fn may_begin_chat(state: &InstanceState) -> bool {
    state.connection == ConnectionStatus::Open
        && state.refusal().is_none()
        && state.inactive_since().is_none()
        && state.first_contacts_from.is_none()
}

/// Ends the attempt by the linked identity: the message counts as sent by the attempt for the number. `landed` is the note of an attempt
/// whose outcome is known.
pub(crate) async fn keep_sent_message(
    deps: &Deps,
    message: &Outgoing,
    landed: Option<&InFlightSend>,
    why: String,
) -> PortResult<WriteOutcome> {
    let mut kept = message.clone();
    if kept.out.keep_sent(deps.system().now(), why.clone()).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    let record = kept.into_record();
    let written = deps.store().settle_message(&record, landed, None, None).await?;
    if written == WriteOutcome::Written {
        tracing::info!(
            ordinal = message.ordinal.0,
            why,
            "nothing arrived by the linked identity: it counts as sent to the number"
        );
    }
    Ok(written)
}
