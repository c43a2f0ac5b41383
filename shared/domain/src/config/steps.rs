//! The steps of an agent's script: a prompt for each step, and the steps to which the agent may move from there.

use super::ConfigError;
use super::agent::{Agent, AgentStep};
use crate::decision::{DecisionKind, OfferedDecisions};
use crate::ids::StepId;
use std::collections::BTreeSet;

/// Greatest number of steps of an agent.
const STEPS_MAX: usize = 50;

/// The reasons why the steps of an agent are not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepsError {
    /// Two steps have the same id.
    #[error("step `{0}` is declared twice")]
    DuplicateStep(StepId),
    /// A step has no instructions.
    #[error("step `{0}` needs a prompt")]
    EmptyPrompt(StepId),
    /// A step names a step that does not exist.
    #[error("step `{from}`: there is no step `{to}`")]
    UnknownStep {
        /// The step that names the other.
        from: StepId,
        /// The step that does not exist.
        to: StepId,
    },
    /// A step names itself.
    #[error("step `{0}` leads to itself: the agent stays there anyway")]
    OwnStep(StepId),
    /// No way leads from the first step to a step.
    #[error("step `{step}` cannot be reached from the first step, `{first}`")]
    UnreachableStep {
        /// The step at which conversations begin.
        first: StepId,
        /// The step that no conversation reaches.
        step: StepId,
    },
    /// There are more steps than an agent may have.
    #[error("an agent has at most 50 steps")]
    TooManySteps,
}

impl Agent {
    /// Returns the step at which a conversation is whose record says `step`. Conversations begin at the first step; a step
    /// that the agent no longer has leads back there. `None`: the agent has no steps.
    pub fn resolve_step(&self, step: Option<&StepId>) -> Option<&AgentStep> {
        let found = self.steps.iter().find(|known| Some(&known.id) == step);
        found.or_else(|| self.steps.first())
    }

    /// Returns the decisions that the agent may take at `step`.
    pub fn offered_decisions(&self, step: Option<&AgentStep>) -> OfferedDecisions {
        OfferedDecisions {
            hand_over: self.decisions.contains(&DecisionKind::HandOver),
            resolve: self.decisions.contains(&DecisionKind::Resolve),
            steps: step.map(|step| step.next.clone()).unwrap_or_default(),
        }
    }

    /// Checks the steps: names, prompts, and that each step can be reached from the first.
    pub(super) fn check_steps(&self) -> Result<(), ConfigError> {
        let of = format_args!("agent `{}`", self.id);
        check_all_steps(&self.steps).map_err(|why| ConfigError::of(of, why))
    }
}

fn check_all_steps(steps: &[AgentStep]) -> Result<(), StepsError> {
    if steps.len() > STEPS_MAX {
        return Err(StepsError::TooManySteps);
    }
    let mut known = BTreeSet::new();
    for step in steps {
        if !known.insert(&step.id) {
            return Err(StepsError::DuplicateStep(step.id.clone()));
        }
        if step.prompt.trim().is_empty() {
            return Err(StepsError::EmptyPrompt(step.id.clone()));
        }
    }
    for step in steps {
        if step.next.contains(&step.id) {
            return Err(StepsError::OwnStep(step.id.clone()));
        }
        if let Some(to) = step.next.iter().find(|next| !known.contains(next)) {
            let (from, to) = (step.id.clone(), to.clone());
            return Err(StepsError::UnknownStep { from, to });
        }
    }
    let Some(first) = steps.first() else { return Ok(()) };
    let reached = reachable_steps(steps, first);
    match steps.iter().find(|step| !reached.contains(&step.id)) {
        Some(step) => Err(StepsError::UnreachableStep {
            first: first.id.clone(),
            step: step.id.clone(),
        }),
        None => Ok(()),
    }
}

fn reachable_steps<'a>(steps: &'a [AgentStep], first: &'a AgentStep) -> BTreeSet<&'a StepId> {
    let (mut reached, mut open) = (BTreeSet::from([&first.id]), vec![first]);
    while let Some(step) = open.pop() {
        for next in steps.iter().filter(|other| step.next.contains(&other.id)) {
            if reached.insert(&next.id) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> StepId {
        StepId::parse(text).unwrap()
    }

    fn step(name: &str, next: &[&str]) -> AgentStep {
        AgentStep {
            id: id(name),
            prompt: "Ask.".to_owned(),
            next: next.iter().map(|name| id(name)).collect(),
        }
    }

    #[test]
    fn a_script_whose_steps_are_all_reached_is_sound() {
        assert_eq!(check_all_steps(&[]), Ok(()));
        assert_eq!(check_all_steps(&[step("only", &[])]), Ok(()));
        let there_and_back = [
            step("ask", &["pay"]),
            step("ship", &["ask"]),
            step("pay", &["ship", "ask"]),
        ];
        assert_eq!(check_all_steps(&there_and_back), Ok(()));
    }

    #[test]
    fn each_mistake_is_told_with_its_step() {
        let silent = AgentStep {
            prompt: " ".to_owned(),
            ..step("b", &[])
        };
        let many: Vec<AgentStep> = (0..=STEPS_MAX).map(|n| step(&format!("s{n}"), &[])).collect();
        for (steps, mistake) in [
            (vec![step("a", &[]), step("a", &[])], "step `a` is declared twice"),
            (vec![step("a", &["b"]), silent], "step `b` needs a prompt"),
            (vec![step("a", &["c"])], "step `a`: there is no step `c`"),
            (
                vec![step("a", &["a"])],
                "step `a` leads to itself: the agent stays there anyway",
            ),
            (
                vec![step("a", &["b"]), step("b", &[]), step("c", &["a"])],
                "step `c` cannot be reached from the first step, `a`",
            ),
            (many, "an agent has at most 50 steps"),
        ] {
            assert_eq!(check_all_steps(&steps).unwrap_err().to_string(), mistake);
        }
    }
}
