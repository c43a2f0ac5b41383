//! The first attempt at a reply, begun by the turn that commits it: the commit is also the claim. So an attempt that may be made at once
//! costs no write of its own.

use crate::Deps;
use crate::deps::capabilities;
use crate::hooks::send_form::MessageForm;
use crate::hooks::send_gate::SendMoment;
use crate::steps::enabled_instance::find_instance_of;
use crate::steps::sending::{
    SendContext, StepResult, Stop, begin_attempt, find_last_start, warn_of_long_wait,
};
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::instance::{ConnectionStatus, InFlightSend, InstanceState};
use recado_domain::message::{Message, Outgoing};
use recado_domain::service_window::is_window_open;
use recado_ports::ports::{Reservation, SlotTurn};
use std::sync::Arc;

/// An attempt that is stored with its message, and that is to be made at once.
#[derive(Debug)]
pub struct FirstAttempt {
    pub bound: Arc<InstanceConfig>,
    pub message: Outgoing,
    pub flight: InFlightSend,
    pub form: MessageForm,
    /// The slot of the attempt.
    pub slot: Timestamp,
    /// Time until which the message may leave, by what its gates said.
    pub permit: Option<Timestamp>,
    /// The state of the instance when the slot was reserved.
    pub state: Box<InstanceState>,
}

/// Begins the first attempt at a reply that is committed next, if its first part may leave at once. The part is changed: it is in
/// its attempt, or has a slot that comes later. `None`: the parts are committed as queued. What stands in the way is then dealt with by
/// the send job.
///
/// A takeover since the conversation was read refuses the commit, and with it the attempt: this is what the claim's guard does else.
pub async fn begin_first_attempt(
    deps: &Deps,
    parts: &mut [Message],
    deadline: Option<Timestamp>,
) -> Option<Box<FirstAttempt>> {
    let part = parts.first_mut()?;
    let mut message = part.clone().into_outgoing()?;
    let Ok(begun) = try_to_begin(deps, &mut message, deadline).await else {
        part.out.as_mut()?.slot = message.out.slot;
        return None;
    };
    *part = begun.message.to_record();
    Some(Box::new(begun))
}

/// Does all that precedes an attempt at a message that is not stored yet. It is stopped before a form may write something about it.
async fn try_to_begin(
    deps: &Deps,
    message: &mut Outgoing,
    deadline: Option<Timestamp>,
) -> StepResult<FirstAttempt> {
    let found = find_instance_of(deps, &message.instance, &message.tenant).await?;
    let bound = found.ok_or(Stop::Finished)?;
    let capabilities = capabilities(deps, &bound);
    let context = SendContext {
        bound: &bound,
        capabilities: &capabilities,
        last_start: find_last_start(deps, deadline),
        known: None,
        ends_job: false,
    };
    let thread = message.conversation.thread_id();
    let goes_behind =
        !message.out.beside.is_empty() || !deps.store().list_open_messages(thread).await?.is_empty();
    let is_closed =
        capabilities.has_service_window && !is_window_open(message.out.last_inbound_at, deps.system().now());
    if goes_behind || is_closed {
        return Err(Stop::Finished);
    }
    ask_gates(deps, context, message, SendMoment::Queued).await?;
    ask_gates(deps, context, message, SendMoment::BeforeSlot).await?;
    let (slot, state) = reserve_present_slot(deps, context, message).await?;
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
    let is_too_late = context.last_start.is_some_and(|last| now > last);
    if is_too_late || form.instead.is_some() {
        return Err(Stop::Finished);
    }
    let permit = ask_gates(deps, context, message, SendMoment::BeforeClaim).await?;
    begin_attempt(deps, message, now)?;
    let flight = InFlightSend::of_attempt(message, &message.content_as_sent()).ok_or(Stop::Finished)?;
    Ok(FirstAttempt {
        bound: Arc::clone(&bound),
        message: message.clone(),
        flight,
        form,
        slot,
        permit,
        state,
    })
}

/// Returns the slot of the attempt with the instance's state: one that an earlier try reserved, or a new one. A slot that comes later is
/// kept for the send job.
async fn reserve_present_slot(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
) -> StepResult<(Timestamp, Box<InstanceState>)> {
    let (instance, now) = (&context.bound.instance, deps.system().now());
    let (at, state) = if let Some(at) = message.out.usable_slot(now) {
        let state = deps.store().read_instance_state(&instance.id).await?;
        if state.connection != ConnectionStatus::Open {
            return Err(Stop::Finished);
        }
        (at, Box::new(state))
    } else {
        let rate = instance.resolve_rate(context.capabilities, deps.settings().rate);
        let reserves = deps.store().reserve_slot(&instance.id, rate, SlotTurn::Next, now);
        let Reservation::Slot { at, state } = reserves.await? else {
            return Err(Stop::Finished);
        };
        warn_of_long_wait(&instance.id, at.duration_since(now), rate);
        (at, state)
    };
    message.out.slot = Some(at);
    if at > now {
        return Err(Stop::Finished);
    }
    Ok((at, state))
}

/// Asks the gates of a moment, one after the other, until one stops the message. Returns the earliest time until which an answer holds;
/// `None` if all hold without a limit.
pub async fn ask_gates(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
    moment: SendMoment,
) -> StepResult<Option<Timestamp>> {
    let mut until: Option<Timestamp> = None;
    for (moments, gate) in deps.features().send_gates {
        if moments.contains(&moment) {
            let holds = gate.check(deps, context, message).await?;
            until = until.into_iter().chain(holds).min();
        }
    }
    Ok(until)
}
