//! Holds messages that the state of the instance does not let go, or that of the contact's thread. The instance's may be out of date, or
//! WhatsApp lets the number begin no chats: each try at a first contact would prolong that. The thread may be with another program, for
//! example with Meta's own agent: the provider gives it to whoever sends a message that is no template.

use crate::Deps;
use crate::hooks::after_commit::AfterCommit;
use crate::hooks::send_gate::{GateAnswer, SendGate};
use crate::steps::connection::{end_trial, record_closed, record_refusal};
use crate::steps::first_contact::is_first_contact;
use crate::steps::linked_threads::find_latest_conversation;
use crate::steps::sending::{RETRY_SOON, SendContext, Stop};
use crate::steps::verdict::Verdict;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::rate::is_slot_missed;
use recado_domain::reason::Reason;
use recado_domain::service_window::bypasses_window;
use recado_ports::ports::{ConnectionAnswer, PortResult};

/// Wait of a worker that finds another worker asking the provider.
const OTHER_CHECK_WAIT: SignedDuration = SignedDuration::from_secs(2);

/// Age from which, after a time-out, a confirmation that the instance is open no longer counts.
const SUSPECT_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// Maximum age of a reply at which it still shows that the model's key works.
const KEY_PROVEN_WITHIN: SignedDuration = SignedDuration::from_mins(1);

/// Promise: nothing leaves on the word of an old state of a linked device, and a message that timed out is not sent again unasked.
///
/// Test: `tests/kit/tests/use_cases/main.rs#an_instance_in_use_is_not_asked_and_one_that_rested_is_asked_once`.
#[derive(Debug)]
pub struct ConnectionGate;

#[async_trait]
impl SendGate for ConnectionGate {
    /// Asks the provider whether the instance is open, if no recent answer or send confirmed that. Also asks before a
    /// message is sent again after its own time-out. Only one worker asks at a time. Stops if the message cannot be sent
    /// now.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let Some(known) = context.known else {
            return Ok(None);
        };
        let suspect = is_suspect_after_timeout(known, message).then_some(SUSPECT_AFTER);
        let Some(after) = [suspect, staleness_limit(deps, context)]
            .into_iter()
            .flatten()
            .min()
        else {
            return Ok(None);
        };
        let now = deps.system().now();
        if !known.is_stale(now, after) {
            return Ok(None);
        }
        if context.last_start.is_some_and(|last| now > last) {
            return Err(RETRY_SOON);
        }
        let instance = &context.bound.instance.id;
        let claim = InstanceChange::ClaimCheck {
            now,
            before: add_duration(now, -after),
        };
        if !deps
            .store()
            .change_instance_state(instance, known, &claim)
            .await?
            .done
        {
            let after = OTHER_CHECK_WAIT;
            return Err(Stop::Wait(Verdict::Retry { after }));
        }
        let (connection, asked_at) = match deps.providers().query_connection(context.bound).await {
            // After a time-out, an unclear answer counts as a second time-out.
            ConnectionAnswer::Unreachable | ConnectionAnswer::Unclear if suspect.is_some() => {
                (ConnectionStatus::Closed, None)
            }
            // An unclear answer does not change the stored connection state. The time of the check is stored, so that it is
            // not repeated at once.
            ConnectionAnswer::Open | ConnectionAnswer::Unreachable | ConnectionAnswer::Unclear => {
                // The check may have taken so long that the slot was missed.
                let missed = message
                    .out
                    .slot
                    .is_some_and(|slot| is_slot_missed(slot, deps.system().now()));
                return if missed { Err(RETRY_SOON) } else { Ok(None) };
            }
            ConnectionAnswer::Closed => (ConnectionStatus::Closed, Some(now)),
            ConnectionAnswer::Refused(why) => {
                record_refusal(deps, instance, Some(&message.conversation), (why, true)).await?;
                return Err(Stop::Park(None));
            }
            ConnectionAnswer::NeedsCredentials => (ConnectionStatus::NeedsCredentials, Some(now)),
        };
        record_closed(deps, instance, connection, asked_at).await?;
        Err(Stop::Park(None))
    }
}

#[async_trait]
impl AfterCommit for ConnectionGate {
    /// Stores what an accepted send shows about the instance and the model's key. Earlier time-outs were not in a row, the
    /// instance is open, and the model's key works. Each fact is written only if the state that was read with the slot
    /// differs, so usually nothing is written. The send shows nothing about changes after `began_at`.
    async fn attempt_was_accepted(
        &self,
        deps: &Deps,
        context: SendContext<'_>,
        message: &Outgoing,
        began_at: Timestamp,
    ) -> PortResult<()> {
        let Some(known) = context.known else { return Ok(()) };
        let (instance, now) = (&context.bound.instance.id, deps.system().now());
        let mut changes = Vec::new();
        if known.timeouts > 0 {
            changes.push(InstanceChange::ResetTimeouts);
        }
        if staleness_limit(deps, context).is_some_and(|after| known.is_stale(now, after / 2)) {
            changes.push(InstanceChange::Confirm(began_at));
        }
        if known.refusals.is_some() {
            changes.push(InstanceChange::ForgetRefusals);
        }
        let fresh = message.model.is_some() && add_duration(message.stored_at, KEY_PROVEN_WITHIN) > now;
        if known.llm_needs_credentials && fresh {
            changes.push(InstanceChange::ModelKeyMissing(false));
        }
        if known.model_failures.is_some() && fresh {
            changes.push(InstanceChange::ModelAnswered);
        }
        let was_on_trial = known.is_on_trial();
        let mut known = known.clone();
        for change in &changes {
            known = deps
                .store()
                .change_instance_state(instance, &known, change)
                .await?
                .state;
        }
        if was_on_trial {
            end_trial(deps, instance).await?;
        }
        Ok(())
    }
}

/// Returns the age from which the known state must be confirmed. `None` if the state does not age: the
/// setting is 0, or the provider is not a linked device. Meta's numbers have no connection that could be lost
/// unnoticed: a refused token is reported at once.
fn staleness_limit(deps: &Deps, context: SendContext<'_>) -> Option<SignedDuration> {
    let limit = deps.settings().connection_stale;
    let linked = context.capabilities.is_linked_device;
    (linked && limit.is_positive()).then_some(limit)
}

/// Returns `true` if the instance's newest time-out is that of this message. The instance may hang at this message
/// only.
fn is_suspect_after_timeout(known: &InstanceState, message: &Outgoing) -> bool {
    known.timed_out.as_ref() == Some(&message.message_id())
}

/// Promise: after a refused first contact no other one leaves until the stop is over, and then one message is tried before the others.
///
/// Test: `tests/kit/tests/use_cases/refusals.rs#after_a_refused_first_contact_no_other_leaves_for_six_hours_and_replies_do`.
#[derive(Debug)]
pub struct FirstContactGate;

#[async_trait]
impl SendGate for FirstContactGate {
    /// Parks a message to a person who never wrote, while first contacts of the instance are stopped. Messages to people who wrote go on:
    /// whether this one did is read only while the stop lasts. After its end one message is tried, and the others follow if it was not
    /// refused.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let Some(known) = context.known else {
            return Ok(None);
        };
        let Some(until) = known.first_contacts_from else {
            return Ok(None);
        };
        if !is_first_contact(deps, message).await? {
            return Ok(None);
        }
        let instance = &context.bound.instance.id;
        let now = deps.system().now();
        if until <= now {
            let tries = InstanceChange::TryFirstContact { until, now };
            let changed = deps
                .store()
                .change_instance_state(instance, known, &tries)
                .await?;
            return if changed.done { Ok(None) } else { Err(RETRY_SOON) };
        }
        // Not `not_before`: once the person writes, the message goes on at once, before what answers the person.
        Err(Stop::Postpone(until))
    }
}

/// Promise: a message takes a contact's thread from another program only if a person or the setting `takes_threads` says so.
///
/// Test: `tests/kit/tests/use_cases/other_agents.rs#only_a_person_or_the_setting_takes_the_thread`.
#[derive(Debug)]
pub struct ThreadHoldGate;

#[async_trait]
impl SendGate for ThreadHoldGate {
    /// Gives the message up if it would take the thread from another program, and no person said that it should. A person's answer says so,
    /// the redrive of a dead letter, and `takes_threads` of the instance. A reply of the agent is void then, and is not looked at here. The
    /// conversation is read only for a number of which another program was ever seen.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let was_seen = context.known.is_some_and(|known| known.other_agent_at.is_some());
        let is_free = context.bound.instance.takes_threads || bypasses_window(&message.content);
        let has_routing = context.capabilities.has_service_window;
        if !was_seen
            || is_free
            || !has_routing
            || message.out.yields_to_takeover()
            || message.is_persons_word()
        {
            return Ok(None);
        }
        let thread = message.conversation.thread_id().clone();
        let (_, latest) = find_latest_conversation(deps, thread).await?;
        let now = deps.system().now();
        let Some(holder) = latest.as_ref().and_then(|latest| latest.thread_holder(now)) else {
            return Ok(None);
        };
        let why = format!("the thread is held by {holder}, and this message would take it");
        Err(Stop::GiveUp(Reason::HeldElsewhere, Some(why)))
    }
}
