//! The record of a turn, kept for later questions about how a reply came about.

use crate::ids::AgentId;
use crate::knowledge::TurnKnowledge;
use crate::millis;
use crate::model_use::ModelUse;
use crate::retention::RetentionPeriod;
use crate::tools::TurnToolCall;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// A named step of a turn, in the order in which a turn takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TurnStep {
    /// Reads the conversation and its newest messages.
    Read,
    /// Checks that the agent owes an answer now, and that no other worker drafts it.
    Owed,
    /// Finds the configuration of the instance.
    Instance,
    /// Checks the opening hours.
    Hours,
    /// Reads what the agent's tools did for the contact so far.
    Journal,
    /// Chooses the messages that the turn reads.
    Choose,
    /// Checks the agent's limits in this thread.
    Limits,
    /// Takes a place among the turns of the tenant that run at once, if it limits these.
    Place,
    /// Takes the lease and counts the attempt.
    Lease,
    /// Takes a reply that needs no model, if the turn has one.
    ReadyReply,
    /// Fetches the files of the messages that are to be answered.
    Files,
    /// Has recordings transcribed and documents read.
    FileTexts,
    /// Opens the files that the model sees.
    ShownFiles,
    /// Finds what the agent's documents say about the contact's messages.
    Knowledge,
    /// Asks the model for the reply.
    Model,
    /// Waits until the contact had time to write the next line.
    Hold,
    /// Commits the reply and enqueues the jobs that follow from it.
    Commit,
    /// A step of another version of Recado.
    #[serde(other)]
    Unknown,
}

impl TurnStep {
    /// Returns the word that records, logs and the API use.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The duration of one step of a turn, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepDuration(pub TurnStep, pub u32);

/// The record of the turn that wrote a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// Time at which the turn took its lease and asked the model.
    #[serde(with = "millis")]
    pub began_at: Timestamp,
    /// Number of the attempt, counted from 1. The attempts before it crashed or failed.
    pub attempt: u32,
    /// Arrival time of the oldest message that the reply answers.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    /// Time of the turn if it waited for an opening: the opening, or later where others waited, too. Else `None`.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub opening: Option<Timestamp>,
    /// Durations of the steps before the commit, in their order. Steps of less than a millisecond are left out. A reply
    /// of several parts carries them on its first part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepDuration>,
    /// Number of the newest effect that the draft knew when it began; `None` if the thread had no journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects_upto: Option<u64>,
    /// The knowledge that the model was shown; `None` if the agent has none. A reply of several parts carries it on its first
    /// part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<TurnKnowledge>,
    /// The agent that answered. A reply of several parts carries it on its first part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The model that was asked to rewrite the question for a search, with its tokens; `None` if none answered. A reply of several
    /// parts carries it on its first part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewriting: Option<Box<ModelUse>>,
    /// Tokens of answers of models that became no reply: the contact gets the agent's error message. A reply of several parts
    /// carries them on its first part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_answers: Vec<ModelUse>,
    /// Time for which the tenant keeps sums of what models used, if it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_kept: Option<RetentionPeriod>,
    /// The calls of tools while the reply was drafted, in their order. A reply of several parts carries them on its first
    /// part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<TurnToolCall>,
}

impl TurnRecord {
    /// Returns the time since which the contact waits: the arrival of the oldest message that the reply answers, or the
    /// opening time if the turn waited for it.
    pub fn answers_since(&self) -> Option<Timestamp> {
        self.opening.or(self.asked_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_its_steps_in_few_letters_and_reads_those_of_other_versions() {
        let steps = vec![
            StepDuration(TurnStep::Read, 3),
            StepDuration(TurnStep::ReadyReply, 812),
        ];
        let text = serde_json::to_string(&steps).unwrap();
        assert_eq!(text, r#"[["read",3],["ready_reply",812]]"#);
        assert_eq!(serde_json::from_str::<Vec<StepDuration>>(&text).unwrap(), steps);
        let later: Vec<StepDuration> = serde_json::from_str(r#"[["telepathy",5]]"#).unwrap();
        assert_eq!(later, [StepDuration(TurnStep::Unknown, 5)]);
        let earlier: TurnRecord = serde_json::from_str(r#"{"began_at":1,"attempt":1}"#).unwrap();
        assert_eq!(earlier.steps, []);
    }

    #[test]
    fn the_word_of_a_step_is_the_one_in_records() {
        use TurnStep::{
            Choose, Commit, FileTexts, Files, Hold, Hours, Instance, Journal, Knowledge, Lease, Limits,
            Model, Owed, Place, Read, ReadyReply, ShownFiles, Unknown,
        };
        for step in [
            Read, Owed, Instance, Hours, Journal, Choose, Limits, Place, Lease, ReadyReply, Files, FileTexts,
            ShownFiles, Knowledge, Model, Hold, Commit, Unknown,
        ] {
            assert_eq!(serde_json::to_value(step).unwrap(), step.as_str());
        }
    }
}
