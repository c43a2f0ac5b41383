use super::ToolFailure;
use async_trait::async_trait;
use recado_domain::effects::{EffectAction, EffectEntry, Journal};
use serde_json::Value;

/// The answer to the one call of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallAnswer {
    /// A clear yes: the effect happened. Text for the model.
    Done(Option<String>),
    /// A clear no to the only request: the effect did not happen, and will not. Text for the model.
    Refused(Option<String>),
    /// Anything else: a time-out, a conflict, something gone. The effect is settled at once.
    Unclear,
}

/// The answer of the other side to the question whether an effect happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskAnswer {
    /// The effect happened. Text for the model.
    Happened(Option<String>),
    /// The effect did not happen, and cannot any more: a fence stands there, or the event has another version than was read.
    CannotHappen,
    /// The thing that it was about is gone.
    Gone,
    /// The effect did not happen yet. A request that is under way may still bring it.
    NotYet,
    /// The other side gave no answer.
    Unanswered,
}

/// The answer to the putting or the removal of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceAnswer {
    /// The fence is put or removed, or was before.
    Done,
    /// Something else is there by now: ask again.
    Changed,
    /// The other side gave no answer.
    Unanswered,
}

/// The ways in which it can be found out how an effect of a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettlingAbility {
    /// The other side is asked, and a fence keeps late requests from doing anything.
    Fenced,
    /// The other side is asked by the effect's id. Nothing keeps a late request off, so that "not yet" counts 5 minutes after
    /// the entry's time.
    Asked,
    /// Nobody can be asked: without a clear answer to the call the effect is unknown.
    Blind,
}

/// An agent's tool that acts. No call of it is repeated by its client: an answer to a repeat says nothing about the first.
#[async_trait]
pub trait EffectTool: Send + Sync {
    /// Returns how it can be found out how an effect of the tool ended.
    fn settling_ability(&self) -> SettlingAbility;

    /// Returns what a call with these arguments would change. It may look at the other side, and changes nothing. `journal` is
    /// that of the thread.
    async fn plan_effect(&self, arguments: &Value, journal: &Journal) -> Result<EffectAction, ToolFailure> {
        let _ = (arguments, journal);
        Ok(EffectAction::Other)
    }

    /// Makes the one call of an effect, with the entry's id. A change names the version that was read.
    async fn call_effect(&self, entry: &EffectEntry) -> CallAnswer;

    /// Asks whether the effect happened. Changes nothing.
    async fn ask_for_effect(&self, entry: &EffectEntry) -> AskAnswer;

    /// Puts a fence, so that a request of the effect that comes late finds nothing to do: a marked event under the effect's id,
    /// or a touch of the event on condition of the version that was read.
    async fn put_event_fence(&self, entry: &EffectEntry) -> FenceAnswer;

    /// Removes the fence of an effect that failed, if one stands there.
    async fn remove_fence(&self, entry: &EffectEntry) -> FenceAnswer;
}

/// A tool that is not there any more, or has no kind that acts: nothing is called, and nobody answers for its effects.
#[derive(Debug, Clone, Copy)]
pub struct MissingEffectTool;

#[async_trait]
impl EffectTool for MissingEffectTool {
    fn settling_ability(&self) -> SettlingAbility {
        SettlingAbility::Asked
    }

    async fn call_effect(&self, _: &EffectEntry) -> CallAnswer {
        CallAnswer::Refused(None)
    }

    async fn ask_for_effect(&self, _: &EffectEntry) -> AskAnswer {
        AskAnswer::Unanswered
    }

    async fn put_event_fence(&self, _: &EffectEntry) -> FenceAnswer {
        FenceAnswer::Unanswered
    }

    async fn remove_fence(&self, _: &EffectEntry) -> FenceAnswer {
        FenceAnswer::Unanswered
    }
}
