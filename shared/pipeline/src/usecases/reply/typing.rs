//! Shows the contact, while its turn is handled, that its message was read and that somebody types.

use crate::Deps;
use crate::ports::{Providers, System};
use futures::future::{Either, select};
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use std::future::Future;
use std::pin::pin;

/// Minimum time for the request that shows the indicator. A quick request is completed even if the reply is ready
/// sooner.
const INDICATOR_MIN: SignedDuration = SignedDuration::from_secs(1);

/// Runs `work`, and meanwhile shows the contact the indicators that the instance is configured to show. They refer to
/// the `newest` message that is read. The request ends with the work, but not before [`INDICATOR_MIN`]. A failure of
/// the request has no effect, because only the reply matters.
pub(super) async fn run_with_typing<T>(
    deps: &impl Deps,
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

async fn run_with_indicator<T>(
    deps: &impl Deps,
    work: impl Future<Output = T> + Send,
    shown: impl Future<Output = ()> + Send,
) -> T {
    let began = deps.system().now();
    let (work, shown) = (pin!(work), pin!(shown));
    match select(work, shown).await {
        Either::Right(((), work)) => work.await,
        Either::Left((done, shown)) => {
            let took = deps.system().now().duration_since(began);
            // The clock may have been set back.
            let took = if took.is_negative() { INDICATOR_MIN } else { took };
            let left = (INDICATOR_MIN - took).max(SignedDuration::ZERO);
            let left = pin!(deps.system().sleep(left.unsigned_abs()));
            select(shown, left).await;
            done
        }
    }
}
