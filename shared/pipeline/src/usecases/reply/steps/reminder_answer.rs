//! Reads what a contact answers to a reminder of an appointment, where plain words or a button say it.

use crate::usecases::reply::leased_turn::LeasedTurn;
use recado_domain::effects::EffectId;
use recado_domain::ids::Ordinal;
use recado_domain::invitations::{GuestAnswer, recognize_appointment_answer};
use recado_domain::message::{Message, Role};
use recado_domain::tools::{CalendarOperation, Tool};
use recado_ports::ports::ModelCall;
use serde_json::json;

/// Returns the call that a plain answer to a reminder asks for: one that confirms the appointment, or cancels it. `None`: the last
/// message before was no reminder, or the model is to judge the answer.
pub(super) fn read_reminder_answer(turn: &LeasedTurn<'_>) -> Option<ModelCall> {
    let mut owed = turn.reading.owed_messages();
    let (Some(answer), None) = (owed.next(), owed.next()) else {
        return None;
    };
    let event = find_reminder_before(turn, answer.ordinal)?;
    let said = recognize_appointment_answer(&answer.content.render_text())?;
    let booking = turn.journal.as_ref()?.journal.record.find_booking(&event)?;
    let tools = &turn.bound.tools;
    let booked_by = tools.iter().find(|tool| tool.model_name() == booking.tool.name)?;
    let operation = match said {
        GuestAnswer::Confirms => CalendarOperation::Confirm,
        GuestAnswer::Declines => CalendarOperation::Cancel,
    };
    let does = |tool: &&Tool| {
        let function = tool.function.as_ref();
        tool.id == booked_by.id && function.is_some_and(|function| function.operation == operation)
    };
    Some(ModelCall {
        id: format!("reminder-{}", answer.ordinal.0),
        name: tools.iter().find(does)?.model_name().to_owned(),
        arguments: json!({"appointment": event}),
        marks: Vec::new(),
    })
}

/// Returns the event of which the newest message before `ordinal` reminds.
fn find_reminder_before(turn: &LeasedTurn<'_>, ordinal: Ordinal) -> Option<EffectId> {
    let earlier = turn.reading.known_messages().iter();
    let mut earlier = earlier.filter(|message| message.ordinal < ordinal && is_said(message));
    let metadata = earlier.next_back()?.out.as_ref()?.metadata.as_ref()?;
    let named = metadata.to_object().remove("appointment")?;
    serde_json::from_value(named).ok()
}

/// Returns `true` if a message is said by somebody, so that an answer may be meant for it.
fn is_said(message: &Message) -> bool {
    message.role != Role::User || message.content.expects_answer()
}
