//! Understands an answer to a question that was sent as numbered text.

use crate::Deps;
use crate::ports::{Conversations, PortResult, Providers};
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::inbound::InboundMessage;
use recado_domain::message::{Message, Outgoing};
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;

/// Largest assumed delay of a provider's clock, which may count whole seconds, behind Recado's.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(2);

/// Notes in `message` the option that it chooses, if it is the contact's next message after a question that was sent as
/// numbered text. The question is closed then, whatever the message says. Reads the question, if one is open.
pub(super) async fn note_chosen_option(
    deps: &impl Deps,
    bound: &InstanceConfig,
    conversation: &mut Conversation,
    inbound: &InboundMessage,
    message: &mut Message,
) -> PortResult<()> {
    let Some(id) = conversation.newest_question() else {
        return Ok(());
    };
    if !inbound.content.expects_answer() {
        return Ok(());
    }
    let question = deps
        .store()
        .find_message(&id)
        .await?
        .and_then(Message::into_outgoing);
    let Some(question) = question else {
        conversation.close_questions();
        return Ok(());
    };
    if !has_left_before(&question, message.written_at) {
        // The contact has not seen the question yet, unless it never comes.
        if !question.out.state.is_open() {
            conversation.close_questions();
        }
        return Ok(());
    }
    conversation.close_questions();
    let Content::Text { text } = &inbound.content else {
        return Ok(());
    };
    if !deps.providers().sends_as_text(&bound.instance, &question.content) {
        return Ok(());
    }
    if let Some(option) = question.content.find_option(text) {
        message.context.chosen = Some(Box::new(option));
        message.context.refers_to = Some(id);
    }
    Ok(())
}

/// Returns `true` if the question left, or may have left, before the contact wrote.
fn has_left_before(question: &Outgoing, written_at: Timestamp) -> bool {
    let gone = matches!(
        question.out.state,
        OutboxState::Dead { .. } | OutboxState::Cancelled { .. }
    );
    if gone && !question.out.maybe_sent {
        return false;
    }
    let claimed_at = question.out.last_claimed_at();
    claimed_at.is_some_and(|claimed_at| claimed_at <= add_duration(written_at, CLOCK_TOLERANCE))
}
