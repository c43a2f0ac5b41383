//! What the contact is shown while its turn is worked on: that its message was read, that somebody types.

use crate::Deps;
use crate::ports::{Providers, System};
use futures::future::{Either, select};
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

/// So long after it began it is let finish: what is quickly shown is shown also beside a quick reply.
const INDICATOR_MIN: Duration = Duration::from_secs(1);

/// Does `work`, and beside it shows the contact what the instance is configured to show, of the `newest` message that is
/// read. Showing ends with the work, if it lasts that long, and cannot fail: the reply matters, this does not.
pub(super) async fn run_with_typing<W: Deps, T>(
    deps: &W,
    bound: &InstanceConfig,
    conversation: &Conversation,
    newest: Option<&Message>,
    work: impl Future<Output = T> + Send,
) -> T {
    let instance = &bound.instance;
    match newest.and_then(|message| message.provider_message_id.as_deref()) {
        Some(id) if instance.mark_read || instance.typing => {
            let shown =
                deps.providers()
                    .mark_read_and_typing(bound, id, &conversation.address, instance.typing);
            run_with_indicator(deps, work, shown).await
        }
        _ => work.await,
    }
}

async fn run_with_indicator<W: Deps, T>(
    deps: &W,
    work: impl Future<Output = T> + Send,
    shown: impl Future<Output = ()> + Send,
) -> T {
    let began = deps.system().now();
    let (work, shown) = (pin!(work), pin!(shown));
    match select(work, shown).await {
        Either::Right(((), work)) => work.await,
        Either::Left((done, shown)) => {
            let took = deps.system().now().duration_since(began);
            let took = Duration::try_from(took).unwrap_or(INDICATOR_MIN);
            let left = pin!(deps.system().sleep(INDICATOR_MIN.saturating_sub(took)));
            select(shown, left).await;
            done
        }
    }
}
