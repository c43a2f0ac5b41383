//! One attempt to send a message: it reserves a slot, claims the message, sends the request and stores the outcome.

use crate::Deps;
use crate::hooks::send_form::{MessageForm, Replacement};
use crate::hooks::send_gate::SendMoment;
use crate::steps::beside::run_beside;
use crate::steps::first_attempt::{FirstAttempt, ask_gates};
use crate::steps::outgoing::to_outgoing_message;
use crate::steps::sending::{
    PARK_BEYOND, RETRY_SOON, SendContext, StepResult, Stop, begin_attempt, find_last_start, warn_of_long_wait,
};
use crate::steps::trace_span::TRACE_TARGET;
use crate::steps::verdict::Verdict;
use crate::usecases::send::stopped::carry_out;
use crate::usecases::send::{Handled, settle, unknown_outcome};
use futures::future::{BoxFuture, join_all};
use jiff::{SignedDuration, Timestamp};
use recado_domain::instance::{ConnectionStatus, InFlightSend, InstanceState};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::options::SendOptions;
use recado_domain::rate::is_slot_missed;
use recado_ports::ports::{
    ClaimGuard, ClaimOutcome, OutgoingMessage, PortResult, Reservation, SlotTurn, WriteOutcome,
};
use std::borrow::Cow;
use tracing::Instrument;

/// Longest wait for a slot inside the function. Queue delays are whole seconds, so for a later slot
/// the send job is retried one second before the slot.
const SLEEP_FOR_SLOT_MAX: SignedDuration = SignedDuration::from_millis(1_500);

/// Makes one attempt at a queued message, if its time has come and no gate stops it. The message is claimed before the request, so that
/// no other worker sends it too.
pub(super) async fn attempt_send(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
) -> StepResult<Handled> {
    ask_gates(deps, context, message, SendMoment::Queued).await?;
    if message.out.maybe_sent
        && let Some(settled) = unknown_outcome::settle_if_already_sent(deps, context, message).await?
    {
        return Ok(settled);
    }
    ask_gates(deps, context, message, SendMoment::BeforeSlot).await?;
    let (slot, state) = reserve_send_slot(deps, context, message).await?;
    let context = SendContext {
        known: Some(&state),
        ..context
    };
    ask_gates(deps, context, message, SendMoment::AfterSlot).await?;
    let mut form = MessageForm::default();
    for feature in deps.features().send_forms {
        feature.shape(deps, context, message, &mut form).await?;
    }
    let now = deps.system().now();
    if context.last_start.is_some_and(|last| now > last) {
        return Err(RETRY_SOON);
    }
    let permit = ask_gates(deps, context, message, SendMoment::BeforeClaim).await?;
    let flight = claim_message(deps, message, form.instead.as_ref(), now).await?;
    check_not_stalled(deps, message, &flight, (slot, permit)).await?;
    send_claimed(deps, context, message, &flight, form).await
}

/// Makes the attempt that the commit of a reply began. `ends_job`: the reply has no other part.
pub(super) async fn finish_first_attempt(
    deps: &Deps,
    begun: FirstAttempt,
    deadline: Option<Timestamp>,
    ends_job: bool,
) -> PortResult<Handled> {
    let FirstAttempt {
        bound,
        mut message,
        flight,
        form,
        slot,
        permit,
        state,
    } = begun;
    let context = SendContext {
        bound: &bound,
        capabilities: &deps.providers().capabilities(bound.instance.provider),
        last_start: find_last_start(deps, deadline),
        known: Some(&state),
        ends_job,
    };
    let made = async {
        check_not_stalled(deps, &mut message, &flight, (slot, permit)).await?;
        send_claimed(deps, context, &mut message, &flight, form).await
    };
    match made.await {
        Ok(handled) => Ok(handled),
        Err(stop) => Box::pin(carry_out(deps, context, message, stop)).await,
    }
}

/// Sends the request of a claimed message, and stores its outcome. What is shown to the contact meanwhile delays neither.
async fn send_claimed(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
    flight: &InFlightSend,
    form: MessageForm,
) -> StepResult<Handled> {
    let outgoing = build_in_form(message, form);
    let beside: Vec<BoxFuture<'_, ()>> = deps
        .features()
        .beside_send
        .iter()
        .filter_map(|feature| feature.begin(deps, context.bound, message))
        .collect();
    let sends = Box::pin(async {
        let provider = context.bound.instance.provider.as_str();
        let request = tracing::info_span!(target: TRACE_TARGET, "provider", provider);
        let sent = deps.providers().send_message(context.bound, &outgoing);
        let outcome = sent.instrument(request).await;
        settle::settle_outcome(deps, context, message, flight, outcome).await
    });
    if beside.is_empty() {
        return sends.await;
    }
    let beside = async {
        join_all(beside).await;
    };
    run_beside(deps, sends, beside).await
}

/// Builds the provider's message in the form in which it leaves. What is sent in place of its content has no options.
fn build_in_form(message: &Outgoing, form: MessageForm) -> OutgoingMessage {
    let own = to_outgoing_message(message);
    match (form.instead, form.with_bytes) {
        (Some(instead), _) => OutgoingMessage {
            content: instead.content,
            options: SendOptions::default(),
            ..own
        },
        (None, Some(content)) => OutgoingMessage { content, ..own },
        (None, None) => own,
    }
}

/// Reads the clock again once a message is claimed: after a stall, the send must neither break the rate, nor leave on an old permission
/// (`permit`), nor outlast the lease.
async fn check_not_stalled(
    deps: &Deps,
    message: &mut Outgoing,
    flight: &InFlightSend,
    (slot, permit): (Timestamp, Option<Timestamp>),
) -> StepResult {
    let now = deps.system().now();
    let why = if is_slot_missed(slot, now) {
        "its slot went by"
    } else if permit.is_some_and(|until| now > until) {
        "whether it may leave was asked too long ago"
    } else if add_duration(now, deps.settings().provider_timeout) > flight.until {
        return Err(RETRY_SOON);
    } else {
        return Ok(());
    };
    Box::pin(settle::requeue_uncounted(deps, message, flight, why)).await?;
    Err(RETRY_SOON)
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
    let rate = instance.resolve_rate(context.capabilities, deps.settings().rate);
    let held = message.out.usable_slot(now);
    let held = held.filter(|slot| *slot <= rate.latest_plausible_time(now));
    let (slot, state) = if let Some(slot) = held {
        // The slot was reserved in an earlier run: the instance may have closed since.
        let state = deps.store().read_instance_state(&message.instance).await?;
        if state.connection != ConnectionStatus::Open {
            return Err(Stop::Park(None));
        }
        (slot, state)
    } else {
        let turn = if !message.out.yields_slot() {
            SlotTurn::Next
        } else if message.out.yielded == 0 {
            SlotTurn::Yielding
        } else {
            SlotTurn::YieldingAgain
        };
        match deps.store().reserve_slot(&instance.id, rate, turn, now).await? {
            Reservation::Place(at) => return Err(yield_to_others(deps, message, at).await?),
            Reservation::NotOpen => return Err(Stop::Park(None)),
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
        warn_of_long_wait(&instance.id, wait, rate);
        message.out.record_slot(slot);
        if deps.store().save_open_message(&message.to_record(), None).await? == WriteOutcome::Conflict {
            return Err(RETRY_SOON);
        }
    }
    if wait > PARK_BEYOND {
        let before = add_duration(slot, -SignedDuration::from_mins(2));
        return Err(Stop::Park(Some(before)));
    }
    let at = add_duration(slot, -SignedDuration::from_secs(1));
    Err(Stop::Wait(Verdict::retry_at(at, now)))
}

/// Lets others go before `message` until `at`, and stores that. A distant time is parked for until 2 minutes before it.
async fn yield_to_others(deps: &Deps, message: &mut Outgoing, at: Timestamp) -> PortResult<Stop> {
    let now = deps.system().now();
    message.out.yield_until(at);
    if deps.store().save_open_message(&message.to_record(), None).await? == WriteOutcome::Conflict {
        return Ok(RETRY_SOON);
    }
    if at > add_duration(now, PARK_BEYOND) {
        let before = add_duration(at, -SignedDuration::from_mins(2));
        return Ok(Stop::Park(Some(before)));
    }
    Ok(Stop::Wait(Verdict::retry_at(at, now)))
}

/// Claims the message: marks it as `sending`, stores the in-flight note and returns it. `instead` is the content that is
/// sent in place of the message's own. A reply that is void by now is cancelled.
async fn claim_message(
    deps: &Deps,
    message: &mut Outgoing,
    instead: Option<&Replacement>,
    now: Timestamp,
) -> StepResult<InFlightSend> {
    let unclaimed = message.clone();
    let guard = message.out.yields_to_takeover().then(|| ClaimGuard {
        conversation: message.conversation.clone(),
        epoch: message.out.epoch,
    });
    begin_attempt(deps, message, now)?;
    if let Some(instead) = instead {
        message.out.explain_last_step(instead.why);
    }
    let content = match instead {
        Some(instead) => Cow::Borrowed(&instead.content),
        None => message.content_as_sent(),
    };
    let flight = InFlightSend::of_attempt(message, &content).ok_or(RETRY_SOON)?;
    let record = message.to_record();
    let claim = deps.store().claim_message(&record, guard.as_ref(), &flight);
    match claim.await? {
        ClaimOutcome::Claimed => Ok(flight),
        ClaimOutcome::Conflict => Err(RETRY_SOON),
        ClaimOutcome::Stopped => {
            *message = unclaimed;
            Err(Stop::Void)
        }
    }
}
