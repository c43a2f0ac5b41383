//! The step [`recado_domain::turn::TurnStep::Model`]: asks the model for the reply.

use crate::Deps;
use crate::measure::{self, TurnPart};
use crate::ports::{ChatTurn, LlmError, LlmReply, LlmRequest, Providers, System};
use crate::steps::connection::record_missing_model_key;
use crate::usecases::reply::draft::DraftedReply;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::steps::fallback_model::ask_models;
use crate::usecases::reply::transcript::{
    PERSON_INSTRUCTIONS, ShownFiles, build_transcript, reads_person, strip_person_mark,
};
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use jiff::Timestamp;
use recado_domain::config::AgentStep;
use recado_domain::decision::AgentDecision;
use recado_domain::file_text::{FILE_TEXT_INSTRUCTIONS, has_file_text};
use recado_domain::ids::InstanceId;
use recado_domain::reason::Reason;

/// Asks the model for a reply, within what is left of the turn's time. Ends the turn if the model's key is missing, or if too
/// little time is left. If the model fails or its answer is empty, the reply is the agent's error message.
pub(in crate::usecases::reply) async fn ask_model(
    deps: &impl Deps,
    turn: &LeasedTurn<'_>,
    shown: ShownFiles,
    knowledge: Option<String>,
) -> Result<DraftedReply, TurnStop> {
    let (bound, step) = (&turn.bound, turn.script_step());
    if let Some(gone) = turn.conversation.step.as_ref()
        && step.is_none_or(|step| step.id != *gone)
    {
        tracing::warn!(step = %gone, "the step is gone: the conversation goes on at the first");
    }
    let asked_at = deps.system().now();
    let left = turn.time.left_for_model(asked_at, deps.settings().llm_timeout);
    let within = left.ok_or(TurnEnd::NoTimeLeft)?;
    let turns = build_transcript(&turn.reading, shown);
    let request = LlmRequest {
        instructions: list_instructions(turn, step, &turns),
        knowledge,
        decisions: bound.agent.offered_decisions(step),
        model: bound.agent.model.clone(),
        key: bound.agent.model_key.clone(),
        system: bound.agent.prompt_for_model().to_owned(),
        turns,
        max_tokens: bound.agent.max_tokens,
        within,
        simulated: deps.providers().is_simulated(&bound.instance).await,
    };
    let answer = ask_models(deps, bound, request).await;
    measure_answer(deps, &bound.instance.id, asked_at, &answer);
    match answer {
        Ok(reply) if has_words(&reply) => Ok(DraftedReply::from_model(deps, bound, reply)),
        Ok(_) => {
            tracing::error!("the model answered with nothing");
            Ok(DraftedReply::error_reply(deps, bound, Reason::ModelFailed))
        }
        Err(LlmError::Credentials(_)) => {
            record_missing_model_key(deps, &bound.instance.id, &turn.job.correlation).await?;
            Err(TurnEnd::ModelKeyMissing.into())
        }
        Err(error @ (LlmError::Unavailable(_) | LlmError::Refused(_))) => {
            tracing::error!(%error, "the model failed: the agent's error message is the reply");
            Ok(DraftedReply::error_reply(deps, bound, Reason::ModelFailed))
        }
    }
}

/// Returns `true` if the contact gets words with the answer: the model's, or those that are configured for a hand-over.
fn has_words(answer: &LlmReply) -> bool {
    let hands_over = matches!(answer.decision, Some(AgentDecision::HandOver { .. }));
    hands_over || !strip_person_mark(&answer.text).is_empty()
}

/// Lists the model's instructions beside the system prompt: those of the step, about messages of people, about the text of
/// files, and what the agent's tools did so far.
fn list_instructions(turn: &LeasedTurn<'_>, step: Option<&AgentStep>, turns: &[ChatTurn]) -> Vec<String> {
    let of_step = step.map(|step| step.prompt.clone());
    let of_person = reads_person(&turn.reading).then(|| PERSON_INSTRUCTIONS.to_owned());
    let has_files = turns.iter().any(|turn| has_file_text(&turn.text));
    let of_files = has_files.then(|| FILE_TEXT_INSTRUCTIONS.to_owned());
    let journal = turn.journal.as_ref();
    let of_effects = journal.and_then(|drafted| drafted.journal.describe_entries());
    let of_reading = of_step.into_iter().chain(of_person).chain(of_files);
    of_reading.chain(of_effects).collect()
}

/// Records the time, the tokens and the error of a request to the model.
fn measure_answer(
    deps: &impl Deps,
    instance: &InstanceId,
    asked_at: Timestamp,
    answer: &Result<LlmReply, LlmError>,
) {
    measure::record_turn_part(instance, TurnPart::Model, asked_at, deps.system().now());
    match answer {
        Ok(reply) => {
            measure::count_tokens(instance, reply.usage);
            measure::count_ignored_decisions(instance, reply.ignored_calls);
            if !has_words(reply) {
                measure::count_model_error(instance, None);
            }
        }
        Err(error) => measure::count_model_error(instance, Some(error)),
    }
}
