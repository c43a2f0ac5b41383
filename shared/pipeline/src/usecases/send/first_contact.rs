//! Holds messages to people who never wrote back while WhatsApp lets the number begin no chats: each try would prolong that.

use super::{RETRY_SOON, SendContext, StepResult, parking, require_written};
use crate::Deps;
use crate::steps::first_contact::is_first_contact;
use recado_domain::instance::InstanceChange;
use recado_domain::message::Outgoing;
/// Parks a message to a person who never wrote, while first contacts of the instance are stopped. Messages to people who wrote go on:
/// whether this one did is read only while the stop lasts. After its end one message is tried, and the others follow if it was not
/// refused.
pub(super) async fn hold_first_contact(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
) -> StepResult {
    let Some(known) = context.known else {
        return Ok(());
    };
    let Some(until) = known.first_contacts_from else {
        return Ok(());
    };
    if !is_first_contact(deps, message).await? {
        return Ok(());
    }
    let instance = &context.bound.instance.id;
    let now = deps.system().now();
    if until <= now {
        let tries = InstanceChange::TryFirstContact { until, now };
        let changed = deps
            .store()
            .change_instance_state(instance, known, &tries)
            .await?;
        return if changed.done { Ok(()) } else { Err(RETRY_SOON) };
    }
    // Not `not_before`: once the person writes, the message goes on at once, before what answers the person.
    message.out.postpone_overdue(until).map_err(|_| RETRY_SOON)?;
    require_written(deps.store().save_open_message(&message.to_record(), None).await?)?;
    parking::park_conversation(deps, message, Some(until)).await
}
