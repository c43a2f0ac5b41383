//! One attempt to send a message: it reserves a slot, claims the message, sends the request and stores the outcome.

use super::read_marks::AnsweredMessages;
use super::{
    RETRY_SOON, SendContext, StepResult, attachment, cancel, connection_check, deadline_is_too_near, expiry,
    first_contact, invitation_gate, parking, require_written, service_window, settle, template_check,
    thread_hold, waiting,
};
use crate::Deps;
use crate::steps::beside::run_beside;
use crate::steps::trace_span::TRACE_TARGET;
use crate::steps::verdict::Verdict;
use jiff::{SignedDuration, Timestamp};
use recado_domain::content::Content;
use recado_domain::instance::{ConnectionStatus, InFlightSend, InstanceState};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::options::SendOptions;
use recado_domain::outbox::hash_text;
use recado_domain::rate::{is_long_wait, is_slot_missed};
use recado_ports::deps::capabilities;
use recado_ports::ports::{ClaimGuard, ClaimOutcome, OutgoingMessage, Reservation};
use recado_ports::random_id::generate_nonce;
use tracing::Instrument;

/// Longest wait for a slot inside the function. Queue delays are whole seconds, so for a later slot
/// the send job is retried one second before the slot.
const SLEEP_FOR_SLOT_MAX: SignedDuration = SignedDuration::from_millis(1_500);

pub(super) async fn attempt_send(deps: &Deps, context: SendContext<'_>, mut message: Outgoing) -> StepResult {
    expiry::cancel_if_expired(deps, context, &message).await?;
    invitation_gate::pass_over_held_back(deps, &message)?;
    defer_until_due(deps, &message).await?;
    template_check::check_own_template(deps, context, &message).await?;
    let (slot, state) = reserve_send_slot(deps, context, &mut message).await?;
    let context = SendContext {
        known: Some(&state),
        ..context
    };
    connection_check::check_connection(deps, context, &message, slot).await?;
    first_contact::hold_first_contact(deps, context, &mut message).await?;
    thread_hold::check_thread_hold(deps, context, &message).await?;
    let instead = service_window::check_service_window(deps, context, &message).await?;
    let file = attachment::read_upload(deps, &message).await?;
    if instead.is_none() {
        let retention = &context.bound.tenant.retention;
        attachment::keep_sent_file(deps, retention, &mut message, file.as_ref()).await;
    }
    let now = deps.system().now();
    if deadline_is_too_near(deps, context, now) {
        return Err(RETRY_SOON);
    }
    let permit = invitation_gate::check_permission(deps, context, &message).await?;
    let flight = claim_message(deps, &mut message, instead.as_ref(), now).await?;
    let message = Box::new(check_not_stalled(deps, message, &flight, (slot, permit)).await?);
    let outgoing = attachment::to_outgoing_message(&message);
    let outgoing = match instead {
        Some(template) => OutgoingMessage {
            content: template,
            options: SendOptions::default(),
            ..outgoing
        },
        None => attachment::insert_upload(outgoing, file),
    };
    let answered = AnsweredMessages::from_person_answer(context.bound, &message);
    let sends = Box::pin(async {
        let provider = context.bound.instance.provider.as_str();
        let request = tracing::info_span!(target: TRACE_TARGET, "provider", provider);
        let sent = deps.providers().send_message(context.bound, &outgoing);
        let outcome = sent.instrument(request).await;
        settle::settle_outcome(deps, context, message, &flight, outcome).await
    });
    match answered {
        Some(answered) => run_beside(deps, sends, answered.mark_answered_messages(deps, context.bound)).await,
        None => sends.await,
    }
}

/// Reads the clock again once a message is claimed: after a stall, the send must neither break the rate, nor leave on an old permission
/// (`permit`), nor outlast the lease.
async fn check_not_stalled(
    deps: &Deps,
    message: Outgoing,
    flight: &InFlightSend,
    (slot, permit): (Timestamp, Option<Timestamp>),
) -> StepResult<Outgoing> {
    let now = deps.system().now();
    if is_slot_missed(slot, now) {
        Box::pin(settle::requeue_uncounted(
            deps,
            message,
            flight,
            "its slot went by",
        ))
        .await?;
        return Err(RETRY_SOON);
    }
    if permit.is_some_and(|until| now > until) {
        let why = "whether it may leave was asked too long ago";
        Box::pin(settle::requeue_uncounted(deps, message, flight, why)).await?;
        return Err(RETRY_SOON);
    }
    if add_duration(now, deps.settings().provider_timeout) > flight.until {
        return Err(RETRY_SOON);
    }
    Ok(message)
}

/// Stops a message that must not leave before a later time; the messages behind it wait too. A wait of more than
/// [`parking::PARK_BEYOND`] is parked.
async fn defer_until_due(deps: &Deps, message: &Outgoing) -> StepResult {
    let now = deps.system().now();
    match message.out.not_before {
        Some(at) if at > add_duration(now, parking::PARK_BEYOND) => {
            parking::park_conversation(deps, message, Some(at)).await
        }
        Some(at) if at > now => waiting::wait_unless_void(deps, message, Verdict::retry_at(at, now)).await,
        _ => Ok(()),
    }
}

/// Reserves the slot in which the message may leave, and sleeps until the slot if it is near. Returns the slot and the
/// instance's state. Stops if the instance is not open or the slot is distant.
async fn reserve_send_slot(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
) -> StepResult<(Timestamp, InstanceState)> {
    let now = deps.system().now();
    let instance = &context.bound.instance;
    let rate = instance.resolve_rate(&capabilities(deps, context.bound), deps.settings().rate);
    let held = message.out.usable_slot(now);
    let held = held.filter(|slot| *slot <= rate.latest_plausible_time(now));
    let (slot, state) = if let Some(slot) = held {
        // The slot was reserved in an earlier run: the instance may have closed since.
        let state = deps.store().read_instance_state(&message.instance).await?;
        if state.connection != ConnectionStatus::Open {
            return parking::park_conversation(deps, message, None).await;
        }
        (slot, state)
    } else {
        let reserved = if message.out.yields_slot() {
            let holds_place = message.out.yielded > 0;
            let reserves = deps
                .store()
                .reserve_yielding_slot(&instance.id, rate, holds_place, now);
            reserves.await?
        } else {
            deps.store().reserve_slot(&instance.id, rate, now).await?
        };
        match reserved {
            Reservation::Place(at) => return waiting::yield_to_others(deps, message, at).await,
            Reservation::NotOpen => return parking::park_conversation(deps, message, None).await,
            Reservation::Slot { at, state } => (at, *state),
        }
    };
    let wait = slot.duration_since(now);
    if wait <= SLEEP_FOR_SLOT_MAX {
        if wait.is_positive() {
            deps.system().sleep(wait.unsigned_abs()).await;
        }
        message.out.slot = Some(slot);
        return Ok((slot, state));
    }
    if held.is_none() {
        if is_long_wait(wait, rate) {
            let wait_seconds = wait.as_secs();
            tracing::warn!(instance_id = %instance.id, wait_seconds, "a message waits long for a slot of its instance's rate");
        }
        message.out.record_slot(slot);
        require_written(deps.store().save_open_message(&message.to_record(), None).await?)?;
    }
    if wait > parking::PARK_BEYOND {
        return parking::park_conversation(
            deps,
            message,
            Some(add_duration(slot, -SignedDuration::from_mins(2))),
        )
        .await;
    }
    let verdict = Verdict::retry_at(add_duration(slot, -SignedDuration::from_secs(1)), now);
    waiting::wait_unless_void(deps, message, verdict).await
}

/// Claims the message: marks it as `sending`, stores the in-flight note and returns it. `instead` is the content that is
/// sent in place of the message's own. A reply that is void by now is cancelled.
async fn claim_message(
    deps: &Deps,
    message: &mut Outgoing,
    instead: Option<&Content>,
    now: Timestamp,
) -> StepResult<InFlightSend> {
    let unclaimed = message.clone();
    let (nonce, until) = (
        generate_nonce(deps.system()),
        add_duration(now, deps.settings().send_lease),
    );
    let flight = InFlightSend {
        message: message.message_id(),
        to: message.out.attempt_address().clone(),
        nonce: nonce.clone(),
        claimed_at: now,
        until,
        text_hash: hash_text(&instead.unwrap_or(&message.content_as_sent()).render_echo_text()),
        echo: None,
        maybe_echo: None,
        erased: None,
        is_time_unsure: false,
    };
    let guard = message.out.yields_to_takeover().then(|| ClaimGuard {
        conversation: message.conversation.clone(),
        epoch: message.out.epoch,
    });
    message.out.claim_attempt(nonce, now, until)?;
    if instead.is_some() {
        message.out.explain_last_step(service_window::TEMPLATE_INSTEAD);
    }
    let record = message.to_record();
    let claim = deps.store().claim_message(&record, guard.as_ref(), &flight);
    match claim.await? {
        ClaimOutcome::Claimed => Ok(flight),
        ClaimOutcome::Conflict => Err(RETRY_SOON),
        ClaimOutcome::Stopped => cancel::cancel_void_reply(deps, &unclaimed).await,
    }
}
