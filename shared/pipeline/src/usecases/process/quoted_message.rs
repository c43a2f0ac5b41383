//! Finds the message that another one replies to. So people and the model read its words, whether the provider repeats them or not.

use crate::Deps;
use crate::steps::message_target::find_target_message;
use recado_domain::config::InstanceConfig;
use recado_domain::context::shorten_quote;
use recado_domain::event::InboundJob;
use recado_domain::inbound::InboundMessage;
use recado_domain::message::Message;
use recado_ports::ports::PortResult;

/// Notes in `message` which stored message it replies to, and its words as they are stored: what the contact's phone repeats of them
/// may be another text. Only a message of the same thread counts: an id that the contact's phone wrote must not bring the words of
/// another contact. Nothing changes if the message is not found.
pub(super) async fn note_quoted_message(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
    message: &mut Message,
) -> PortResult<()> {
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
