//! Calls the tools that the model asks for while it drafts a reply.

use crate::Deps;
use crate::ports::{LlmReply, ModelCall, System, ToolExchange, ToolFailure, ToolLimits, Tools};
use crate::steps::time_limit::run_within;
use crate::usecases::reply::leased_turn::LeasedTurn;
use recado_domain::tools::{ArgumentSchema, Tool, ToolOutcome, TurnToolCall, render_tool_result};

/// The words for a call that is none of a tool of the agent: an unknown name, or a decision beside a call.
const NOT_CALLED: &str = "nothing was done: there is no such tool, or it decides, and comes with your reply after you have read the \
    results";

/// Answers the calls of one answer of the model, one after the other, and notes them on the turn's record.
pub(in crate::usecases::reply) async fn answer_calls(
    deps: &impl Deps,
    turn: &mut LeasedTurn<'_>,
    reply: LlmReply,
) -> ToolExchange {
    let mut results = Vec::with_capacity(reply.calls.len());
    for call in &reply.calls {
        let tools = &turn.bound.tools;
        let Some(tool) = tools.iter().find(|tool| tool.model_name() == call.name) else {
            results.push(NOT_CALLED.to_owned());
            continue;
        };
        let (text, record) = answer_call(deps, turn, tool, call).await;
        results.push(render_tool_result(&call.name, &text));
        turn.draft.turn.tools.push(record);
    }
    ToolExchange {
        said: reply.text,
        calls: reply.calls,
        results,
    }
}

/// Answers one call. Returns the text for the model, and the record.
async fn answer_call(
    deps: &impl Deps,
    turn: &LeasedTurn<'_>,
    tool: &Tool,
    call: &ModelCall,
) -> (String, TurnToolCall) {
    let began_at = deps.system().now();
    let (outcome, text) = match check_call(deps, turn, tool, call) {
        Ok(limits) => {
            let calls = deps.llm().call_tool(tool, &call.arguments, limits);
            let answer = run_within(deps.system(), limits.within, calls).await;
            match answer.unwrap_or(Err(ToolFailure::TimedOut)) {
                Ok(answer) => (ToolOutcome::Answered, answer),
                Err(failure) => (outcome_of(&failure), failure.to_string()),
            }
        }
        Err(refused) => refused,
    };
    let passed = deps.system().now().duration_since(began_at).as_millis();
    let ms = u32::try_from(passed).unwrap_or(u32::MAX);
    tracing::info!(tool = %tool.id, outcome = outcome.as_str(), ms, "a tool was called");
    (text, tool.record_call(&call.arguments, outcome, ms))
}

/// Checks whether a call may be made, and returns its limits; else the outcome and the words for the model.
fn check_call(
    deps: &impl Deps,
    turn: &LeasedTurn<'_>,
    tool: &Tool,
    call: &ModelCall,
) -> Result<ToolLimits, (ToolOutcome, String)> {
    let settings = deps.settings();
    if turn.draft.turn.tools.len() >= settings.tool_calls {
        let told = "no further call is made: answer with what you know";
        return Err((ToolOutcome::TooMany, told.to_owned()));
    }
    let schema = ArgumentSchema::compile(&tool.arguments)
        .map_err(|error| (ToolOutcome::BadArguments, error.to_string()))?;
    schema.check_arguments(&call.arguments).map_err(|mistakes| {
        (
            ToolOutcome::BadArguments,
            format!("the arguments do not fit: {mistakes}"),
        )
    })?;
    let left = turn.time.left_for_files(deps.system().now(), tool.time_limit());
    if left.is_zero() {
        let told = "no time is left for a call: answer with what you know";
        return Err((ToolOutcome::NoTime, told.to_owned()));
    }
    Ok(ToolLimits {
        within: left.unsigned_abs(),
        private_hosts: settings.private_tools,
    })
}

fn outcome_of(failure: &ToolFailure) -> ToolOutcome {
    match failure {
        ToolFailure::BadArguments(_) => ToolOutcome::BadArguments,
        ToolFailure::Credentials => ToolOutcome::NeedsCredentials,
        ToolFailure::TimedOut => ToolOutcome::TimedOut,
        ToolFailure::Failed(_) => ToolOutcome::Failed,
    }
}
