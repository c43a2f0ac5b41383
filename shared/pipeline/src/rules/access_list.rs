//! Looks at the instance's access list before a contact's message begins a conversation.

use crate::Deps;
use crate::hooks::inbound_rule::InboundRule;
use crate::steps::inbound_arrival::InboundArrival;
use crate::steps::person_thread::{self, FoundThread};
use async_trait::async_trait;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::conversation::ConversationStatus;
use recado_ports::ports::PortResult;

/// Refuses the first message of a contact whom the instance's access list refuses. A conversation that exists goes on.
///
/// Test: `tests/kit/tests/use_cases/access.rs#a_conversation_that_exists_goes_on_until_it_is_resolved`.
#[derive(Debug)]
pub struct AccessListRule;

#[async_trait]
impl InboundRule for AccessListRule {
    /// Returns `true` if the message would begin a conversation and the instance's access list refuses its author. `found` is
    /// the person's thread. What a contact wants of marketing is stored in any case. A message that was stored before the list
    /// changed stays stored. Of a person on the block list, number and linked identity are kept, if the message shows both: the
    /// next message may show one of them.
    async fn refuses_message(
        &self,
        deps: &Deps,
        arrival: &InboundArrival<'_>,
        found: &FoundThread<'_>,
    ) -> PortResult<bool> {
        let (access, inbound) = (&arrival.bound.instance.access, arrival.inbound);
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
        if !access.refuses_person(&names) || person_thread::goes_on_elsewhere(deps, found).await? {
            return Ok(false);
        }
        let record = deps.store().find_event(&arrival.job.event).await?;
        if record.is_some_and(|record| record.stored.is_some()) {
            return Ok(false);
        }
        if access.blocks_person(&names) {
            Box::pin(person_thread::learn_refused_identity(deps, arrival, found)).await?;
        }
        Ok(true)
    }
}
