//! What the model is asked, and the message that its answer becomes.

use super::transcript::transcript;
use crate::World;
use crate::connection::model_needs_credentials;
use crate::ports::{Ambient, Llm, LlmError, LlmRequest, PortResult};
use crate::world::pair_rate;
use recado_domain::config::Bound;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, Draft};
use recado_domain::formatting::to_whatsapp;
use recado_domain::ids::{CorrelationId, Ordinal};
use recado_domain::kick::TurnKick;
use recado_domain::message::{Message, Role, Usage};
use recado_domain::outbox::{Author, Outbox};
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;

/// A reply before it is committed.
#[derive(Debug)]
pub(super) struct Answered {
    text: String,
    model: Option<String>,
    usage: Option<Usage>,
    /// Why the contact is told the agent's error message.
    instead: Option<Reason>,
    /// How fast the contact may be written to.
    pair: Option<Rate>,
}

impl Answered {
    /// The agent's error message.
    pub(super) fn apology<W: World>(world: &W, bound: &Bound) -> Self {
        let instead = Some(Reason::ModelFailed);
        Self {
            text: bound.agent.error_message.clone(),
            model: None,
            usage: None,
            instead,
            pair: pair_rate(world, bound),
        }
    }

    /// The message that goes out, in its place of the contact's own rate.
    pub(super) fn message<W: World>(
        &self,
        world: &W,
        conversation: &mut Conversation,
        draft: &Draft,
        ordinal: Ordinal,
        correlation: &CorrelationId,
    ) -> Message {
        let now = world.ambient().now();
        let to = conversation.address.clone();
        let mut out = Outbox::queued(to, Author::Ai, draft.epoch, draft.covers, now);
        out.turn = Some(draft.turn.clone());
        if let Some(at) = self.pair.and_then(|rate| conversation.reserve_pair(rate, now)) {
            out.wait_until(at);
        }
        let content = Content::text(self.text.clone());
        Message {
            unanswered: self.instead,
            model: self.model.clone(),
            usage: self.usage,
            ..Message::outgoing(
                conversation,
                ordinal,
                Role::Assistant,
                content,
                out,
                now,
                correlation,
            )
        }
    }
}

/// The agent's own words for what nobody can read, if it has some and the burst is nothing else.
fn unreadable<W: World>(world: &W, bound: &Bound, draft: &Draft, messages: &[Message]) -> Option<Answered> {
    let words = bound.agent.unsupported_message.as_deref()?;
    let owed = |message: &&Message| {
        message.role == Role::User
            && message.ordinal > draft.answered
            && message.ordinal <= draft.covers
            && message.content.wants_answer()
    };
    let mut owed = messages.iter().filter(owed).peekable();
    owed.peek()?;
    let all = owed.all(|message| matches!(message.content, Content::Unsupported { .. }));
    all.then(|| Answered {
        text: words.to_owned(),
        model: None,
        usage: None,
        instead: None,
        pair: pair_rate(world, bound),
    })
}

/// Asks the model, unless there is nothing that it could read. `None`: its key is missing, the turn must wait.
pub(super) async fn write<W: World>(
    world: &W,
    kick: &TurnKick,
    bound: &Bound,
    draft: &Draft,
    messages: &[Message],
) -> PortResult<Option<Answered>> {
    if let Some(answered) = unreadable(world, bound, draft, messages) {
        return Ok(Some(answered));
    }
    let request = LlmRequest {
        model: bound.agent.model.clone(),
        system: bound.agent.system_prompt.clone(),
        turns: transcript(messages, draft.answered, draft.covers),
        max_tokens: bound.agent.max_tokens,
        within: world.settings().llm_timeout,
    };
    match world.llm().complete(&request).await {
        Ok(reply) if !reply.text.trim().is_empty() => Ok(Some(Answered {
            // The stored text is what is sent, so that an echo of it is known again.
            text: to_whatsapp(reply.text.trim()),
            model: Some(reply.model),
            usage: Some(reply.usage),
            instead: None,
            pair: pair_rate(world, bound),
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
