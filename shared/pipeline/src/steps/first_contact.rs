//! First contacts: messages to people who never wrote to the instance, and whether it may begin a chat with them.

use crate::Deps;
use crate::steps::enabled_instance::change_unread_state;
use crate::steps::linked_threads::find_latest_conversation;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, FIRST_CONTACTS_STOP, InstanceChange, InstanceState};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_ports::ports::PortResult;

/// Returns `true` if a message goes to a person who never wrote.
pub async fn is_first_contact(deps: &Deps, message: &Outgoing) -> PortResult<bool> {
    if message.out.follows_contact() {
        return Ok(false);
    }
    let thread = message.conversation.thread_id().clone();
    let (_, latest) = Box::pin(find_latest_conversation(deps, thread)).await?;
    Ok(latest.is_none_or(|latest| !latest.has_contact_written()))
}

/// Returns `true` if an instance may begin a chat as far as its state tells: it is open, works, and first contacts are not stopped.
pub fn may_begin_chat(state: &InstanceState) -> bool {
    state.connection == ConnectionStatus::Open
        && state.refusal().is_none()
        && state.inactive_since().is_none()
        && state.first_contacts_from.is_none()
}

/// Stops the instance's first contacts for [`FIRST_CONTACTS_STOP`], if the refused message was one.
pub async fn stop_first_contacts(deps: &Deps, instance: &InstanceId, refused: &Outgoing) -> PortResult<()> {
    if !is_first_contact(deps, refused).await? {
        return Ok(());
    }
    let until = add_duration(deps.system().now(), FIRST_CONTACTS_STOP);
    change_unread_state(deps, instance, &InstanceChange::StopFirstContacts(until)).await?;
    tracing::error!(
        instance_id = %instance, event = "first_contacts_stopped", %until,
        "WhatsApp refused a message to a person who never wrote: no other goes out until then"
    );
    Ok(())
}
