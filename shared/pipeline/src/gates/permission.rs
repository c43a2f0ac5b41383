//! Asks whether a message may still leave, and whether now. It waits until it is due, and is cancelled once what it says is over. An
//! attempt by the recipient's linked identity may not be needed any more.

use crate::Deps;
use crate::hooks::after_commit::{AfterCommit, SendTerms};
use crate::hooks::send_gate::{GateAnswer, SendGate};
use crate::steps::first_contact::{is_first_contact, may_begin_chat, stop_first_contacts};
use crate::steps::give_up::{find_finished_send, give_up_message};
use crate::steps::sending::{PARK_BEYOND, RETRY_SOON, SendContext, Stop};
use crate::steps::verdict::Verdict;
use async_trait::async_trait;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus};
use recado_domain::invitations::BATCH_PERMIT;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_ports::ports::{DeliveryChange, PortResult, WriteOutcome};

/// Promise: a message with an end does not leave after it. Other messages do not wait for it in another group either.
///
/// Test: `tests/kit/tests/use_cases/openings.rs#what_could_not_leave_before_the_opening_is_cancelled`.
#[derive(Debug)]
pub struct ExpiryGate;

#[async_trait]
impl SendGate for ExpiryGate {
    async fn check(&self, deps: &Deps, _context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let Some(end) = message.out.expires_at else {
            return Ok(None);
        };
        let now = deps.system().now();
        if end <= now && message.out.state == OutboxState::Queued {
            return Err(Stop::Cancel(Reason::Expired));
        }
        Ok(Some(add_duration(now, BATCH_PERMIT)))
    }
}

/// Promise: a message leaves not before its time, and neither do those behind it.
///
/// Test: `tests/kit/tests/use_cases/waiting.rs#a_retry_waits_and_the_fifth_failure_is_the_last`.
#[derive(Debug)]
pub struct DueGate;

#[async_trait]
impl SendGate for DueGate {
    /// A wait of more than [`PARK_BEYOND`] is parked.
    async fn check(&self, deps: &Deps, _context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let now = deps.system().now();
        match message.out.not_before {
            Some(at) if at > add_duration(now, PARK_BEYOND) => Err(Stop::Park(Some(at))),
            Some(at) if at > now => Err(Stop::Wait(Verdict::retry_at(at, now))),
            _ => Ok(None),
        }
    }
}

/// Promise: nothing else to a contact waits for an invitation that is held back. `reconcile` comes back to it.
///
/// Test: `tests/kit/tests/use_cases/invitation_rules.rs#a_reply_leaves_while_an_invitation_to_its_contact_is_held_back`.
#[derive(Debug)]
pub struct HeldBackGate;

#[async_trait]
impl SendGate for HeldBackGate {
    async fn check(&self, deps: &Deps, _context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let is_queued = message.out.state == OutboxState::Queued;
        if is_queued && message.out.is_held_back(deps.system().now()) {
            return Err(Stop::Finished);
        }
        Ok(None)
    }
}

/// Promise: the attempt by the linked identity ends before it leaves if WhatsApp or the person told meanwhile that it is not needed, if
/// the instance may begin no chat, or if it is late. The message stays sent then.
///
/// Test: `tests/kit/tests/use_cases/identity_attempts.rs#what_whatsapp_or_the_person_says_before_it_leaves_ends_the_attempt`.
#[derive(Debug)]
pub struct IdentityGate;

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

    /// Ends the attempt alone: the message was sent to the number, and stays so.
    async fn end_unsent_message(
        &self,
        deps: &Deps,
        message: &Outgoing,
        why: &str,
    ) -> PortResult<Option<WriteOutcome>> {
        if !message.out.is_identity_attempt() {
            return Ok(None);
        }
        keep_sent_message(deps, message, why).await.map(Some)
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
pub async fn keep_sent(deps: &Deps, message: &Outgoing, why: &str) -> PortResult<Stop> {
    let kept = keep_sent_message(deps, message, why).await?;
    Ok(match kept {
        WriteOutcome::Written => Stop::Finished,
        WriteOutcome::Conflict => RETRY_SOON,
    })
}

/// Ends the attempt by the linked identity: the message counts as sent by the attempt for the number.
async fn keep_sent_message(deps: &Deps, message: &Outgoing, why: &str) -> PortResult<WriteOutcome> {
    let finished_send = find_finished_send(message);
    let mut kept = message.clone();
    if kept.out.keep_sent(deps.system().now(), why.to_owned()).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    let record = kept.into_record();
    let settles = deps
        .store()
        .settle_message(&record, finished_send.as_ref(), None, None);
    let written = settles.await?;
    if written == WriteOutcome::Written {
        tracing::info!(
            ordinal = message.ordinal.0,
            why,
            "nothing arrived by the linked identity: it counts as sent to the number"
        );
    }
    Ok(written)
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
