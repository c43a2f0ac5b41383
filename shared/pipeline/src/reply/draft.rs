//! What the model is asked, and the messages that its answer becomes.

use super::reading::Reading;
use super::transcript::transcript;
use crate::World;
use crate::connection::model_needs_credentials;
use crate::ports::{Ambient, Llm, LlmError, LlmRequest, PortResult};
use crate::world::{pair_rate, traits};
use recado_domain::config::Bound;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, Draft};
use recado_domain::formatting::to_whatsapp;
use recado_domain::ids::{CorrelationId, Ordinal};
use recado_domain::kick::TurnKick;
use recado_domain::message::{Message, Role, Usage};
use recado_domain::outbox::{Author, Outbox, Part};
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_domain::split::{Split, split};

/// The most messages that one reply becomes. It bounds the transaction that commits them, and what a model that finds no
/// end sends to a contact.
const PARTS_MAX: usize = 10;

const CUT: &str = "the reply was longer than 10 messages: what came after this one is left out";

/// A reply before it is committed.
#[derive(Debug)]
pub(super) struct Answered {
    said: Split,
    model: Option<String>,
    usage: Option<Usage>,
    /// Why the contact is told the agent's error message.
    instead: Option<Reason>,
    /// How fast the contact may be written to.
    pair: Option<Rate>,
}

impl Answered {
    /// These words, in as many messages as they take.
    fn words<W: World>(world: &W, bound: &Bound, text: &str) -> Self {
        let max = traits(world, bound).text_max;
        Self {
            said: split(text, max, PARTS_MAX),
            model: None,
            usage: None,
            instead: None,
            pair: pair_rate(world, bound),
        }
    }

    /// The agent's error message.
    pub(super) fn apology<W: World>(world: &W, bound: &Bound) -> Self {
        Self {
            instead: Some(Reason::ModelFailed),
            ..Self::words(world, bound, &bound.agent.error_message)
        }
    }

    /// The messages that go out, in order, each in its place of the contact's own rate. `first` is the ordinal that the
    /// commit gave.
    pub(super) fn messages<W: World>(
        &self,
        world: &W,
        conversation: &mut Conversation,
        draft: &Draft,
        first: Ordinal,
        correlation: &CorrelationId,
    ) -> Vec<Message> {
        let now = world.ambient().now();
        let of = u32::try_from(self.said.parts.len()).unwrap_or(u32::MAX);
        let mut messages = Vec::with_capacity(self.said.parts.len());
        for (number, text) in (1..=of).zip(&self.said.parts) {
            let ordinal = if number == 1 {
                first
            } else {
                conversation.append(now)
            };
            let to = conversation.address.clone();
            let mut out = Outbox::queued(to, Author::Ai, draft.epoch, draft.covers, now);
            out.turn = Some(draft.turn.clone());
            out.part = (of > 1).then_some(Part { number, of });
            if self.said.cut && number == of {
                out.explain(CUT);
            }
            if let Some(at) = self.pair.and_then(|rate| conversation.reserve_pair(rate, now)) {
                out.wait_until(at);
            }
            let (role, content) = (Role::Assistant, Content::text(text.clone()));
            messages.push(Message {
                unanswered: self.instead,
                model: self.model.clone(),
                // The call was paid for once.
                usage: self.usage.filter(|_| number == 1),
                ..Message::outgoing(conversation, ordinal, role, content, out, now, correlation)
            });
        }
        messages
    }
}

/// The agent's own words for what nobody can read, if it has some and the burst is nothing else.
fn unreadable<W: World>(world: &W, bound: &Bound, reading: &Reading) -> Option<Answered> {
    let words = bound.agent.unsupported_message.as_deref()?;
    let mut owed = reading
        .owed()
        .filter(|message| message.content.wants_answer())
        .peekable();
    owed.peek()?;
    let all = owed.all(|message| matches!(message.content, Content::Unsupported { .. }));
    all.then(|| Answered::words(world, bound, words))
}

/// Asks the model, unless there is nothing that it could read. `None`: its key is missing, the turn must wait.
pub(super) async fn write<W: World>(
    world: &W,
    kick: &TurnKick,
    bound: &Bound,
    reading: &Reading,
) -> PortResult<Option<Answered>> {
    if let Some(answered) = unreadable(world, bound, reading) {
        return Ok(Some(answered));
    }
    let request = LlmRequest {
        model: bound.agent.model.clone(),
        system: bound.agent.system_prompt.clone(),
        turns: transcript(reading),
        max_tokens: bound.agent.max_tokens,
        within: world.settings().llm_timeout,
    };
    match world.llm().complete(&request).await {
        Ok(reply) if !reply.text.trim().is_empty() => Ok(Some(Answered {
            model: Some(reply.model),
            usage: Some(reply.usage),
            // The stored text is what is sent, so that an echo of it is known again; and it is measured as it is sent.
            ..Answered::words(world, bound, &to_whatsapp(reply.text.trim()))
        })),
        Ok(_) => {
            tracing::error!("the model answered with nothing");
            Ok(Some(Answered::apology(world, bound)))
        }
        Err(LlmError::Credentials(_)) => {
            model_needs_credentials(world, &bound.instance.id, &kick.correlation).await?;
            Ok(None)
        }
        Err(error @ (LlmError::Unavailable(_) | LlmError::Refused(_))) => {
            tracing::error!(%error, "the model failed: the agent's error message is the reply");
            Ok(Some(Answered::apology(world, bound)))
        }
    }
}
