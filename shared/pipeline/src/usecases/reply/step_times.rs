//! Runs the steps of a turn, each in a span of its own, and keeps their durations.

use super::turn_end::TurnStop;
use crate::Deps;
use crate::steps::trace_span::TRACE_TARGET;
use recado_domain::turn::{StepDuration, TurnStep};
use std::future::Future;
use tracing::Instrument;

/// The durations of the steps that a turn has taken.
#[derive(Debug, Default)]
pub(super) struct StepTimes {
    taken: Vec<StepDuration>,
}

impl StepTimes {
    /// Runs a step in its span, and keeps its duration.
    pub(super) fn run<'a, T: Send + 'a>(
        &'a mut self,
        deps: &'a Deps,
        step: TurnStep,
        work: impl Future<Output = Result<T, TurnStop>> + Send + 'a,
    ) -> impl Future<Output = Result<T, TurnStop>> + Send + 'a {
        // Boxed, or the future of a turn would hold those of all its steps, one beside the other.
        let work = Box::pin(work);
        async move {
            let began_at = deps.system().now();
            let done = async {
                let done = work.await;
                if let Err(TurnStop::Ended(end)) = &done {
                    end.log_end();
                }
                done
            };
            let done = done
                .instrument(tracing::info_span!(target: TRACE_TARGET, "step", step = step.as_str()))
                .await;
            let took = deps.system().now().duration_since(began_at).as_millis();
            // Less than a millisecond, or the clock was set back.
            if let Ok(took @ 1..) = u32::try_from(took) {
                self.taken.push(StepDuration(step, took));
            }
            done
        }
    }

    /// Returns the durations of the steps so far, in their order.
    pub(super) fn durations(&self) -> &[StepDuration] {
        &self.taken
    }
}
