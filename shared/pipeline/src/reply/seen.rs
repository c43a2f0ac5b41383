//! What the contact is shown while its turn is worked on: that its message was read, that somebody types.

use crate::World;
use crate::ports::Providers;
use futures::future::join;
use recado_domain::config::Bound;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use std::future::Future;

/// Does `work`, and beside it shows the contact what the instance is configured to show, of the `newest` message that is
/// read. Showing takes at most 5 seconds and cannot fail: the reply matters, this does not.
pub(super) async fn beside<W: World, T>(
    world: &W,
    bound: &Bound,
    conversation: &Conversation,
    newest: Option<&Message>,
    work: impl Future<Output = T> + Send,
) -> T {
    let instance = &bound.instance;
    match newest.and_then(|message| message.provider_message_id.as_deref()) {
        Some(id) if instance.mark_read || instance.typing => {
            let shown = world
                .providers()
                .seen(bound, id, &conversation.address, instance.typing);
            join(work, shown).await.0
        }
        _ => work.await,
    }
}
