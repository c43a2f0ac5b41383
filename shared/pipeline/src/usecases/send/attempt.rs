//! One attempt to send a message: it reserves a slot, claims the message, sends the request and stores the outcome.

use super::{
    RETRY_SOON, SendContext, SendStep, attachment, cancel, connection_check, parking, service_window, settle,
    waiting,
};
use crate::Deps;
use crate::ports::{
    ClaimGuard, ClaimOutcome, InstanceStates, OutboxStore, OutgoingMessage, PortResult, Providers,
    Reservation, System, WriteOutcome,
};
use crate::steps::random_id::generate_nonce;
use crate::steps::verdict::Verdict;
use jiff::Timestamp;
use recado_domain::content::Content;
use recado_domain::instance::{ConnectionStatus, InFlightSend, InstanceState};
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::outbox::{Author, Outbox, hash_text};
use recado_domain::rate::is_slot_missed;
use std::time::Duration;

/// Longest wait for a slot inside the function, in milliseconds. Queue delays are whole seconds, so for a later slot
/// the send job is retried one second before the slot.
const SLEEP_FOR_SLOT_MAX_MS: i64 = 1_500;

/// Waits longer than this, in milliseconds, are parked and not left in the queue. A queue can hide a message for
/// longer, but messages with distant slots must not use up a function's concurrency.
pub(super) const PARK_BEYOND_MS: i64 = 15 * 60_000;

pub(super) async fn attempt_send<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    mut message: Message,
) -> PortResult<SendStep> {
    if let Some(step) = defer_until_due(deps, &message).await? {
        return Ok(step);
    }
    let (slot, state) = match reserve_send_slot(deps, context, &mut message).await? {
        Ok(found) => found,
        Err(step) => return Ok(step),
    };
    let context = SendContext {
        known: Some(&state),
        ..context
    };
    if let Some(step) = connection_check::check_connection(deps, context, &message, slot).await? {
        return Ok(step);
    }
    let instead = match service_window::check_service_window(deps, context, &message).await? {
        Ok(instead) => instead,
        Err(step) => return Ok(step),
    };
    let file = attachment::read_upload(deps, &message).await?;
    let now = deps.system().now();
    if deadline_is_too_near(deps, context, now) {
        return Ok(RETRY_SOON);
    }
    let unclaimed = message.clone();
    let Some((flight, guard)) = prepare_claim(deps, &mut message, instead.as_ref(), now) else {
        return Ok(RETRY_SOON);
    };
    match deps
        .store()
        .claim_message(&message, guard.as_ref(), &flight)
        .await?
    {
        ClaimOutcome::Conflict => return Ok(RETRY_SOON),
        ClaimOutcome::Stopped => return cancel::cancel_void_reply(deps, &unclaimed).await,
        ClaimOutcome::Claimed => {}
    }
    // The clock is read again: after a stall, the send must neither break the rate nor outlast the lease.
    let now = deps.system().now();
    if is_slot_missed(slot, now) {
        return settle::requeue_uncounted(deps, message, &flight, "its slot went by").await;
    }
    if add_millis(now, provider_timeout_ms(deps)) > flight.until {
        return Ok(RETRY_SOON);
    }
    let Some(outgoing) = to_outgoing_message(&message) else {
        return Ok(SendStep::Next);
    };
    let outgoing = match instead {
        Some(template) => OutgoingMessage {
            content: template,
            options: SendOptions::default(),
            ..outgoing
        },
        None => attachment::insert_upload(outgoing, file),
    };
    let outcome = deps.providers().send_message(context.bound, &outgoing).await;
    settle::settle_outcome(deps, context, message, &flight, outcome).await
}

fn provider_timeout_ms<W: Deps>(deps: &W) -> i64 {
    i64::try_from(deps.settings().provider_timeout.as_millis()).unwrap_or(i64::MAX)
}

/// Returns `true` if the function would end before the provider's answer could be stored. The time that is needed is
/// the provider's time-out and 5 seconds.
pub(super) fn deadline_is_too_near<W: Deps>(deps: &W, context: SendContext<'_>, now: Timestamp) -> bool {
    let need = provider_timeout_ms(deps).saturating_add(5_000);
    context
        .deadline
        .is_some_and(|deadline| add_millis(now, need) > deadline)
}

/// Builds the message that the provider is given; `None` if the message is not an outgoing message.
pub(super) fn to_outgoing_message(message: &Message) -> Option<OutgoingMessage> {
    let to = message.recipient()?.clone();
    Some(OutgoingMessage {
        id: message.message_id(),
        to,
        content: message.content.clone(),
        options: message
            .out
            .as_ref()
            .map(|out| out.options.clone())
            .unwrap_or_default(),
        attempt: message.out.as_ref().map_or(1, |out| out.attempts.max(1)),
    })
}

/// Defers a message that must not leave before a later time; the messages behind it wait too. A wait of more than
/// [`PARK_BEYOND_MS`] is parked. Returns `None` if the message may leave now.
async fn defer_until_due<W: Deps>(deps: &W, message: &Message) -> PortResult<Option<SendStep>> {
    let now = deps.system().now();
    let not_before = message
        .out
        .as_ref()
        .and_then(|out| out.not_before)
        .filter(|at| *at > now);
    match not_before {
        None => Ok(None),
        Some(at) if at > add_millis(now, PARK_BEYOND_MS) => {
            parking::park_conversation(deps, message, Some(at))
                .await
                .map(Some)
        }
        Some(at) => waiting::wait_unless_void(deps, message, Verdict::retry_at(at, now))
            .await
            .map(Some),
    }
}

/// Reserves the slot in which the message may leave, and sleeps until the slot if it is near. Returns the slot and the
/// instance's state. If the instance is not open or the slot is distant, returns the step that was taken instead.
async fn reserve_send_slot<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    message: &mut Message,
) -> PortResult<Result<(Timestamp, InstanceState), SendStep>> {
    let now = deps.system().now();
    let instance = &context.bound.instance;
    let traits = deps.providers().capabilities(instance.provider);
    let rate = instance.resolve_rate(&traits, deps.settings().rate);
    let held = message.out.as_ref().and_then(|out| out.usable_slot(now));
    let held = held.filter(|slot| *slot <= rate.latest_plausible_time(now));
    let (slot, state) = if let Some(slot) = held {
        // The slot was reserved in an earlier run: the instance may have closed since.
        let state = deps.store().read_instance_state(&message.instance).await?;
        if state.connection != ConnectionStatus::Open {
            return parking::park_conversation(deps, message, None).await.map(Err);
        }
        (slot, state)
    } else {
        match deps.store().reserve_slot(&instance.id, rate, now).await? {
            Reservation::NotOpen => return parking::park_conversation(deps, message, None).await.map(Err),
            Reservation::Slot { at, state } => (at, *state),
        }
    };
    let wait = slot.as_millisecond() - now.as_millisecond();
    if wait <= SLEEP_FOR_SLOT_MAX_MS {
        if wait > 0 {
            deps.system()
                .sleep(Duration::from_millis(wait.unsigned_abs()))
                .await;
        }
        if let Some(out) = message.out.as_mut() {
            out.slot = Some(slot);
        }
        return Ok(Ok((slot, state)));
    }
    if held.is_none() {
        let Some(out) = message.out.as_mut() else {
            return Ok(Err(SendStep::Next));
        };
        out.record_slot(slot);
        if deps.store().save_open_message(message, None).await? == WriteOutcome::Conflict {
            return Ok(Err(RETRY_SOON));
        }
    }
    if wait > PARK_BEYOND_MS {
        return parking::park_conversation(deps, message, Some(add_millis(slot, -120_000)))
            .await
            .map(Err);
    }
    let verdict = Verdict::retry_at(add_millis(slot, -1_000), now);
    waiting::wait_unless_void(deps, message, verdict).await.map(Err)
}

/// Marks the message as `sending` in memory, and builds the in-flight note and the guard of its claim. `instead` is the
/// content that is sent in place of the message's own. Returns `None` if the message cannot be claimed.
fn prepare_claim<W: Deps>(
    deps: &W,
    message: &mut Message,
    instead: Option<&Content>,
    now: Timestamp,
) -> Option<(InFlightSend, Option<ClaimGuard>)> {
    let lease = i64::try_from(deps.settings().send_lease.as_millis()).unwrap_or(i64::MAX);
    let (nonce, until) = (generate_nonce(deps.system()), add_millis(now, lease));
    let flight = InFlightSend {
        message: message.message_id(),
        to: message.recipient()?.clone(),
        nonce: nonce.clone(),
        claimed_at: now,
        until,
        text_hash: hash_text(&instead.unwrap_or(&message.content).render_echo_text()),
        echo: None,
        maybe_echo: None,
    };
    let conversation = message.conversation.clone();
    let out: &mut Outbox = message.out.as_mut()?;
    let guard = (out.author == Author::Ai).then_some(ClaimGuard {
        conversation,
        epoch: out.epoch,
    });
    out.claim_attempt(nonce, now, until).ok()?;
    if instead.is_some() {
        out.explain_last_step(service_window::TEMPLATE_INSTEAD);
    }
    Some((flight, guard))
}
