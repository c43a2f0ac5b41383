//! Reads what a contact answers to a reminder of an appointment, where plain words or a button say it.

use crate::calendar_call::answer_reading_call;
use crate::effect_call::answer_acting_call;
use crate::effects::DraftedJournal;
use async_trait::async_trait;
use recado_domain::effects::EffectId;
use recado_domain::ids::Ordinal;
use recado_domain::invitations::{GuestAnswer, recognize_appointment_answer};
use recado_domain::message::{Message, Role};
use recado_domain::tools::{CalendarOperation, Tool};
use recado_pipeline::Deps;
use recado_pipeline::hooks::turn_part::TurnPart;
use recado_pipeline::steps::turn::LeasedTurn;
use recado_pipeline::steps::turn::turn_end::{TurnEnd, TurnStop};
use recado_ports::ports::{LlmRequest, ModelCall, ToolExchange};
use serde_json::json;

/// The answers to reminders.
#[derive(Debug)]
pub struct ReminderAnswers;

#[async_trait]
impl TurnPart for ReminderAnswers {
    /// Does what a plain answer asks for, before the model is asked: it is told of it as of a call of its own.
    async fn finish_request(
        &self,
        deps: &Deps,
        turn: &mut LeasedTurn<'_>,
        request: &mut LlmRequest,
    ) -> Result<(), TurnStop> {
        let Some(call) = read_reminder_answer(turn) else {
            return Ok(());
        };
        // It confirms, which only notes something, or it cancels, which acts.
        let mut answer = Box::pin(answer_reading_call(deps, turn, &call)).await;
        if answer.is_none() {
            answer = Box::pin(answer_acting_call(deps, turn, &call)).await?;
        }
        let Some(answer) = answer else {
            return Ok(());
        };
        request.exchanges.push(ToolExchange {
            said: String::new(),
            calls: vec![call],
            results: vec![answer.text],
        });
        let (now, usual) = (deps.system().now(), deps.settings().llm_timeout);
        request.within = turn.time.left_for_model(now, usual).ok_or(TurnEnd::NoTimeLeft)?;
        Ok(())
    }
}

/// Returns the call that a plain answer to a reminder asks for: one that confirms the appointment, or cancels it. `None`: the last
/// message before was no reminder, or the model is to judge the answer.
fn read_reminder_answer(turn: &LeasedTurn<'_>) -> Option<ModelCall> {
    let mut owed = turn.reading.owed_messages();
    let (Some(answer), None) = (owed.next(), owed.next()) else {
        return None;
    };
    let event = find_reminder_before(turn, answer.ordinal)?;
    let said = recognize_appointment_answer(&answer.content.render_text())?;
    let booking = turn
        .state
        .find::<DraftedJournal>()?
        .journal
        .record
        .find_booking(&event)?;
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
