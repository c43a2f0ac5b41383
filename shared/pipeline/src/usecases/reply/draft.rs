//! Drafts a reply: builds the request to the model, and the messages that its answer becomes.

use super::reading::TurnReading;
use super::transcript::build_transcript;
use crate::Deps;
use crate::deps::{capabilities, pair_rate};
use crate::measure::{self, TurnStep};
use crate::ports::{Llm, LlmError, LlmReply, LlmRequest, PortResult, Providers, System};
use crate::steps::connection::record_missing_model_key;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, Draft};
use recado_domain::formatting::markdown_to_whatsapp;
use recado_domain::ids::{CorrelationId, InstanceId, Ordinal};
use recado_domain::message::{Message, NewOutgoing, PreparedContent, TokenUsage};
use recado_domain::outbox::{Author, ReplyPart};
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_domain::split::{SplitText, split_text};
use recado_domain::wake_up::TurnJob;

/// Maximum number of messages that one reply becomes. The limit bounds the transaction that commits them, and the text
/// that a contact gets from a model that does not stop.
const PARTS_MAX: usize = 10;

const CUT_NOTE: &str = "the reply was longer than 10 messages: what came after this one is left out";

/// A reply before it is committed.
#[derive(Debug)]
pub(super) struct DraftedReply {
    split_text: SplitText,
    model: Option<String>,
    usage: Option<TokenUsage>,
    /// Reason for which the contact gets the agent's error message; `None` for a normal reply.
    failure: Option<Reason>,
    /// The contact's own rate, where the provider has one.
    pair: Option<Rate>,
}

impl DraftedReply {
    /// Builds a reply from `text`, split into as many messages as the provider's maximum length requires.
    fn from_text(deps: &impl Deps, bound: &InstanceConfig, text: &str) -> Self {
        let max = capabilities(deps, bound).text_max;
        Self {
            split_text: split_text(text, max, PARTS_MAX),
            model: None,
            usage: None,
            failure: None,
            pair: pair_rate(deps, bound),
        }
    }

    /// Builds a reply with the agent's error message.
    pub(super) fn error_reply(deps: &impl Deps, bound: &InstanceConfig) -> Self {
        Self {
            failure: Some(Reason::ModelFailed),
            ..Self::from_text(deps, bound, &bound.agent.error_message)
        }
    }

    /// Builds the messages to be sent, in order, and reserves a slot in the contact's own rate for each. `first` is the
    /// ordinal that the commit gave to the first message.
    pub(super) fn to_messages(
        &self,
        deps: &impl Deps,
        conversation: &mut Conversation,
        draft: &Draft,
        first: Ordinal,
        correlation: &CorrelationId,
    ) -> Vec<Message> {
        let now = deps.system().now();
        let of = u32::try_from(self.split_text.parts.len()).unwrap_or(u32::MAX);
        let mut messages = Vec::with_capacity(self.split_text.parts.len());
        for (number, text) in (1..=of).zip(&self.split_text.parts) {
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
            let out = &mut message.out;
            out.turn = Some(draft.turn.clone());
            out.part = (of > 1).then_some(ReplyPart { number, of });
            if self.split_text.truncated && number == of {
                out.explain_last_step(CUT_NOTE);
            }
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
}

/// Builds the agent's configured reply to content of unknown kinds. Returns `None` if none is configured, or if the
/// burst contains anything else that expects an answer.
fn draft_unsupported_reply(
    deps: &impl Deps,
    bound: &InstanceConfig,
    reading: &TurnReading,
) -> Option<DraftedReply> {
    let words = bound.agent.unsupported_message.as_deref()?;
    let mut owed = reading
        .owed_messages()
        .filter(|message| message.content.expects_answer())
        .peekable();
    owed.peek()?;
    let all = owed.all(|message| matches!(message.content, Content::Unsupported { .. }));
    all.then(|| DraftedReply::from_text(deps, bound, words))
}

/// Records the time, the tokens and the error of a request to the model.
fn measure_answer(
    deps: &impl Deps,
    instance: &InstanceId,
    asked_at: Timestamp,
    answer: &Result<LlmReply, LlmError>,
) {
    measure::record_turn_step(instance, TurnStep::Model, asked_at, deps.system().now());
    match answer {
        Ok(reply) => {
            measure::count_tokens(instance, reply.usage);
            if reply.text.trim().is_empty() {
                measure::count_model_error(instance, None);
            }
        }
        Err(error) => measure::count_model_error(instance, Some(error)),
    }
}

/// Asks the model for a reply, unless there is nothing that it could read. Returns `None` if the model's key is
/// missing: then the turn must wait. If the model fails or its answer is empty, the reply is the agent's error message.
pub(super) async fn draft_reply(
    deps: &impl Deps,
    job: &TurnJob,
    bound: &InstanceConfig,
    reading: &TurnReading,
) -> PortResult<Option<DraftedReply>> {
    if let Some(answered) = draft_unsupported_reply(deps, bound, reading) {
        return Ok(Some(answered));
    }
    let request = LlmRequest {
        model: bound.agent.model.clone(),
        system: bound.agent.system_prompt.clone(),
        turns: build_transcript(reading),
        max_tokens: bound.agent.max_tokens,
        within: deps.settings().llm_timeout.unsigned_abs(),
        simulated: deps.providers().is_simulated(&bound.instance).await,
    };
    let asked_at = deps.system().now();
    let answer = deps.llm().generate_reply(&request).await;
    measure_answer(deps, &bound.instance.id, asked_at, &answer);
    match answer {
        Ok(reply) if !reply.text.trim().is_empty() => Ok(Some(DraftedReply {
            model: Some(reply.model),
            usage: Some(reply.usage),
            // The stored text is the text that is sent. So its echo is recognized, and its length is measured as it is
            // sent.
            ..DraftedReply::from_text(deps, bound, &markdown_to_whatsapp(reply.text.trim()))
        })),
        Ok(_) => {
            tracing::error!("the model answered with nothing");
            Ok(Some(DraftedReply::error_reply(deps, bound)))
        }
        Err(LlmError::Credentials(_)) => {
            record_missing_model_key(deps, &bound.instance.id, &job.correlation).await?;
            Ok(None)
        }
        Err(error @ (LlmError::Unavailable(_) | LlmError::Refused(_))) => {
            tracing::error!(%error, "the model failed: the agent's error message is the reply");
            Ok(Some(DraftedReply::error_reply(deps, bound)))
        }
    }
}
