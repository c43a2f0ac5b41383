//! Calls the tools that the model asks for while it drafts a reply.

use crate::Deps;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::steps::calendar_call::read_calendar;
use crate::usecases::reply::steps::effect_call::perform_asked_effect;
use crate::usecases::reply::turn_end::TurnStop;
use recado_domain::tools::{Tool, ToolOutcome, TurnToolCall, render_tool_result};
use recado_ports::ports::{LlmReply, ModelCall, ToolExchange, ToolFailure, ToolLimits};
use recado_ports::time_limit::run_within;

/// The words for a call that is none of a tool of the agent: an unknown name, or a decision beside a call.
const NOT_CALLED: &str = "nothing was done: there is no such tool, or it decides, and comes with your reply after you have read the \
    results";

/// The words for a call behind an action that was not done.
const NOT_AFTER_FAILURE: &str =
    "nothing was done: an action before this call was not done. Call again if it still makes sense";

/// Answers the calls of one answer of the model, one after the other, and notes them on the turn's record. Behind an action that
/// is not done nothing is called: it was asked for without that in mind. Ends the turn if an action cannot begin or end in it.
pub(in crate::usecases::reply) async fn answer_calls(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    reply: LlmReply,
) -> Result<ToolExchange, TurnStop> {
    let mut results = Vec::with_capacity(reply.calls.len());
    let mut failed = false;
    for call in &reply.calls {
        let tools = &turn.bound.tools;
        let found = tools.iter().find(|tool| tool.model_name() == call.name);
        let Some(tool) = found.filter(|_| !failed).cloned() else {
            let told = if failed { NOT_AFTER_FAILURE } else { NOT_CALLED };
            results.push(told.to_owned());
            continue;
        };
        let (text, record) = answer_call(deps, turn, &tool, call).await?;
        failed = tool.acts() && record.outcome != ToolOutcome::Answered;
        results.push(render_tool_result(&call.name, &text));
        turn.draft.turn.tools.push(record);
    }
    Ok(ToolExchange {
        said: reply.text,
        calls: reply.calls,
        results,
    })
}

/// Answers one call. Returns the text for the model, and the record.
async fn answer_call(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    tool: &Tool,
    call: &ModelCall,
) -> Result<(String, TurnToolCall), TurnStop> {
    let began_at = deps.system().now();
    let (outcome, text) = match check_call(deps, turn, tool, call).await {
        Ok(limits) if tool.acts() => perform_asked_effect(deps, turn, tool, call, limits).await?,
        Ok(limits) => match &tool.function {
            Some(function) => read_calendar(deps, turn, function, &call.arguments, limits).await,
            None => read_tool(deps, tool, call, limits).await,
        },
        Err(refused) => refused,
    };
    let passed = deps.system().now().duration_since(began_at).as_millis();
    let ms = u32::try_from(passed).unwrap_or(u32::MAX);
    let text = match &tool.function {
        Some(function) => format!("{text}\n{}", function.describe_today(began_at)),
        None => text,
    };
    tracing::info!(tool = %tool.id, outcome = outcome.as_str(), ms, "a tool was called");
    Ok((text, tool.record_call(&call.arguments, outcome, ms)))
}

/// Calls a tool that reads. Returns the outcome, and the words for the model.
async fn read_tool(deps: &Deps, tool: &Tool, call: &ModelCall, limits: ToolLimits) -> (ToolOutcome, String) {
    let calls = deps.llm().call_tool(tool, &call.arguments, limits);
    let answer = run_within(deps.system(), limits.within, calls).await;
    match answer.unwrap_or(Err(ToolFailure::TimedOut)) {
        Ok(answer) => (ToolOutcome::Answered, answer),
        Err(failure) => (outcome_of(&failure), failure.to_string()),
    }
}

/// Checks whether a call may be made, and returns its limits; else the outcome and the words for the model.
async fn check_call(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    tool: &Tool,
    call: &ModelCall,
) -> Result<ToolLimits, (ToolOutcome, String)> {
    let settings = deps.settings();
    if turn.draft.turn.tools.len() >= settings.tool_calls {
        let told = "no further call is made: answer with what you know";
        return Err((ToolOutcome::TooMany, told.to_owned()));
    }
    let left = turn.time.left_for_files(deps.system().now(), tool.time_limit());
    let checking = deps
        .llm()
        .check_arguments(tool, &call.arguments, left.unsigned_abs());
    checking.await.map_err(|mistakes| {
        (
            ToolOutcome::BadArguments,
            format!("the arguments do not fit: {mistakes}"),
        )
    })?;
    let left = turn.time.left_for_files(deps.system().now(), tool.time_limit());
    // What a tool that acts did must be known in this turn: its call is never cut short.
    if left.is_zero() || (tool.acts() && left < tool.time_limit()) {
        return Err(describe_missing_time());
    }
    Ok(ToolLimits {
        within: left.unsigned_abs(),
        private_hosts: settings.private_tools,
    })
}

/// Returns the outcome and the words for a call for which too little time is left.
pub(super) fn describe_missing_time() -> (ToolOutcome, String) {
    let told = "no time is left for a call: answer with what you know";
    (ToolOutcome::NoTime, told.to_owned())
}

pub(super) fn outcome_of(failure: &ToolFailure) -> ToolOutcome {
    match failure {
        ToolFailure::BadArguments(_) => ToolOutcome::BadArguments,
        ToolFailure::Credentials => ToolOutcome::NeedsCredentials,
        ToolFailure::TimedOut => ToolOutcome::TimedOut,
        ToolFailure::Failed(_) => ToolOutcome::Failed,
    }
}
