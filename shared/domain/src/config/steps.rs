//! The steps of an agent's script: a prompt for each step, and the steps to which the agent may move from there.

use super::ConfigError;
use super::agent::{Agent, AgentStep};
use crate::decision::{DecisionKind, OfferedDecisions};
use crate::ids::StepId;
use std::collections::BTreeSet;

/// Greatest number of steps of an agent.
const STEPS_MAX: usize = 50;

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

fn check_all_steps(steps: &[AgentStep]) -> Result<(), String> {
    if steps.len() > STEPS_MAX {
        return Err(format!("an agent has at most {STEPS_MAX} steps"));
    }
    let mut known = BTreeSet::new();
    for AgentStep { id, prompt, .. } in steps {
        if !known.insert(id) {
            return Err(format!("step `{id}` is declared twice"));
        }
        if prompt.trim().is_empty() {
            return Err(format!("step `{id}` needs a prompt"));
        }
    }
    for AgentStep { id, next, .. } in steps {
        if next.contains(id) {
            return Err(format!(
                "step `{id}` leads to itself: the agent stays there anyway"
            ));
        }
        if let Some(to) = next.iter().find(|next| !known.contains(next)) {
            return Err(format!("step `{id}`: there is no step `{to}`"));
        }
    }
    let Some(first) = steps.first() else { return Ok(()) };
    let reached = reachable_steps(steps, first);
    match steps.iter().find(|step| !reached.contains(&step.id)) {
        Some(AgentStep { id, .. }) => Err(format!(
            "step `{id}` cannot be reached from the first step, `{}`",
            first.id
        )),
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
            assert_eq!(check_all_steps(&steps).unwrap_err(), mistake);
        }
    }
}
