//! A tool that reads, and how a model with it asks: it may answer, fail, hang or be slow, and be called again.

use super::FakeWorld;
use super::tools::LOOKUP;
use crate::fault_injector::FaultInjector;
use recado_pipeline::ports::{LlmRequest, ModelCall, ToolFailure};
use serde_json::json;
use std::collections::VecDeque;
use std::future::pending;

/// The end of words for which the model calls the tool whenever it may.
const OFTEN: &str = "-often";

/// The end of words for which the model's arguments do not fit.
const WRONG: &str = "-wrong";

/// The end of a call of the tool that reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupBehaviour {
    /// Answered.
    Answered,
    /// Answered after so many milliseconds.
    Slow(i64),
    /// Never answered.
    Hangs,
    /// Answered with an error.
    Fails,
    /// The credential is refused.
    Refused,
}

/// The state of the tool that reads.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    behaviours: VecDeque<LookupBehaviour>,
    by_chance: bool,
    called: bool,
}

impl FakeWorld {
    /// The next calls of the tool that reads end like this; the others are answered.
    pub fn let_lookups_end(&self, behaviours: &[LookupBehaviour]) {
        self.state().lookups.behaviours.extend(behaviours);
    }

    /// Each call of the tool that reads ends as chance says.
    pub fn let_lookups_end_by_chance(&self) {
        self.state().lookups.by_chance = true;
    }

    /// Returns `true` if a story says how the calls of a tool that reads end, and there was one.
    pub fn is_lookup_story(&self) -> bool {
        let state = self.state();
        state.lookups.called && !state.lookups.by_chance
    }

    /// The call of the tool that reads, if the model makes it before it replies.
    pub(super) fn next_lookup(request: &LlmRequest, asked: &str) -> Option<ModelCall> {
        let is_offered = request.tools.iter().any(|tool| tool.name == LOOKUP);
        let calls_again = request.exchanges.is_empty() || asked.contains(OFTEN);
        if !is_offered || request.must_reply || !calls_again {
            return None;
        }
        let arguments = if asked.contains(WRONG) {
            json!({"about": 7})
        } else {
            json!({"about": asked})
        };
        Some(ModelCall {
            id: format!("lookup-{}", request.exchanges.len()),
            name: LOOKUP.to_owned(),
            arguments,
            marks: Vec::new(),
        })
    }

    /// Answers a call of the tool that reads, by the function under `injector`.
    pub(super) async fn look_up(&self, injector: &FaultInjector) -> Result<String, ToolFailure> {
        injector.step("lookup").await;
        let simulation = &injector.common.simulation;
        let (scripted, by_chance) = {
            let lookups = &mut self.state().lookups;
            lookups.called = true;
            (lookups.behaviours.pop_front(), lookups.by_chance)
        };
        let behaviour = scripted.unwrap_or_else(|| {
            if by_chance {
                use LookupBehaviour::{Answered, Fails, Hangs, Refused, Slow};
                simulation.pick(&[Answered, Answered, Answered, Slow(3_000), Hangs, Fails, Refused])
            } else {
                LookupBehaviour::Answered
            }
        });
        match behaviour {
            LookupBehaviour::Hangs => pending::<()>().await,
            LookupBehaviour::Slow(milliseconds) => simulation.sleep(milliseconds).await,
            LookupBehaviour::Answered | LookupBehaviour::Fails | LookupBehaviour::Refused => {}
        }
        injector.step("lookup").await;
        match behaviour {
            LookupBehaviour::Fails => Err(ToolFailure::Failed("503".to_owned())),
            LookupBehaviour::Refused => Err(ToolFailure::Credentials),
            LookupBehaviour::Answered | LookupBehaviour::Slow(_) | LookupBehaviour::Hangs => {
                Ok("found".to_owned())
            }
        }
    }
}
