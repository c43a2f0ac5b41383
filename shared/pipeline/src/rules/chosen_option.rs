//! Understands an answer to a question that was sent as numbered text.

use crate::Deps;
use crate::hooks::inbound_rule::InboundRule;
use crate::steps::inbound_arrival::InboundArrival;
use crate::steps::message_target::find_target_message;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::choice::ChosenOption;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::ids::MessageId;
use recado_domain::message::{Message, Outgoing};
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_ports::ports::PortResult;

/// Largest assumed delay of a provider's clock, which may count whole seconds, behind Recado's.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(2);

/// Notes the option of an open question that the contact's message chooses by its number or its words.
///
/// Test: `tests/kit/tests/use_cases/choices.rs#an_answer_by_number_names_the_option_for_the_model_and_for_people`.
#[derive(Debug)]
pub struct ChosenOptionRule;

#[async_trait]
impl InboundRule for ChosenOptionRule {
    /// Notes in `message` the option that it chooses of the open question. Does so if that went out as numbered text or as a poll. The
    /// contact's next message closes the question, whatever it says; only then the question is read. A message that quotes a question
    /// with numbers chooses from that one, whenever it comes.
    async fn apply_message(
        &self,
        deps: &Deps,
        arrival: &InboundArrival<'_>,
        conversation: &mut Conversation,
        message: &mut Message,
    ) -> PortResult<()> {
        if !arrival.is_of_contact() {
            return Ok(());
        }
        let inbound = arrival.inbound;
        let open = conversation.newest_question();
        if let Some((id, option)) = find_quoted_choice(deps, arrival).await? {
            if open.as_ref() == Some(&id) {
                conversation.close_questions();
            }
            message.context.chosen = Some(Box::new(option));
            message.context.refers_to = Some(id);
            return Ok(());
        }
        let Some(id) = open else {
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
        if let Some(option) = find_typed_option(deps, arrival.bound, &question.content, text) {
            message.context.chosen = Some(Box::new(option));
            message.context.refers_to = Some(id);
        }
        Ok(())
    }
}

/// Finds the option that a typed text names, if the question went out as numbered text or as a poll.
fn find_typed_option(
    deps: &Deps,
    bound: &InstanceConfig,
    question: &Content,
    text: &str,
) -> Option<ChosenOption> {
    let is_poll = matches!(question, Content::Poll { .. });
    let is_typed = is_poll || deps.providers().sends_as_text(&bound.instance, question);
    is_typed.then(|| question.find_option(text)).flatten()
}

/// Finds the question that a text quotes, and the option that it names. Only a quotation with numbered lines is looked up.
async fn find_quoted_choice(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
) -> PortResult<Option<(MessageId, ChosenOption)>> {
    let InboundArrival {
        job, bound, inbound, ..
    } = *arrival;
    let (Content::Text { text }, Some(quoted)) = (&inbound.content, &inbound.context.reply_to) else {
        return Ok(None);
    };
    let is_numbered = quoted.text.as_ref().is_some_and(|text| text.contains("1. "));
    let Some(target) = quoted.id.as_ref().filter(|_| is_numbered) else {
        return Ok(None);
    };
    let found = find_target_message(deps, bound, &job.external, Some(&inbound.address), target).await?;
    let question = found.filter(|found| found.out.is_some() && found.instance == bound.instance.id);
    Ok(question.and_then(|question| {
        let option = find_typed_option(deps, bound, &question.content, text)?;
        Some((question.message_id(), option))
    }))
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
