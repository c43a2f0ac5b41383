//! Looks, before a message leaves for its recipient's linked identity, whether that is still needed and allowed.

use super::{SendContext, StepResult, Stop, give_up, require_written};
use crate::Deps;
use crate::steps::first_contact::{is_first_contact, stop_first_contacts};
use crate::steps::identity_attempt::{keep_sent_message, may_begin_chat};
use recado_domain::delivery::{DeliveryKey, DeliveryStatus};
use recado_domain::message::Outgoing;
use recado_domain::reason::Reason;
use recado_ports::ports::PortResult;

/// Ends the attempt by the linked identity before it leaves, and stops then: WhatsApp told of the attempt for the number meanwhile, the
/// person wrote, the instance may begin no chat, or the attempt is late. Nothing is read for other messages.
pub(super) async fn check_identity_attempt(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> StepResult {
    if !message.out.is_identity_attempt() {
        return Ok(());
    }
    let instance = &context.bound.instance.id;
    let status = find_first_status(deps, context, message).await?;
    if status == Some(DeliveryStatus::Failed) {
        stop_first_contacts(deps, instance, message).await?;
        let mut failed = message.clone();
        failed.out.close_identity_attempt();
        give_up(deps, failed, Reason::WhatsappPermanentError, None).await?;
        return Err(Stop::Finished);
    }
    let why = if status.is_some() {
        "acknowledged meanwhile"
    } else if message.out.is_identity_attempt_late(deps.system().now()) {
        "the attempt by the linked identity came too late"
    } else if !is_first_contact(deps, message).await? {
        "the contact wrote meanwhile"
    } else if may_begin_chat(&deps.store().read_instance_state(instance).await?) {
        return Ok(());
    } else {
        "the instance may begin no chat now"
    };
    keep_sent(deps, message, why).await
}

/// Ends the attempt by the linked identity without a request. Always returns a [`Stop`].
pub(super) async fn keep_sent<T>(deps: &Deps, message: &Outgoing, why: &str) -> StepResult<T> {
    require_written(keep_sent_message(deps, message, None, why.to_owned()).await?)?;
    Err(Stop::Finished)
}

/// Returns what WhatsApp told of the attempt for the number; `None` if it told nothing.
async fn find_first_status(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> PortResult<Option<DeliveryStatus>> {
    let instance = &context.bound.instance;
    let (Some(external), Some(id)) = (instance.resolve_external_id(), &message.provider_message_id) else {
        return Ok(None);
    };
    let key = DeliveryKey::from_provider_id(instance.provider, &external, id);
    let delivery = deps.store().find_delivery(&key).await?;
    Ok(delivery.and_then(|delivery| delivery.status))
}
