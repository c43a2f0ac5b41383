//! Asks an agent that the user runs, in the place of a model.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use recado_domain::config::{ContactField, HttpAgent};
use recado_domain::hours::{OpeningDay, OpeningException, OpeningState};
use recado_domain::present::{Present, PresentHours};
use recado_knowledge::turn_part::FoundKnowledge;
use recado_pipeline::Deps;
use recado_pipeline::hooks::turn_part::TurnPart;
use recado_pipeline::measure;
use recado_pipeline::steps::turn::LeasedTurn;
use recado_pipeline::steps::turn::draft::TurnAnswer;
use recado_pipeline::steps::turn::transcript::{ShownFiles, TranscriptMessage, list_transcript};
use recado_pipeline::steps::turn::turn_end::{TurnEnd, TurnStop};
use recado_ports::ports::HttpAgentRequest;
use serde_json::{Map, Value, json};
use std::mem;
use std::sync::Arc;

/// The agents that users run.
#[derive(Debug)]
pub struct UserAgents;

#[async_trait]
impl TurnPart for UserAgents {
    async fn answer_in_place(
        &self,
        deps: &Deps,
        turn: &mut LeasedTurn<'_>,
    ) -> Result<Option<TurnAnswer>, TurnStop> {
        let bound = Arc::clone(&turn.bound);
        let Some(agent) = &bound.agent.http else {
            return Ok(None);
        };
        let shown = mem::take(&mut turn.shown);
        let found = turn.state.take::<FoundKnowledge>();
        let asks = ask_http_agent(deps, turn, agent, shown, found.map(|found| found.0));
        asks.await.map(Some)
    }
}

/// Asks the user's agent for a reply, within what is left of the turn's time.
async fn ask_http_agent(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    agent: &HttpAgent,
    shown: ShownFiles,
    knowledge: Option<String>,
) -> Result<TurnAnswer, TurnStop> {
    let asked_at = deps.system().now();
    let left = turn.time.left_for_model(asked_at, deps.settings().llm_timeout);
    let within = left.ok_or(TurnEnd::NoTimeLeft)?;
    let bound = &turn.bound;
    let data = describe_turn(turn, (agent, asked_at), shown, knowledge.as_deref());
    let request = HttpAgentRequest {
        agent,
        // The lease is of one draft alone: what a worker repeats has the same id, and another draft has another.
        id: format!("turn_{}", turn.draft.nonce.as_str()),
        body: json!({"type": "agent.turn", "timestamp": asked_at, "data": data}),
        decisions: bound.agent.offered_decisions(turn.script_step()),
        within,
        private_hosts: deps.settings().private_tools,
    };
    let answer = deps.llm().ask_http_agent(&request).await;
    let told = answer.as_ref().map(Option::as_ref);
    measure::record_answer(&bound.instance.id, asked_at, deps.system().now(), told);
    Ok(answer)
}

/// Describes the turn: whose it is, where it stands, and the messages that a model would read.
fn describe_turn(
    turn: &LeasedTurn<'_>,
    (agent, now): (&HttpAgent, Timestamp),
    shown: ShownFiles,
    knowledge: Option<&str>,
) -> Value {
    let (bound, conversation) = (&turn.bound, &turn.conversation);
    let present = Present::of_instance(bound, None, now);
    let step = turn.script_step();
    let offered = bound.agent.offered_decisions(step).list_tools();
    let decisions: Vec<&str> = offered.into_iter().map(|tool| tool.name).collect();
    let messages: Vec<Value> = list_transcript(&turn.reading, shown)
        .into_iter()
        .map(|message| describe_message(turn, &message))
        .collect();
    json!({
        "tenant_id": bound.tenant.id,
        "agent_id": bound.agent.id,
        "instance_id": bound.instance.id,
        "conversation_id": conversation.id,
        "attempt": turn.draft.attempt,
        "now": present.now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        "weekday": name_weekday(present.now.date()),
        "time_zone": present.time_zone().iana_name(),
        "opening_hours": present.hours.as_ref().map(describe_opening_hours),
        "contact": describe_contact(turn, agent),
        "step": step.map(|step| json!({"id": step.id, "prompt": step.prompt, "next": step.next})),
        "decisions": decisions,
        "knowledge": knowledge,
        "messages": messages,
    })
}

/// Describes the opening hours: whether the instance is open, this day and the next ones, and the exceptions behind them.
fn describe_opening_hours(hours: &PresentHours) -> Value {
    let day = |day: &OpeningDay| {
        json!({
            "date": day.date.to_string(),
            "weekday": name_weekday(day.date),
            "hours": day.hours,
            "exception": day.is_exception,
        })
    };
    let exception = |exception: &OpeningException| {
        json!({
            "from": exception.from.to_string(),
            "to": exception.to.to_string(),
            "hours": exception.hours,
        })
    };
    let opens_at = match hours.state {
        OpeningState::OpensAt(at) => Some(at),
        OpeningState::Open | OpeningState::NeverOpens => None,
    };
    json!({
        "open": hours.state == OpeningState::Open,
        "opens_at": opens_at,
        "days": hours.days.iter().map(day).collect::<Vec<_>>(),
        "later_exceptions": hours.later.iter().map(exception).collect::<Vec<_>>(),
    })
}

fn name_weekday(date: Date) -> String {
    date.strftime("%a").to_string().to_lowercase()
}

fn describe_message(turn: &LeasedTurn<'_>, listed: &TranscriptMessage<'_>) -> Value {
    let message = listed.message;
    let is_own = message.conversation == turn.conversation.id;
    json!({
        "id": message.message_id(),
        "role": message.role,
        "text": listed.text,
        "written_at": message.written_at,
        "owed": is_own && turn.reading.is_owed_message(message),
        "file": listed.file.as_ref().map(|file| json!({"label": file.label, "mime_type": file.media_type.mime_type()})),
    })
}

/// Returns the data of the contact that the configuration lets go out.
fn describe_contact(turn: &LeasedTurn<'_>, agent: &HttpAgent) -> Map<String, Value> {
    let field = |field: &ContactField| {
        let conversation = &turn.conversation;
        match field {
            ContactField::Name => ("name".to_owned(), json!(conversation.contact.name)),
            ContactField::Phone => {
                let known = conversation.contact.phone.clone();
                let phone = known.or_else(|| conversation.address.phone_number());
                ("phone".to_owned(), json!(phone))
            }
        }
    };
    agent.contact.iter().map(field).collect()
}
