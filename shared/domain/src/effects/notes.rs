//! Tells the model of the effects so far.

use super::{EffectEntry, EffectState, Journal};
use crate::config::tools::render_tool_result;
use crate::file_text::disarm_marks;
use std::fmt::Write;

/// Characters of a tool's answer that a note repeats at most.
const RESULT_CHARACTERS: usize = 500;

fn describe_state(entry: &EffectEntry) -> &'static str {
    match entry.state {
        EffectState::Doing => "is under way. Nobody knows yet whether it happened",
        EffectState::Done => "is done. Do not do it again",
        EffectState::Failed => "did not happen, and will not",
        EffectState::Void => "did not happen, since what it was about is gone",
        EffectState::Unknown => {
            "may have happened. Nobody could find out yet: do not do it again, and do not say that it is done"
        }
    }
}

impl EffectEntry {
    /// Returns what the model is told at the end of the effect, in the draft that asked for it.
    pub fn describe_end(&self) -> String {
        let told = format!("action {} {}.", self.number, describe_state(self));
        match &self.result {
            Some(result) => format!("{told}\n{result}"),
            None => told,
        }
    }

    /// Returns the line that tells a person of the effect.
    pub fn describe_for_people(&self) -> String {
        let ended = match self.state {
            EffectState::Doing => "is under way",
            EffectState::Done => "was done",
            EffectState::Failed => "did not happen",
            EffectState::Void => "did not happen, since what it was about is gone",
            EffectState::Unknown => "may have happened: nobody could find out",
        };
        format!(
            "Action {}, {} with {}: {ended}.",
            self.number, self.tool.name, self.arguments
        )
    }

    /// Returns the line that tells the model of the effect.
    pub fn describe_entry(&self) -> String {
        let mut line = format!(
            "action {}: {} with {} {}.",
            self.number,
            self.tool.name,
            disarm_marks(&self.arguments.to_string()),
            describe_state(self)
        );
        if let Some(result) = &self.result {
            let short: String = result.chars().take(RESULT_CHARACTERS).collect();
            let shown = render_tool_result(&self.tool.name, &short);
            let _never_fails = write!(line, " The tool answered:\n{shown}");
        }
        line
    }
}

impl Journal {
    /// Returns what a draft is told of the effects so far; `None` if there were none.
    pub fn describe_entries(&self) -> Option<String> {
        let mut text = String::from(
            "What you have done for this contact so far, in its order. Go on from there. Say that something is done only if it says so here.",
        );
        for entry in &self.entries {
            let _never_fails = write!(text, "\n- {}", entry.describe_entry());
        }
        (!self.entries.is_empty()).then_some(text)
    }
}
