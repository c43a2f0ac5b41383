//! The step [`recado_domain::turn::TurnStep::Model`]: asks the model for the reply.

use crate::Deps;
use crate::measure::{self, TurnPart};
use crate::steps::model_state::{record_missing_model_key, record_model_failure};
use crate::usecases::reply::draft::DraftedReply;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::steps::refused_files::{ask_without_refused_files, leave_out_unopened_files};
use crate::usecases::reply::steps::reminder_answer::read_reminder_answer;
use crate::usecases::reply::steps::server_tools::complete_server_functions;
use crate::usecases::reply::steps::tool_calls::answer_calls;
use crate::usecases::reply::transcript::{
    MessageTimes, OTHER_AGENT_INSTRUCTIONS, PERSON_INSTRUCTIONS, ShownFiles, build_transcript,
    reads_other_agent, reads_person, strip_repeated_marks, tells_times,
};
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use jiff::Timestamp;
use recado_domain::config::AgentStep;
use recado_domain::decision::AgentDecision;
use recado_domain::file_text::{FILE_TEXT_INSTRUCTIONS, has_file_text};
use recado_domain::ids::InstanceId;
use recado_domain::knowledge::NOTHING_FOUND;
use recado_domain::message::TokenUsage;
use recado_domain::present::Present;
use recado_domain::reason::Reason;
use recado_domain::tools::{TOOL_INSTRUCTIONS, Tool};
use recado_domain::usage::ModelUse;
use recado_ports::ports::{ChatTurn, LlmError, LlmReply, LlmRequest, OfferedTool};

/// Asks the model for a reply, within what is left of the turn's time. Ends the turn if the model's key is missing, or if too
/// little time is left. If the model fails or its answer is empty, the reply is the agent's error message.
pub(in crate::usecases::reply) async fn ask_model(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    shown: ShownFiles,
    knowledge: Option<String>,
) -> Result<DraftedReply, TurnStop> {
    let step = turn.script_step();
    if let Some(gone) = turn.conversation.step.as_ref()
        && step.is_none_or(|step| step.id != *gone)
    {
        tracing::warn!(step = %gone, "the step is gone: the conversation goes on at the first");
    }
    complete_server_functions(deps, turn).await;
    let step = turn.script_step();
    let asked_at = deps.system().now();
    let left = turn.time.left_for_model(asked_at, deps.settings().llm_timeout);
    let within = left.ok_or(TurnEnd::NoTimeLeft)?;
    let bound = &turn.bound;
    let present = Present::of_instance(bound, turn.conversation.name.as_deref(), asked_at);
    let times = MessageTimes {
        now: asked_at,
        zone: present.time_zone(),
    };
    let turns = build_transcript(&turn.reading, shown, Some(times));
    let has_searched = turn.draft.turn.knowledge.is_some();
    let nothing_found = has_searched.then(|| NOTHING_FOUND.to_owned());
    let request = LlmRequest {
        tools: list_tools(&bound.tools),
        exchanges: Vec::new(),
        must_reply: false,
        instructions: list_instructions(turn, step, &turns),
        present: Some(present.describe(tells_times(&turns))),
        knowledge: knowledge.or(nothing_found),
        decisions: bound.agent.offered_decisions(step),
        model: bound.agent.model.clone(),
        key: bound.agent.model_key.clone(),
        system: bound.agent.prompt_for_model().to_owned(),
        turns,
        max_tokens: bound.agent.max_tokens,
        within,
        simulated: deps.providers().is_simulated(&bound.instance).await,
    };
    let mut request = answer_reminder_first(deps, turn, request).await?;
    leave_out_unopened_files(deps, turn, &mut request).await;
    match ask_until_reply(deps, turn, request, deps.system().now()).await {
        Ok(reply) => draft_from_answer(deps, turn, Ok(reply)).await,
        Err(DraftStop::Model(error)) => {
            let mut drafted = draft_from_answer(deps, turn, Err(error)).await?;
            drafted.add_unused_answers(turn.asked.drain(..));
            Ok(drafted)
        }
        Err(DraftStop::Turn(ended)) => Err(ended),
    }
}

/// Does what a plain answer to a reminder asks for, before the model is asked: it is told of it as of a call of its own.
async fn answer_reminder_first(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    mut request: LlmRequest,
) -> Result<LlmRequest, TurnStop> {
    if let Some(call) = read_reminder_answer(turn) {
        let asked = LlmReply {
            calls: vec![call],
            text: String::new(),
            decision: None,
            ignored_calls: 0,
            usage: TokenUsage::default(),
            model: String::new(),
        };
        let exchange = Box::pin(answer_calls(deps, turn, asked)).await?;
        request.exchanges.push(exchange);
        let left = turn
            .time
            .left_for_model(deps.system().now(), deps.settings().llm_timeout);
        request.within = left.ok_or(TurnEnd::NoTimeLeft)?;
    }
    Ok(request)
}

/// Drafts the reply that an answer of a model or of a user's agent leads to.
pub(super) async fn draft_from_answer(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    answer: Result<LlmReply, LlmError>,
) -> Result<DraftedReply, TurnStop> {
    let bound = &turn.bound;
    match answer {
        Ok(reply) if has_words(&reply) => Ok(DraftedReply::from_model(deps, bound, reply)),
        Ok(LlmReply { model, usage, .. }) => {
            tracing::error!("the model answered with nothing");
            record_model_failure(deps, &bound.instance.id, &turn.conversation.id).await?;
            let mut drafted = DraftedReply::error_reply(deps, bound, Reason::ModelFailed);
            drafted.add_unused_answers([ModelUse { model, tokens: usage }]);
            Ok(drafted)
        }
        Err(LlmError::Credentials(_)) => {
            record_missing_model_key(deps, &bound.instance.id, &turn.job.correlation).await?;
            Err(TurnEnd::ModelKeyMissing.into())
        }
        Err(error @ (LlmError::Unavailable(_) | LlmError::Refused(_) | LlmError::FilesRefused(_))) => {
            tracing::error!(%error, "the model failed: the agent's error message is the reply");
            record_model_failure(deps, &bound.instance.id, &turn.conversation.id).await?;
            Ok(DraftedReply::error_reply(deps, bound, Reason::ModelFailed))
        }
    }
}

/// The reason why there is no reply of the model.
enum DraftStop {
    /// The model gave none.
    Model(LlmError),
    /// A tool that acts ends the turn.
    Turn(TurnStop),
}

impl From<LlmError> for DraftStop {
    fn from(error: LlmError) -> Self {
        Self::Model(error)
    }
}

/// Asks the model, and calls the tools that it asks for, until it replies. The reply carries the tokens of all requests.
async fn ask_until_reply(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    mut request: LlmRequest,
    mut asked_at: Timestamp,
) -> Result<LlmReply, DraftStop> {
    loop {
        // Boxed: few requests are refused, and the others stay small.
        let answer = Box::pin(ask_without_refused_files(deps, turn, &mut request)).await;
        measure_answer(deps, &turn.bound.instance.id, asked_at, &answer);
        let mut reply = answer?;
        if reply.calls.is_empty() || request.must_reply {
            let earlier = turn.asked.drain(..).map(|asked| asked.tokens);
            reply.usage = earlier.fold(reply.usage, TokenUsage::add_token_counts);
            return Ok(reply);
        }
        turn.asked.push(ModelUse {
            model: reply.model.clone(),
            tokens: reply.usage,
        });
        let exchange = Box::pin(answer_calls(deps, turn, reply))
            .await
            .map_err(DraftStop::Turn)?;
        request.exchanges.push(exchange);
        request.must_reply = request.exchanges.len() > deps.settings().tool_calls;
        asked_at = deps.system().now();
        let left = turn.time.left_for_model(asked_at, deps.settings().llm_timeout);
        request.within = left.ok_or_else(|| {
            LlmError::Unavailable("no time was left for a reply after the calls of tools".to_owned())
        })?;
    }
}

/// Lists the agent's tools for the model, sorted by their names: what the model caches of a request does not change.
fn list_tools(tools: &[Tool]) -> Vec<OfferedTool> {
    let mut offered: Vec<OfferedTool> = tools
        .iter()
        .map(|tool| OfferedTool {
            name: tool.model_name().to_owned(),
            description: tool.description.clone(),
            arguments: tool.arguments.clone(),
        })
        .collect();
    offered.sort_by(|a, b| a.name.cmp(&b.name));
    offered
}

/// Returns `true` if the contact gets words with the answer: the model's, or those that are configured for a hand-over.
fn has_words(answer: &LlmReply) -> bool {
    let hands_over = matches!(answer.decision, Some(AgentDecision::HandOver { .. }));
    hands_over || !strip_repeated_marks(&answer.text).is_empty()
}

/// Lists the model's instructions beside the system prompt: those of the step, about tools, about messages of people, about
/// the text of files, and what the agent's tools did so far.
fn list_instructions(turn: &LeasedTurn<'_>, step: Option<&AgentStep>, turns: &[ChatTurn]) -> Vec<String> {
    let of_step = step.map(|step| step.prompt.clone());
    let of_person = reads_person(&turn.reading).then(|| PERSON_INSTRUCTIONS.to_owned());
    let of_other = reads_other_agent(&turn.reading).then(|| OTHER_AGENT_INSTRUCTIONS.to_owned());
    let has_files = turns.iter().any(|turn| has_file_text(&turn.text));
    let of_files = has_files.then(|| FILE_TEXT_INSTRUCTIONS.to_owned());
    let journal = turn.journal.as_ref();
    let of_effects = journal.and_then(|drafted| drafted.journal.record.describe_entries());
    // What an earlier effect returned stands between the same marks.
    let has_results = !turn.bound.tools.is_empty() || of_effects.is_some();
    let of_tools = has_results.then(|| TOOL_INSTRUCTIONS.to_owned());
    let of_reading = of_step
        .into_iter()
        .chain(of_tools)
        .chain(of_person)
        .chain(of_other);
    of_reading.chain(of_files).chain(of_effects).collect()
}

/// Records the time, the tokens and the error of a request to the model.
pub(super) fn measure_answer(
    deps: &Deps,
    instance: &InstanceId,
    asked_at: Timestamp,
    answer: &Result<LlmReply, LlmError>,
) {
    measure::record_turn_part(instance, TurnPart::Model, asked_at, deps.system().now());
    match answer {
        Ok(reply) => {
            measure::count_tokens(instance, reply.usage);
            measure::count_ignored_decisions(instance, reply.ignored_calls);
            if reply.calls.is_empty() && !has_words(reply) {
                measure::count_model_error(instance, None);
            }
        }
        Err(error) => measure::count_model_error(instance, Some(error)),
    }
}
