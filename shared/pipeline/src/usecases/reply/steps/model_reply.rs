//! The step [`recado_domain::turn::TurnStep::Model`]: asks the model for the reply, and has the calls answered that it makes before.

use crate::Deps;
use crate::hooks::turn_part::AnsweredCall;
use crate::measure;
use crate::steps::turn::LeasedTurn;
use crate::steps::turn::draft::{DraftedReply, TurnAnswer, draft_from_answer};
use crate::steps::turn::transcript::{MessageTimes, build_transcript, tells_times};
use crate::steps::turn::turn_end::{TurnEnd, TurnStop};
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::decision::OfferedDecisions;
use recado_domain::message::TokenUsage;
use recado_domain::present::Present;
use recado_domain::usage::ModelUse;
use recado_ports::ports::{LlmError, LlmReply, LlmRequest, ModelCall, ToolExchange};
use std::mem;
use std::time::Duration;

/// The words for a call that no part of the turn answers: an unknown name, or a decision beside a call.
const NOT_CALLED: &str = "nothing was done: there is no such tool, or it decides, and comes with your reply after you have read the \
    results";

/// The words for a call behind an action that was not done.
const NOT_AFTER_FAILURE: &str =
    "nothing was done: an action before this call was not done. Call again if it still makes sense";

/// Drafts the reply from the model's answer, or from that of a part of the turn in its place. Ends the turn if the model's key is missing,
/// or if too little of its time is left. If the model fails or its answer is empty, the reply is the agent's error message.
pub(in crate::usecases::reply) async fn ask_model(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
) -> Result<DraftedReply, TurnStop> {
    let answer = match answer_in_place(deps, turn).await? {
        Some(answer) => answer,
        None => request_answer(deps, turn).await?,
    };
    let mut drafted = draft_from_answer(deps, turn, answer).await?;
    drafted.add_unused_answers(turn.asked.drain(..));
    Ok(drafted)
}

/// Returns the answer of the part of the turn that answers in the place of the model, if one does.
async fn answer_in_place(deps: &Deps, turn: &mut LeasedTurn<'_>) -> Result<Option<TurnAnswer>, TurnStop> {
    for part in deps.features().turn_parts {
        if let Some(answer) = part.answer_in_place(deps, turn).await? {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

/// Asks the model for a reply. It has what is left of the turn's time.
async fn request_answer(deps: &Deps, turn: &mut LeasedTurn<'_>) -> Result<TurnAnswer, TurnStop> {
    for part in deps.features().turn_parts {
        part.prepare_request(deps, turn).await;
    }
    let asked_at = deps.system().now();
    let left = turn.time.left_for_model(asked_at, deps.settings().llm_timeout);
    let mut request = build_request(turn, asked_at, left.ok_or(TurnEnd::NoTimeLeft)?);
    for part in deps.features().turn_parts {
        part.add_to_request(deps, turn, &mut request).await;
    }
    for part in deps.features().turn_parts {
        part.finish_request(deps, turn, &mut request).await?;
    }
    match ask_until_reply(deps, turn, request, deps.system().now()).await {
        Ok(reply) => Ok(Ok(Some(reply))),
        Err(DraftStop::Model(error)) => Ok(Err(error)),
        Err(DraftStop::Turn(ended)) => Err(ended),
    }
}

/// Builds the request of a turn, as far as no part of the turn adds to it.
fn build_request(turn: &mut LeasedTurn<'_>, asked_at: Timestamp, within: Duration) -> LlmRequest {
    let shown = mem::take(&mut turn.shown);
    let bound = &turn.bound;
    let present = Present::of_instance(bound, turn.conversation.contact.name.as_deref(), asked_at);
    let times = MessageTimes {
        now: asked_at,
        zone: present.time_zone(),
    };
    let turns = build_transcript(&turn.reading, shown, Some(times));
    let tells_times = tells_times(&turns);
    LlmRequest {
        tools: Vec::new(),
        exchanges: Vec::new(),
        must_reply: false,
        instructions: Vec::new(),
        present: Some(present.describe(tells_times)),
        knowledge: None,
        decisions: OfferedDecisions::default(),
        model: bound.agent.model.clone(),
        key: bound.agent.model_key.clone(),
        system: bound.agent.prompt_for_model().to_owned(),
        turns,
        max_tokens: bound.agent.max_tokens,
        within,
        simulated: false,
    }
}

/// The reason why there is no reply of the model.
enum DraftStop {
    /// The model gave none.
    Model(LlmError),
    /// The answer to a call ends the turn.
    Turn(TurnStop),
}

impl From<LlmError> for DraftStop {
    fn from(error: LlmError) -> Self {
        Self::Model(error)
    }
}

/// Asks the model, and has the calls answered that it makes, until it replies. The reply carries the tokens of all requests.
async fn ask_until_reply(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    mut request: LlmRequest,
    mut asked_at: Timestamp,
) -> Result<LlmReply, DraftStop> {
    loop {
        // Boxed: few requests are refused, and the others stay small.
        let answer = Box::pin(ask_until_accepted(deps, turn, &mut request)).await;
        let (instance, now) = (&turn.bound.instance.id, deps.system().now());
        measure::record_answer(instance, asked_at, now, answer.as_ref().map(Some));
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

/// Asks the model, again where a part of the turn changes what it refused.
async fn ask_until_accepted(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    request: &mut LlmRequest,
) -> Result<LlmReply, LlmError> {
    let mut mended = 0;
    loop {
        match ask_models(deps, &turn.bound, request).await {
            Ok(reply) => return Ok(reply),
            Err(error) => mend_request(deps, turn, request, error, mended).await?,
        }
        mended += 1;
    }
}

/// Has a refused request changed by the first part of the turn that can. `Err`: none can, or the reason why it stays refused.
async fn mend_request(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    request: &mut LlmRequest,
    mut error: LlmError,
    earlier: usize,
) -> Result<(), LlmError> {
    for part in deps.features().turn_parts {
        match part.mend_request(deps, turn, request, error, earlier).await {
            Ok(()) => return Ok(()),
            Err(left) => error = left,
        }
    }
    Err(error)
}

/// Has the calls of one answer of the model answered, one after the other. Behind an action that is not done nothing is called.
/// Ends the turn if an action cannot begin or end in it.
async fn answer_calls(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    reply: LlmReply,
) -> Result<ToolExchange, TurnStop> {
    let mut results = Vec::with_capacity(reply.calls.len());
    let mut is_stopped = false;
    for call in &reply.calls {
        if is_stopped {
            results.push(NOT_AFTER_FAILURE.to_owned());
            continue;
        }
        let answer = answer_call(deps, turn, call).await?;
        is_stopped = answer.as_ref().is_some_and(|answer| answer.stops_others);
        results.push(answer.map_or_else(|| NOT_CALLED.to_owned(), |answer| answer.text));
    }
    Ok(ToolExchange {
        said: reply.text,
        calls: reply.calls,
        results,
    })
}

/// Has a call answered by the part of the turn whose it is.
async fn answer_call(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    call: &ModelCall,
) -> Result<Option<AnsweredCall>, TurnStop> {
    for part in deps.features().turn_parts {
        if let Some(answer) = part.answer_call(deps, turn, call).await? {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

/// Asks the agent's model. If it is unavailable and the agent has a fallback model, that is asked in what is left of the time: the
/// first then has three fifths of it. The reply names the model that answered. If both fail, the failure is the first's. The
/// request then names the model that answered, so that this one goes on after calls of tools.
async fn ask_models(
    deps: &Deps,
    bound: &InstanceConfig,
    request: &mut LlmRequest,
) -> Result<LlmReply, LlmError> {
    let fallback = bound.agent.fallback_model.as_ref();
    let Some(fallback) = fallback.filter(|fallback| **fallback != request.model) else {
        return deps.llm().generate_reply(request).await;
    };
    let (began_at, whole) = (deps.system().now(), request.within);
    request.within = whole * 3 / 5;
    let failed = match deps.llm().generate_reply(request).await {
        Err(failed @ LlmError::Unavailable(_)) => failed,
        answered => return answered,
    };
    measure::count_model_error(&bound.instance.id, Some(&failed));
    tracing::warn!(error = %failed, model = %request.model, "the fallback model is asked");
    let passed = deps.system().now().duration_since(began_at).unsigned_abs();
    request.within = whole.saturating_sub(passed);
    request.model.clone_from(fallback);
    request.key = bound.agent.own_key_for(fallback).cloned();
    let answered = deps.llm().generate_reply(request).await;
    answered.map_err(|error| {
        if matches!(error, LlmError::FilesRefused(_)) {
            // It is asked again without the files that it refuses.
            return error;
        }
        tracing::error!(%error, model = %request.model, "the fallback model failed, too");
        failed
    })
}
