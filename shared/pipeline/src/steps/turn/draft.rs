//! A drafted reply: what answer it is made of, and the messages that it becomes. A model that gave no answer leaves a note in the
//! state of its instance.

use crate::Deps;
use crate::deps::{capabilities, pair_rate};
use crate::measure;
use crate::steps::enabled_instance::change_unread_state;
use crate::steps::turn::LeasedTurn;
use crate::steps::turn::transcript::strip_repeated_marks;
use crate::steps::turn::turn_end::{TurnEnd, TurnStop};
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::{InstanceConfig, LimitReply};
use recado_domain::conversation::{Conversation, Draft, UnsentUse};
use recado_domain::decision::AgentDecision;
use recado_domain::formatting::format_for_whatsapp;
use recado_domain::ids::{AgentId, ConversationId, CorrelationId, InstanceId, Ordinal};
use recado_domain::instance::InstanceChange;
use recado_domain::message::{Message, NewOutgoing, PreparedContent, TokenUsage};
use recado_domain::millis::add_duration;
use recado_domain::outbox::{Author, Outbox, ReplyPart};
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_domain::signature::Signature;
use recado_domain::split::{SplitText, split_text};
use recado_domain::turn::{StepDuration, TurnRecord};
use recado_domain::usage::ModelUse;
use recado_ports::ports::{LlmError, LlmReply, PortResult};

/// Maximum number of messages that one reply becomes. The limit bounds the transaction that commits them, and the text
/// that a contact gets from a model that does not stop.
const PARTS_MAX: usize = 10;

const CUT_NOTE: &str = "the reply was longer than 10 messages: what came after this one is left out";

/// A reply before it is committed.
#[derive(Debug)]
pub struct DraftedReply {
    split_text: SplitText,
    model: Option<String>,
    usage: Option<TokenUsage>,
    /// Tokens of answers of models that are not in the reply, because the contact gets the agent's error message.
    unused_answers: Vec<ModelUse>,
    /// Reason for which the contact gets the agent's error message, or is told of a pause. `None`: a normal reply.
    failure: Option<Reason>,
    /// The contact's own rate, where the provider has one.
    pair: Option<Rate>,
    /// The agent's signature.
    signature: Option<Signature>,
    /// Time for which the reply is held back.
    delay: SignedDuration,
    /// The decision that the agent took with the reply.
    pub decision: Option<AgentDecision>,
    /// Reason for which nothing is to be answered, so that there are no messages; `None` for a reply.
    pub silence: Option<Reason>,
}

impl DraftedReply {
    /// Builds a reply from `text`, split into as many messages as the provider's maximum length requires.
    pub fn from_text(deps: &Deps, bound: &InstanceConfig, text: &str) -> Self {
        let signature = bound.agent.signature.clone();
        let added = signature.as_ref().map_or(0, Signature::added_length);
        let known = capabilities(deps, bound);
        let max = known.text_max.saturating_sub(added);
        Self {
            signature,
            delay: bound.instance.reply_delay(),
            split_text: split_text(text, max, PARTS_MAX),
            model: None,
            usage: None,
            unused_answers: Vec::new(),
            failure: None,
            pair: pair_rate(deps, bound),
            decision: None,
            silence: None,
        }
    }

    /// Makes the draft of a turn in which nothing is to be answered, for this reason.
    pub fn silence(deps: &Deps, bound: &InstanceConfig, reason: Reason) -> Self {
        Self {
            silence: Some(reason),
            ..Self::from_text(deps, bound, "")
        }
    }

    /// Builds a reply from the model's answer. The stored text is the text that is sent. So its echo is recognized, and
    /// its length is measured as it is sent. A hand-over without words gets the agent's configured words.
    pub fn from_model(deps: &Deps, bound: &InstanceConfig, answer: LlmReply) -> Self {
        let text = match strip_repeated_marks(&answer.text) {
            "" => &bound.agent.hand_over_message,
            text => text,
        };
        Self {
            model: Some(answer.model),
            usage: Some(answer.usage),
            decision: answer.decision,
            ..Self::from_text(deps, bound, &format_for_whatsapp(text, bound.agent.reply_format))
        }
    }

    /// Builds a reply with the agent's error message, which the contact gets for this reason.
    pub fn error_reply(deps: &Deps, bound: &InstanceConfig, reason: Reason) -> Self {
        Self {
            failure: Some(reason),
            ..Self::from_text(deps, bound, &bound.agent.error_message)
        }
    }

    /// Builds the reply that the contact gets when the agent pauses for this reason.
    pub fn pause_reply(deps: &Deps, bound: &InstanceConfig, reason: Reason) -> Self {
        match bound.agent.limits.reply_for(reason) {
            LimitReply::HandOverMessage => Self {
                failure: Some(reason),
                ..Self::from_text(deps, bound, &bound.agent.hand_over_message)
            },
            LimitReply::ErrorMessage | LimitReply::Nothing => Self::error_reply(deps, bound, reason),
        }
    }

    /// Adds the tokens of answers that are not in the reply.
    pub fn add_unused_answers(&mut self, asked: impl IntoIterator<Item = ModelUse>) {
        self.unused_answers.extend(asked);
    }

    /// Returns what the turn of `draft` used, for a reply that is not committed.
    pub fn unsent_use(&self, agent: &AgentId, draft: &Draft) -> UnsentUse {
        let drafted = self.model.clone().zip(self.usage);
        let drafted = drafted.map(|(model, tokens)| ModelUse { model, tokens });
        let rewriting = draft.turn.rewriting.as_deref().cloned();
        let others = self.unused_answers.iter().cloned();
        UnsentUse {
            agent: agent.clone(),
            models: drafted.into_iter().chain(rewriting).chain(others).collect(),
            drafted_by: self.model.clone(),
            kept: draft.turn.usage_kept,
        }
    }

    /// Returns `true` if the contact gets the agent's error message because the model failed.
    pub fn is_model_failure(&self) -> bool {
        self.failure == Some(Reason::ModelFailed)
    }

    /// Returns `true` if the contact gets the agent's error message, or is told of a pause.
    pub fn is_error_reply(&self) -> bool {
        self.failure.is_some()
    }

    /// Builds the messages to be sent, in order, and reserves a slot in the contact's own rate for each. `first` is the
    /// ordinal that the commit gave to the first message, `steps` are the durations of the turn's steps so far, and
    /// `last_words` says that a takeover does not cancel the messages.
    pub fn to_messages(
        &self,
        deps: &Deps,
        conversation: &mut Conversation,
        (draft, first, correlation): (&Draft, Ordinal, &CorrelationId),
        steps: &[StepDuration],
        last_words: bool,
    ) -> Vec<Message> {
        let (now, parts) = (deps.system().now(), &self.split_text.parts);
        let of = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let mut messages = Vec::with_capacity(parts.len());
        for (number, text) in (1..=of).zip(parts) {
            let ordinal = if number == 1 {
                first
            } else {
                conversation.append_message(now)
            };
            let new = NewOutgoing {
                author: Author::Ai,
                to: conversation.address.clone(),
                ordinal,
                covers: draft.covers,
                ready: PreparedContent::from_text(text.clone()),
                pair_rate: self.pair,
                key: None,
                correlation,
            };
            let mut message = new.queue_in(conversation, now);
            let part = ReplyPart { number, of };
            self.prepare_outbox(&mut message.out, part, now);
            message.out.last_words = last_words;
            message.out.turn = Some(self.describe_turn(draft, part, steps));
            messages.push(Message {
                unanswered: self.failure,
                model: self.model.clone(),
                // The model's call was paid for once, so only the first message carries its usage.
                usage: self.usage.filter(|_| number == 1),
                ..message.into_record()
            });
        }
        messages
    }

    /// Sets how a part of the reply is sent.
    fn prepare_outbox(&self, out: &mut Outbox, part: ReplyPart, now: Timestamp) {
        let ReplyPart { number, of } = part;
        // A signature stands once: before the first part, or after the last.
        let signature = self.signature.clone();
        out.signature = signature.filter(|own| number == if own.position.is_at_start() { 1 } else { of });
        if number == 1 && self.delay.is_positive() {
            out.delay_until(out.not_before.unwrap_or(now).max(add_duration(now, self.delay)));
        }
        out.part = (of > 1).then_some(part);
        if self.split_text.truncated && number == of {
            out.explain_last_step(CUT_NOTE);
        }
    }

    /// Returns the record of the turn for a part of the reply. The first part tells all of it.
    fn describe_turn(&self, draft: &Draft, part: ReplyPart, steps: &[StepDuration]) -> TurnRecord {
        let mut turn = draft.turn.clone();
        if part.number == 1 {
            turn.steps = steps.to_vec();
            turn.unused_answers.clone_from(&self.unused_answers);
        } else {
            turn.knowledge = None;
            turn.agent = None;
            turn.rewriting = None;
            turn.tools = Vec::new();
            turn.usage_kept = None;
        }
        turn
    }
}

/// The answer of a model, or of a user's agent in its place. `Ok(None)`: that one says that nothing is to be answered.
pub type TurnAnswer = Result<Option<LlmReply>, LlmError>;

/// Drafts the reply that an answer leads to.
pub async fn draft_from_answer(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    answer: TurnAnswer,
) -> Result<DraftedReply, TurnStop> {
    let bound = &turn.bound;
    match answer {
        Ok(None) => Ok(DraftedReply::silence(deps, bound, Reason::AgentSilent)),
        Ok(Some(reply)) if has_words(&reply) => Ok(DraftedReply::from_model(deps, bound, reply)),
        Ok(Some(LlmReply {
            model, usage, calls, ..
        })) => {
            if calls.is_empty() {
                measure::count_model_error(&bound.instance.id, None);
            }
            tracing::error!("the model answered with nothing");
            record_model_failure(deps, &bound.instance.id, &turn.conversation.id).await?;
            let mut drafted = DraftedReply::error_reply(deps, bound, Reason::ModelFailed);
            drafted.add_unused_answers([ModelUse { model, tokens: usage }]);
            Ok(drafted)
        }
        Err(LlmError::Credentials(_)) => {
            record_missing_model_key(deps, &bound.instance.id, &turn.job.correlation).await?;
            Err(TurnEnd::ModelKeyMissing.into())
        }
        Err(error @ (LlmError::Unavailable(_) | LlmError::Refused(_) | LlmError::FilesRefused(_))) => {
            tracing::error!(%error, "the model failed: the agent's error message is the reply");
            record_model_failure(deps, &bound.instance.id, &turn.conversation.id).await?;
            Ok(DraftedReply::error_reply(deps, bound, Reason::ModelFailed))
        }
    }
}

/// Returns `true` if the contact gets words with the answer: the model's, or those that are configured for a hand-over.
fn has_words(answer: &LlmReply) -> bool {
    let hands_over = matches!(answer.decision, Some(AgentDecision::HandOver { .. }));
    hands_over || !strip_repeated_marks(&answer.text).is_empty()
}

/// Counts a turn in which the model failed. Logs an error if it fails for several contacts from now on.
async fn record_model_failure(
    deps: &Deps,
    instance: &InstanceId,
    conversation: &ConversationId,
) -> PortResult<()> {
    let failed = InstanceChange::ModelFailed {
        conversation: conversation.clone(),
        at: deps.system().now(),
    };
    if change_unread_state(deps, instance, &failed).await?.done {
        tracing::error!(instance_id = %instance, event = "model_fails", "the model fails for several contacts in a row");
    }
    Ok(())
}

/// Stores that the model's key is missing or was refused. Logs an error if that is new.
pub async fn record_missing_model_key(
    deps: &Deps,
    instance: &InstanceId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let missing = InstanceChange::ModelKeyMissing(true);
    if change_unread_state(deps, instance, &missing).await?.done {
        tracing::error!(
            instance_id = %instance, correlation_id = %correlation, event = "needs_credentials",
            "the model's key is missing or was refused: turns wait"
        );
    }
    Ok(())
}
