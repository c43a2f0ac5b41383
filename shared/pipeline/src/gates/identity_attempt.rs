//! Looks, before a message leaves for its recipient's linked identity, whether that is still needed and allowed.

use crate::hooks::after_commit::{AfterCommit, SendTerms};
use crate::hooks::send_gate::{GateAnswer, SendGate};
use crate::steps::first_contact::{is_first_contact, may_begin_chat, stop_first_contacts};
use crate::steps::give_up::{give_up_message, keep_sent_message};
use crate::steps::sending::{RETRY_SOON, SendContext, Stop};
use async_trait::async_trait;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus};
use recado_domain::message::Outgoing;
use recado_domain::reason::Reason;
use recado_ports::Deps;
use recado_ports::ports::{DeliveryChange, PortResult, WriteOutcome};

/// Promise: the attempt by the linked identity ends before it leaves if WhatsApp or the person told meanwhile that it is not needed, if
/// the instance may begin no chat, or if it is late. The message stays sent then.
///
/// Test: `tests/kit/tests/use_cases/identity_attempts.rs#what_whatsapp_or_the_person_says_before_it_leaves_ends_the_attempt`.
pub(crate) struct IdentityGate;

#[async_trait]
impl SendGate for IdentityGate {
    /// Ends the attempt by the linked identity before it leaves, and stops then. Nothing is read for other messages.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        if !message.out.is_identity_attempt() {
            return Ok(None);
        }
        let instance = &context.bound.instance.id;
        let status = find_first_status(deps, context, message).await?;
        if status == Some(DeliveryStatus::Failed) {
            stop_first_contacts(deps, instance, message).await?;
            let mut failed = message.clone();
            failed.out.close_identity_attempt();
            let given_up = Box::pin(give_up_message(
                deps,
                failed,
                Reason::WhatsappPermanentError,
                None,
            ))
            .await?;
            return Err(if given_up { Stop::Finished } else { RETRY_SOON });
        }
        let why = if status.is_some() {
            "acknowledged meanwhile"
        } else if message.out.is_identity_attempt_late(deps.system().now()) {
            "the attempt by the linked identity came too late"
        } else if !is_first_contact(deps, message).await? {
            "the contact wrote meanwhile"
        } else if may_begin_chat(&deps.store().read_instance_state(instance).await?) {
            return Ok(None);
        } else {
            "the instance may begin no chat now"
        };
        Err(keep_sent(deps, message, why).await?)
    }
}

#[async_trait]
impl AfterCommit for IdentityGate {
    /// Waits no longer for the acknowledgement of the attempt for the number.
    async fn message_was_sent(
        &self,
        deps: &Deps,
        bound: &InstanceConfig,
        message: &Outgoing,
        sent_to: &ContactAddress,
    ) -> PortResult<()> {
        if let Some(key) = find_number_key(bound, message, sent_to) {
            let change = DeliveryChange::StopAwaiting;
            deps.store().change_deliveries(&[key], change).await?;
        }
        Ok(())
    }

    fn set_terms<'a>(
        &self,
        _deps: &'a Deps,
        _bound: &InstanceConfig,
        message: &Outgoing,
        terms: &mut SendTerms<'a>,
    ) {
        if message.out.is_identity_attempt() {
            terms.made_once = Some("no evidence that it was sent to the linked identity");
        }
    }
}

/// Ends the attempt by the linked identity without a request. Returns the stop of the message.
pub(super) async fn keep_sent(deps: &Deps, message: &Outgoing, why: &str) -> PortResult<Stop> {
    let kept = keep_sent_message(deps, message, None, why.to_owned()).await?;
    Ok(match kept {
        WriteOutcome::Written => Stop::Finished,
        WriteOutcome::Conflict => RETRY_SOON,
    })
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

/// Returns the key of the attempt for the number, if `message` was sent to the linked identity under another id.
fn find_number_key(
    bound: &InstanceConfig,
    message: &Outgoing,
    sent_to: &ContactAddress,
) -> Option<DeliveryKey> {
    let attempt = message.out.identity_attempt.as_ref();
    let before = attempt
        .filter(|attempt| attempt.to == *sent_to)?
        .before
        .as_ref()?;
    let external = bound.instance.resolve_external_id()?;
    let is_other = message.provider_message_id.as_ref() != Some(before);
    is_other.then(|| DeliveryKey::from_provider_id(bound.instance.provider, &external, before))
}
