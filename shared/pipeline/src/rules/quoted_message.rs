//! Finds the message that another one replies to. So people and the model read its words, whether the provider repeats them or not.

use crate::Deps;
use crate::hooks::inbound_rule::InboundRule;
use crate::steps::inbound_arrival::InboundArrival;
use crate::steps::message_target::find_target_message;
use async_trait::async_trait;
use recado_domain::config::InstanceConfig;
use recado_domain::context::shorten_quote;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_ports::ports::PortResult;

/// Gives a reply the words of the message that it quotes, as they are stored and without our signature.
///
/// Test: `tests/kit/tests/use_cases/replies.rs#people_and_the_model_read_what_was_replied_to_on_every_provider`.
#[derive(Debug)]
pub struct QuotedMessageRule;

#[async_trait]
impl InboundRule for QuotedMessageRule {
    /// Notes in `message` which stored message it replies to, and its words as they are stored: what the contact's phone repeats of them
    /// may be another text. Only a message of the same thread counts: an id that the contact's phone wrote must not bring the words of
    /// another contact. Nothing changes if the message is not found.
    async fn apply_message(
        &self,
        deps: &Deps,
        arrival: &InboundArrival<'_>,
        _conversation: &mut Conversation,
        message: &mut Message,
    ) -> PortResult<()> {
        if arrival.is_of_contact() {
            remove_quoted_signature(arrival.bound, message);
        }
        let InboundArrival {
            job, bound, inbound, ..
        } = *arrival;
        let Some(quoted) = &mut message.context.reply_to else {
            return Ok(());
        };
        let Some(id) = quoted.id.as_deref() else {
            return Ok(());
        };
        let finds = find_target_message(deps, bound, &job.external, Some(&inbound.address), id);
        let found = Box::pin(finds)
            .await?
            .filter(|found| found.conversation.thread_id() == message.conversation.thread_id());
        let Some(found) = found else {
            return Ok(());
        };
        quoted.message = Some(found.message_id());
        // A deleted message has no words any more.
        let words = found.present_content().render_text();
        let is_gone = found.changes.deleted_at().is_some() || words.is_empty();
        quoted.text = (!is_gone).then(|| shorten_quote(&words));
        // The same name for the message wherever it is named later.
        if let Some(known) = found.provider_message_id {
            quoted.id = Some(known);
        }
        Ok(())
    }
}

/// Removes our signature from the text that the message quotes: the model reads what was written, not who signed it.
fn remove_quoted_signature(bound: &InstanceConfig, message: &mut Message) {
    let quoted = message.context.reply_to.as_mut();
    let Some(text) = quoted.and_then(|quoted| quoted.text.as_mut()) else {
        return;
    };
    let signatures = [&bound.agent.signature, &bound.instance.people_signature];
    for signature in signatures.into_iter().flatten() {
        *text = signature.remove_signature(text).to_owned();
    }
}
