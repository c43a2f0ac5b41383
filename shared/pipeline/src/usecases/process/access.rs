//! Looks at the instance's access list before a contact's message begins a conversation.

use crate::Deps;
use crate::ports::{Inbox, PortResult};
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::conversation::{Conversation, ConversationStatus};
use recado_domain::event::InboundJob;
use recado_domain::inbound::InboundMessage;

/// Returns `true` if the message would begin a conversation and the instance's access list refuses its author. `latest` is
/// the person's newest conversation. What a contact wants of marketing is stored in any case. A message that was stored
/// before the list changed stays stored.
pub(super) async fn is_blocked(
    deps: &impl Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
    latest: Option<&Conversation>,
) -> PortResult<bool> {
    let access = &bound.instance.access;
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
    let known_as = latest.and_then(|latest| latest.known_as.as_ref());
    let names: Vec<&ContactAddress> = [
        Some(&inbound.address),
        phone.as_ref(),
        inbound.numberless_identity.as_ref(),
        known_as,
    ]
    .into_iter()
    .flatten()
    .collect();
    if !access.refuses_person(&names) {
        return Ok(false);
    }
    let record = deps.store().find_event(&job.event).await?;
    Ok(record.is_none_or(|record| record.stored.is_none()))
}
