//! Looks at the instance's access list before a contact's message begins a conversation.

use super::identity::{self, FoundThread};
use crate::Deps;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::conversation::ConversationStatus;
use recado_domain::event::InboundJob;
use recado_domain::inbound::InboundMessage;
use recado_ports::ports::PortResult;

/// Returns `true` if the message would begin a conversation and the instance's access list refuses its author. `found` is
/// the person's thread. What a contact wants of marketing is stored in any case. A message that was stored before the list
/// changed stays stored. Of a person on the block list, number and linked identity are kept, if the message shows both: the
/// next message may show one of them.
pub(super) async fn is_refused(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
    found: &FoundThread<'_>,
) -> PortResult<bool> {
    let access = &bound.instance.access;
    let latest = found.newest.as_ref();
    let goes_on = latest.is_some_and(|latest| latest.status == ConversationStatus::Active);
    let is_preference = matches!(
        inbound.content,
        Content::System {
            what: SystemNote::MarketingStopped | SystemNote::MarketingResumed,
            ..
        }
    );
    if goes_on || access.is_empty() || is_preference {
        return Ok(false);
    }
    let phone = inbound.phone.as_deref().and_then(ContactAddress::parse);
    let names: Vec<&ContactAddress> = [
        Some(&inbound.address),
        phone.as_ref(),
        inbound.numberless_identity.as_ref(),
        found.known_as.as_ref(),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !access.refuses_person(&names) || identity::goes_on_elsewhere(deps, found).await? {
        return Ok(false);
    }
    let record = deps.store().find_event(&job.event).await?;
    if record.is_some_and(|record| record.stored.is_some()) {
        return Ok(false);
    }
    if access.blocks_person(&names) {
        Box::pin(identity::learn_refused_identity(deps, job, bound, inbound, found)).await?;
    }
    Ok(true)
}
