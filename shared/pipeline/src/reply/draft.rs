//! What the model is asked, and the messages that its answer becomes.

use super::reading::TurnReading;
use super::transcript::build_transcript;
use crate::Deps;
use crate::connection::record_missing_model_key;
use crate::deps::{capabilities, pair_rate};
use crate::ports::{Llm, LlmError, LlmRequest, PortResult, System};
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, Draft};
use recado_domain::formatting::markdown_to_whatsapp;
use recado_domain::ids::{CorrelationId, Ordinal};
use recado_domain::message::{Message, Role, TokenUsage};
use recado_domain::outbox::{Author, Outbox, ReplyPart};
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_domain::split::{SplitText, split_text};
use recado_domain::wake_up::TurnJob;

/// The most messages that one reply becomes. It bounds the transaction that commits them, and what a model that finds no
/// end sends to a contact.
const PARTS_MAX: usize = 10;

const CUT_NOTE: &str = "the reply was longer than 10 messages: what came after this one is left out";

/// A reply before it is committed.
#[derive(Debug)]
pub(super) struct DraftedReply {
    split_text: SplitText,
    model: Option<String>,
    usage: Option<TokenUsage>,
    /// Why the contact is told the agent's error message.
    failure: Option<Reason>,
    /// How fast the contact may be written to.
    pair: Option<Rate>,
}

impl DraftedReply {
    /// These words, in as many messages as they take.
    fn from_text<W: Deps>(deps: &W, bound: &InstanceConfig, text: &str) -> Self {
        let max = capabilities(deps, bound).text_max;
        Self {
            split_text: split_text(text, max, PARTS_MAX),
            model: None,
            usage: None,
            failure: None,
            pair: pair_rate(deps, bound),
        }
    }

    /// The agent's error message.
    pub(super) fn error_reply<W: Deps>(deps: &W, bound: &InstanceConfig) -> Self {
        Self {
            failure: Some(Reason::ModelFailed),
            ..Self::from_text(deps, bound, &bound.agent.error_message)
        }
    }

    /// The messages that go out, in order, each in its place of the contact's own rate. `first` is the ordinal that the
    /// commit gave.
    pub(super) fn to_messages<W: Deps>(
        &self,
        deps: &W,
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
            let to = conversation.address.clone();
            let mut out = Outbox::new_queued(to, Author::Ai, draft.epoch, draft.covers, now);
            out.turn = Some(draft.turn.clone());
            out.part = (of > 1).then_some(ReplyPart { number, of });
            if self.split_text.truncated && number == of {
                out.explain_last_step(CUT_NOTE);
            }
            if let Some(at) = self
                .pair
                .and_then(|rate| conversation.reserve_pair_slot(rate, now))
            {
                out.delay_until(at);
            }
            let (role, content) = (Role::Assistant, Content::from_text(text.clone()));
            messages.push(Message {
                unanswered: self.failure,
                model: self.model.clone(),
                // The call was paid for once.
                usage: self.usage.filter(|_| number == 1),
                ..Message::new_outgoing(conversation, ordinal, role, content, out, now, correlation)
            });
        }
        messages
    }
}

/// The agent's own words for what nobody can read, if it has some and the burst is nothing else.
fn draft_unsupported_reply<W: Deps>(
    deps: &W,
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

/// Asks the model, unless there is nothing that it could read. `None`: its key is missing, the turn must wait.
pub(super) async fn draft_reply<W: Deps>(
    deps: &W,
    kick: &TurnJob,
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
        within: deps.settings().llm_timeout,
    };
    match deps.llm().generate_reply(&request).await {
        Ok(reply) if !reply.text.trim().is_empty() => Ok(Some(DraftedReply {
            model: Some(reply.model),
            usage: Some(reply.usage),
            // The stored text is what is sent, so that an echo of it is known again; and it is measured as it is sent.
            ..DraftedReply::from_text(deps, bound, &markdown_to_whatsapp(reply.text.trim()))
        })),
        Ok(_) => {
            tracing::error!("the model answered with nothing");
            Ok(Some(DraftedReply::error_reply(deps, bound)))
        }
        Err(LlmError::Credentials(_)) => {
            record_missing_model_key(deps, &bound.instance.id, &kick.correlation).await?;
            Ok(None)
        }
        Err(error @ (LlmError::Unavailable(_) | LlmError::Refused(_))) => {
            tracing::error!(%error, "the model failed: the agent's error message is the reply");
            Ok(Some(DraftedReply::error_reply(deps, bound)))
        }
    }
}
