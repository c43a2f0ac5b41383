//! One attempt: a slot, a claim, a request, an outcome.

use super::{
    RETRY_SOON, SendContext, SendStep, attachment, cancel, connection_check, parking, service_window, settle,
    waiting,
};
use crate::Deps;
use crate::ports::{
    ClaimGuard, ClaimOutcome, InstanceStates, OutboxStore, OutgoingMessage, PortResult, Providers,
    Reservation, System, WriteOutcome,
};
use crate::random_id::generate_nonce;
use crate::verdict::Verdict;
use jiff::Timestamp;
use recado_domain::content::Content;
use recado_domain::instance::{ConnectionStatus, InFlightSend, InstanceState};
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::outbox::{Author, Outbox, hash_text};
use recado_domain::rate::is_slot_missed;
use std::time::Duration;

/// A slot this near is waited for in the function; queues keep whole seconds, so a kick comes back one early.
const SLEEP_FOR_SLOT_MAX_MS: i64 = 1_500;

/// Queues hide a message for long, but a function's concurrency must not fill with distant slots.
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
    // The clock again: a stall here must neither break the rate nor outlive the lease.
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

/// How long the provider may take to answer, in milliseconds.
fn provider_timeout_ms<W: Deps>(deps: &W) -> i64 {
    i64::try_from(deps.settings().provider_timeout.as_millis()).unwrap_or(i64::MAX)
}

/// Whether the function would end before a request to the provider is answered and the answer stored.
pub(super) fn deadline_is_too_near<W: Deps>(deps: &W, context: SendContext<'_>, now: Timestamp) -> bool {
    let need = provider_timeout_ms(deps).saturating_add(5_000);
    context
        .deadline
        .is_some_and(|deadline| add_millis(now, need) > deadline)
}

/// What the provider is given; `None` for a message that does not go out.
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

/// A message that waits for a time keeps everything behind it waiting too.
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

/// The slot in which the message may leave, reserved and waited for; or what to do instead.
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
        // Reserved before: the instance may have closed since.
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

/// Makes the message `sending` in memory, with what its claim needs. `instead`: what goes out in its place.
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
