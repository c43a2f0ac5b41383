//! Calls the functions of a calendar, for the model that drafts a reply.

use crate::called_tool::{
    Told, await_answer, check_call, describe_tool_failure, find_called_tool, note_call,
};
use crate::effects::{DraftedJournal, confirm_booking, follow_event};
use async_trait::async_trait;
use recado_domain::calendar::TimeSpan;
use recado_domain::effects::{Booking, EffectAction, EffectId, HeldCell};
use recado_domain::tools::{
    AskedSlots, CalendarFunction, CalendarOperation, Tool, ToolOutcome, cells_of_others,
};
use recado_pipeline::Deps;
use recado_pipeline::hooks::turn_part::{AnsweredCall, TurnPart};
use recado_pipeline::steps::turn::LeasedTurn;
use recado_pipeline::steps::turn::turn_end::TurnStop;
use recado_ports::ports::{BookedEvent, ModelCall, ToolFailure, ToolLimits};
use recado_ports::records::effects::list_held_cells;
use serde_json::Value;

/// The calendars of tenants.
#[derive(Debug)]
pub struct Calendars;

#[async_trait]
impl TurnPart for Calendars {
    async fn answer_call(
        &self,
        deps: &Deps,
        turn: &mut LeasedTurn<'_>,
        call: &ModelCall,
    ) -> Result<Option<AnsweredCall>, TurnStop> {
        Ok(Box::pin(answer_reading_call(deps, turn, call)).await)
    }
}

/// Answers a call of a function that reads. `None`: it is none of them.
pub(super) async fn answer_reading_call(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    call: &ModelCall,
) -> Option<AnsweredCall> {
    let tool = find_called_tool(turn, call, |tool: &Tool| !tool.acts())?;
    let function = tool.function.as_deref()?;
    let began_at = deps.system().now();
    let told = match check_call(deps, turn, &tool, call).await {
        Ok(limits) => read_calendar(deps, turn, function, &call.arguments, limits).await,
        Err(refused) => refused,
    };
    Some(note_call(deps, turn, (&tool, call), began_at, told))
}

/// Answers a call that reads: lists free slots, or the contact's appointments.
async fn read_calendar(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    function: &CalendarFunction,
    arguments: &Value,
    limits: ToolLimits,
) -> Told {
    let now = deps.system().now();
    if function.operation == CalendarOperation::Appointments {
        return list_appointments(deps, turn.state.find_mut::<DraftedJournal>(), function, limits).await;
    }
    if function.operation == CalendarOperation::Confirm {
        return confirm_appointment(deps, turn.state.find_mut::<DraftedJournal>(), function, arguments).await;
    }
    let asked = match function.read_slots_question(arguments, now) {
        Ok(asked) => asked,
        Err(mistake) => return (ToolOutcome::BadArguments, mistake),
    };
    match find_taken_times(deps, turn, function, &asked, limits).await {
        Ok((busy, held)) => {
            let slots = function.describe_free_slots(&asked, (&busy, &held), now);
            (ToolOutcome::Answered, slots)
        }
        Err(told) => told,
    }
}

/// Plans the effect that a call asks for. What is refused is told to the model, with other free times where one is taken.
pub(super) async fn plan_calendar_effect(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    function: &CalendarFunction,
    arguments: &Value,
    limits: ToolLimits,
) -> Result<EffectAction, Told> {
    let now = deps.system().now();
    if function.operation == CalendarOperation::Book {
        let busy = ask_around_start(deps, function, arguments, limits).await?;
        let planned = function.plan_new_booking(arguments, &busy, now);
        return refuse_with_other_times(deps, turn, (function, arguments), limits, planned).await;
    }
    let Some(drafted) = turn.state.find_mut::<DraftedJournal>() else {
        return Err(refuse_with_words("there is no such appointment of this contact"));
    };
    let found = function.find_named_booking(arguments, &drafted.journal.record, now);
    let booking = found.map_err(|mistake| refuse_with_words(&mistake))?.clone();
    let looked = look_at_booking(deps, drafted, function, &booking, limits).await?;
    let (booking, version) = looked.ok_or_else(|| {
        refuse_with_words(
            "people deleted this appointment in the calendar: the contact does not have it any more",
        )
    })?;
    if function.operation == CalendarOperation::Cancel {
        let event = booking.event;
        return Ok(EffectAction::Cancel { event, version });
    }
    let busy = ask_around_start(deps, function, arguments, limits).await?;
    let planned = function.plan_appointment_move(arguments, (&booking, version), &busy, now);
    refuse_with_other_times(deps, turn, (function, arguments), limits, planned).await
}

/// Returns the words for other times that are free, if the call asked for a time. Empty: none are known.
pub(super) async fn describe_other_times(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    function: &CalendarFunction,
    arguments: &Value,
    limits: ToolLimits,
) -> String {
    let now = deps.system().now();
    let Ok(start) = function.read_appointment_start(arguments) else {
        return String::new();
    };
    let asked = function.ask_for_times_around(arguments, start, now);
    match find_taken_times(deps, turn, function, &asked, limits).await {
        Ok((busy, held)) => function.describe_other_times(&asked, start, (&busy, &held), now),
        Err(_) => String::new(),
    }
}

fn refuse_with_words(why: &str) -> Told {
    (ToolOutcome::Refused, format!("nothing was done: {why}"))
}

async fn refuse_with_other_times(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    (function, arguments): (&CalendarFunction, &Value),
    limits: ToolLimits,
    planned: Result<EffectAction, String>,
) -> Result<EffectAction, Told> {
    match planned {
        Ok(action) => Ok(action),
        Err(why) => {
            let others = describe_other_times(deps, turn, function, arguments, limits).await;
            Err(refuse_with_words(format!("{why}. {others}").trim_end()))
        }
    }
}

/// Asks the calendar when it is busy around the start that the arguments name.
async fn ask_around_start(
    deps: &Deps,
    function: &CalendarFunction,
    arguments: &Value,
    limits: ToolLimits,
) -> Result<Vec<TimeSpan>, Told> {
    let start = function
        .read_appointment_start(arguments)
        .map_err(|mistake| (ToolOutcome::BadArguments, mistake))?;
    let asked = function.ask_for_times_around(arguments, start, deps.system().now());
    query_busy_times(deps, function, &asked, limits).await
}

async fn query_busy_times(
    deps: &Deps,
    function: &CalendarFunction,
    asked: &AskedSlots,
    limits: ToolLimits,
) -> Result<Vec<TimeSpan>, Told> {
    let Some(span) = function.find_time_to_ask_for(asked, deps.system().now()) else {
        return Ok(Vec::new());
    };
    let asks = deps.llm().query_busy_times(&function.calendar, span);
    await_answer(deps, limits, asks).await
}

/// Finds the times that are taken: those at which the calendar is busy, and the cells that other appointments hold.
async fn find_taken_times(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    function: &CalendarFunction,
    asked: &AskedSlots,
    limits: ToolLimits,
) -> Result<(Vec<TimeSpan>, Vec<HeldCell>), Told> {
    let now = deps.system().now();
    let busy = query_busy_times(deps, function, asked, limits).await?;
    let Some(span) = function.find_time_to_ask_for(asked, now) else {
        return Ok((busy, Vec::new()));
    };
    let tenant = &turn.bound.tenant.id;
    let held = list_held_cells(deps.store(), tenant, &function.to_calendar_cell_span(span)).await;
    match held {
        Ok(held) => Ok((busy, cells_of_others(held, None))),
        Err(error) => {
            tracing::warn!(%error, "the cells of a calendar could not be read");
            let failure = ToolFailure::Failed("its appointments could not be read".to_owned());
            Err(describe_tool_failure(&failure))
        }
    }
}

/// Lists the contact's appointments, as they stand in the calendar now.
async fn list_appointments(
    deps: &Deps,
    drafted: Option<&mut DraftedJournal>,
    function: &CalendarFunction,
    limits: ToolLimits,
) -> Told {
    let now = deps.system().now();
    let Some(drafted) = drafted else {
        return (ToolOutcome::Answered, "the contact has no appointment".to_owned());
    };
    let bookings: Vec<Booking> = function
        .list_coming_bookings(&drafted.journal.record, now)
        .cloned()
        .collect();
    for booking in &bookings {
        if let Err(told) = look_at_booking(deps, drafted, function, booking, limits).await {
            return told;
        }
    }
    let listed = function.describe_bookings(&drafted.journal.record, now);
    (ToolOutcome::Answered, listed)
}

/// Notes that the contact confirmed an appointment.
async fn confirm_appointment(
    deps: &Deps,
    drafted: Option<&mut DraftedJournal>,
    function: &CalendarFunction,
    arguments: &Value,
) -> Told {
    let none = || refuse_with_words("there is no such appointment of this contact");
    let Some(drafted) = drafted else {
        return none();
    };
    let found = function.find_named_booking(arguments, &drafted.journal.record, deps.system().now());
    let event = match found {
        Ok(booking) => booking.event.clone(),
        Err(mistake) => return refuse_with_words(&mistake),
    };
    match confirm_booking(deps, drafted, &event).await {
        Ok(()) => (
            ToolOutcome::Answered,
            "it is noted that the contact confirmed".to_owned(),
        ),
        Err(error) => {
            tracing::warn!(%error, "a confirmation of an appointment could not be stored");
            describe_tool_failure(&ToolFailure::Failed("it could not be noted".to_owned()))
        }
    }
}

/// Asks the calendar for the event of a booking, and follows what people did with it. Returns the booking as it stands, and the
/// event's version; `None`: the event was deleted.
async fn look_at_booking(
    deps: &Deps,
    drafted: &mut DraftedJournal,
    function: &CalendarFunction,
    booking: &Booking,
    limits: ToolLimits,
) -> Result<Option<(Booking, String)>, Told> {
    let looks = deps.llm().look_at_event(&function.calendar, &booking.event);
    let looked = await_answer(deps, limits, looks).await?;
    let moved_to = |time: TimeSpan| {
        let is_new = function.find_appointment_time(booking) != Some(time);
        is_new.then(|| function.span_of_event(time))
    };
    let (span, version) = match looked {
        BookedEvent::Present { version, time } => (time.and_then(moved_to), Some(version)),
        BookedEvent::Gone => (None, None),
    };
    if span.is_some() || version.is_none() {
        let follows = follow_event(deps, drafted, &booking.event, span);
        if let Err(error) = follows.await {
            tracing::warn!(%error, "an event that people changed could not be followed");
            let failure = ToolFailure::Failed("people changed the appointment just now".to_owned());
            return Err(describe_tool_failure(&failure));
        }
    }
    let stands = find_drafted_booking(drafted, &booking.event);
    Ok(version.and_then(|version| Some((stands?, version))))
}

fn find_drafted_booking(drafted: &DraftedJournal, event: &EffectId) -> Option<Booking> {
    drafted.journal.record.find_booking(event).cloned()
}
