//! A turn that holds its lease: what its steps work with, what features keep during it, and the time that it has.

pub mod draft;
pub mod reading;
pub mod transcript;
pub mod turn_end;

use crate::Deps;
use crate::steps::trace_span::TRACE_TARGET;
use crate::steps::turn::reading::TurnReading;
use crate::steps::turn::transcript::ShownFiles;
use crate::steps::turn::turn_end::TurnStop;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::{AgentStep, InstanceConfig};
use recado_domain::conversation::{AgentPause, Conversation, Draft, UnsentUse};
use recado_domain::millis::add_duration;
use recado_domain::turn::{StepDuration, TurnStep};
use recado_domain::usage::ModelUse;
use recado_domain::wake_up::TurnJob;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// A turn that holds its lease.
#[derive(Debug)]
pub struct LeasedTurn<'a> {
    /// The job that asked for the turn.
    pub job: &'a TurnJob,
    /// The instance's configuration when the turn began.
    pub bound: Arc<InstanceConfig>,
    /// The conversation as the lease was written.
    pub conversation: Conversation,
    /// The messages that the turn reads and those that its reply answers.
    pub reading: TurnReading,
    /// The files of these messages that the model sees.
    pub shown: ShownFiles,
    /// The pause that begins with the reply, because a limit is reached.
    pub pause: Option<AgentPause>,
    /// The state from which the reply is drafted.
    pub draft: Draft,
    /// The tokens of requests to models that led to calls of tools, and to no reply yet.
    pub asked: Vec<ModelUse>,
    /// The values that features keep.
    pub state: TurnState,
    /// The time that the turn has.
    pub time: TurnTime,
    /// The time before which the reply does not leave.
    pub leaves_at: Timestamp,
}

impl LeasedTurn<'_> {
    /// Returns the number of drafts in a row that may be dropped because the contact wrote while they were made.
    pub fn dropped_drafts_max(&self, deps: &Deps) -> u32 {
        let of_instance = self.bound.instance.restart_drafts;
        of_instance.unwrap_or(deps.settings().restart_drafts)
    }

    /// Waits until the time before which the reply does not leave. A draft that took longer waits for nothing. Who writes meanwhile, or
    /// takes the conversation over, is noticed at the commit.
    pub async fn hold_reply(&self, deps: &Deps) -> Result<(), TurnStop> {
        let left = self.time.left_until(self.leaves_at, deps.system().now());
        if !left.is_zero() {
            deps.system().sleep(left).await;
        }
        Ok(())
    }

    /// Returns what the turn used so far, for a turn that ends before its draft is finished.
    pub fn unsent_use(&self) -> UnsentUse {
        let rewriting = self.draft.turn.rewriting.as_deref();
        UnsentUse {
            agent: self.bound.agent.id.clone(),
            models: self.asked.iter().chain(rewriting).cloned().collect(),
            drafted_by: None,
            kept: self.bound.tenant.retention.usage,
        }
    }

    /// Returns the step of the agent's script at which the conversation is. A step that the agent no longer has leads to
    /// the first.
    pub fn script_step(&self) -> Option<&AgentStep> {
        self.bound
            .agent
            .resolve_step(self.conversation.features.step.as_ref())
    }
}

/// The values that features keep during a turn: at most one of a type. Each feature has types of its own.
#[derive(Default)]
pub struct TurnState(BTreeMap<TypeId, Box<dyn Any + Send + Sync>>);

impl TurnState {
    /// Keeps a value, in place of an earlier one of its type.
    pub fn keep<T: Any + Send + Sync>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// Returns the value of this type, if one is kept.
    pub fn find<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref::<T>()
    }

    /// Returns the value of this type to be changed, if one is kept.
    pub fn find_mut<T: Any>(&mut self) -> Option<&mut T> {
        self.0.get_mut(&TypeId::of::<T>())?.downcast_mut::<T>()
    }

    /// Takes the value of this type out, if one is kept.
    pub fn take<T: Any>(&mut self) -> Option<T> {
        let kept = self.0.remove(&TypeId::of::<T>())?;
        kept.downcast::<T>().ok().map(|kept| *kept)
    }
}

impl fmt::Debug for TurnState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TurnState")
            .field("values", &self.0.len())
            .finish_non_exhaustive()
    }
}

/// The durations of the steps that a turn has taken.
#[derive(Debug, Default)]
pub struct StepTimes {
    taken: Vec<StepDuration>,
}

impl StepTimes {
    /// Runs a step in its span, and keeps its duration.
    pub fn run<'a, T: Send + 'a>(
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
    pub fn durations(&self) -> &[StepDuration] {
        &self.taken
    }
}

/// Maximum time from the start of a turn to the answer of the model. The function's time-out is 90 seconds.
const TURN_TIME: SignedDuration = SignedDuration::from_secs(85);

/// Time that is left for the commit before the function ends.
const COMMIT_TIME: SignedDuration = SignedDuration::from_secs(5);

/// Shortest time for which a model is asked. A turn with less comes back.
const MODEL_TIME_MIN: SignedDuration = SignedDuration::from_secs(5);

/// The time that a turn has for everything before its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnTime {
    ends: Timestamp,
    /// The end of the function, if it ends.
    pub deadline: Option<Timestamp>,
}

impl TurnTime {
    /// Makes the time of a turn that begins at `began_at`, in a function that ends at `deadline`, if it ends.
    pub fn from_start(began_at: Timestamp, deadline: Option<Timestamp>) -> Self {
        let ends = add_duration(began_at, TURN_TIME);
        let latest = deadline.map(|deadline| add_duration(deadline, -COMMIT_TIME));
        Self {
            ends: latest.map_or(ends, |latest| latest.min(ends)),
            deadline,
        }
    }

    /// Returns the time that the model has from `now` on, at most `usual`. `None`: too little is left to ask it.
    pub fn left_for_model(self, now: Timestamp, usual: SignedDuration) -> Option<Duration> {
        let left = self.ends.duration_since(now).min(usual);
        (left >= MODEL_TIME_MIN.min(usual)).then(|| left.unsigned_abs())
    }

    /// Returns the time at which the last call of a tool must have ended. The model keeps its shortest time.
    pub fn last_call_ends(self) -> Timestamp {
        add_duration(self.ends, -MODEL_TIME_MIN)
    }

    /// Returns the time that the turn may wait from `now` on for what the model should read, at most `usual`. The model
    /// keeps its shortest time.
    pub fn left_for_files(self, now: Timestamp, usual: SignedDuration) -> SignedDuration {
        let left = self.ends.duration_since(now) - MODEL_TIME_MIN;
        left.clamp(SignedDuration::ZERO, usual)
    }

    /// Returns the time from `now` until `at`, or until the turn must commit if that is sooner.
    pub fn left_until(self, at: Timestamp, now: Timestamp) -> Duration {
        let left = at.min(self.ends).duration_since(now);
        left.max(SignedDuration::ZERO).unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn a_turn_keeps_one_value_of_each_type() {
        let mut state = TurnState::default();
        state.keep(7_u32);
        state.keep("oi".to_owned());
        state.keep(8_u32);
        assert_eq!(state.find::<u32>(), Some(&8));
        if let Some(words) = state.find_mut::<String>() {
            words.push('!');
        }
        assert_eq!(state.take::<String>().as_deref(), Some("oi!"));
        assert_eq!(state.find::<String>(), None);
    }

    const USUAL: SignedDuration = SignedDuration::from_secs(60);

    fn at(second: i64) -> Timestamp {
        from_unix_millis(second * 1_000)
    }

    fn left(time: TurnTime, second: i64) -> Option<u64> {
        time.left_for_model(at(second), USUAL).map(|left| left.as_secs())
    }

    #[test]
    fn the_model_has_what_is_left_of_85_seconds_and_60_at_most() {
        let time = TurnTime::from_start(at(0), None);
        let expected = [
            (0, Some(60)),
            (25, Some(60)),
            (29, Some(56)),
            (80, Some(5)),
            (81, None),
            (99, None),
        ];
        for (second, expected) in expected {
            assert_eq!(left(time, second), expected, "after {second} s");
        }
    }

    #[test]
    fn a_turn_that_begins_late_in_its_function_ends_before_it() {
        let time = TurnTime::from_start(at(30), Some(at(90)));
        for (second, expected) in [(30, Some(55)), (60, Some(25)), (81, None)] {
            assert_eq!(left(time, second), expected, "after {second} s");
        }
        let early = TurnTime::from_start(at(0), Some(at(90)));
        assert_eq!(early.ends, TurnTime::from_start(at(0), None).ends);
    }

    #[test]
    fn a_wait_ends_at_its_time_or_when_the_turn_must_commit() {
        let time = TurnTime::from_start(at(0), None);
        for (now, until, expected) in [(1, 3, 2), (3, 3, 0), (9, 3, 0), (84, 90, 1), (86, 90, 0)] {
            let left = time.left_until(at(until), at(now));
            assert_eq!(left.as_secs(), expected, "from {now} s until {until} s");
        }
    }

    #[test]
    fn files_leave_the_model_its_shortest_time() {
        let time = TurnTime::from_start(at(0), None);
        let usual = SignedDuration::from_secs(25);
        for (second, expected) in [(0, 25), (55, 25), (70, 10), (80, 0), (95, 0)] {
            let left = time.left_for_files(at(second), usual);
            assert_eq!(left.as_secs(), expected, "after {second} s");
        }
    }
}
