//! A call of a tool of the agent: whether it may be made, and what is noted of it.

use jiff::Timestamp;
use recado_domain::tools::{Tool, ToolOutcome, render_tool_result};
use recado_pipeline::Deps;
use recado_pipeline::hooks::turn_part::AnsweredCall;
use recado_pipeline::steps::turn::LeasedTurn;
use recado_ports::ports::{ModelCall, ToolFailure, ToolLimits};
use recado_ports::time_limit::run_within;

/// The outcome of a call, and the words for the model.
pub(super) type Told = (ToolOutcome, String);

/// Returns the agent's tool that a call names, if it is one of `which`.
pub(super) fn find_called_tool(
    turn: &LeasedTurn<'_>,
    call: &ModelCall,
    which: impl Fn(&Tool) -> bool,
) -> Option<Tool> {
    let mut tools = turn.bound.tools.iter();
    let named = tools.find(|tool| tool.model_name() == call.name);
    named.filter(|tool| which(tool)).cloned()
}

/// Checks whether a call may be made, and returns its limits; else the outcome and the words for the model.
pub(super) async fn check_call(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    tool: &Tool,
    call: &ModelCall,
) -> Result<ToolLimits, Told> {
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

/// Notes a call that began at `began_at` and ended with `told` on the turn's record. Returns the answer for the model.
pub(super) fn note_call(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    (tool, call): (&Tool, &ModelCall),
    began_at: Timestamp,
    (outcome, text): Told,
) -> AnsweredCall {
    let passed = deps.system().now().duration_since(began_at).as_millis();
    let ms = u32::try_from(passed).unwrap_or(u32::MAX);
    let text = match &tool.function {
        Some(function) => format!("{text}\n{}", function.describe_today(began_at)),
        None => text,
    };
    tracing::info!(tool = %tool.id, outcome = outcome.as_str(), ms, "a tool was called");
    let record = tool.record_call(&call.arguments, outcome, ms);
    turn.draft.turn.tools.push(record);
    AnsweredCall {
        text: render_tool_result(&call.name, &text),
        stops_others: tool.acts() && outcome != ToolOutcome::Answered,
    }
}

/// Returns the outcome and the words for a call for which too little time is left.
pub(super) fn describe_missing_time() -> Told {
    let told = "no time is left for a call: answer with what you know";
    (ToolOutcome::NoTime, told.to_owned())
}

/// Waits for the answer of a tool or a calendar, within the limits of the call.
pub(super) async fn await_answer<T>(
    deps: &Deps,
    limits: ToolLimits,
    asks: impl Future<Output = Result<T, ToolFailure>>,
) -> Result<T, Told> {
    let answer = run_within(deps.system(), limits.within, asks).await;
    let answer = answer.unwrap_or(Err(ToolFailure::TimedOut));
    answer.map_err(|failure| describe_tool_failure(&failure))
}

pub(super) fn describe_tool_failure(failure: &ToolFailure) -> Told {
    (outcome_of(failure), failure.to_string())
}

/// Returns the outcome of a call that failed.
pub(super) fn outcome_of(failure: &ToolFailure) -> ToolOutcome {
    match failure {
        ToolFailure::BadArguments(_) => ToolOutcome::BadArguments,
        ToolFailure::Credentials => ToolOutcome::NeedsCredentials,
        ToolFailure::TimedOut => ToolOutcome::TimedOut,
        ToolFailure::Failed(_) => ToolOutcome::Failed,
    }
}
