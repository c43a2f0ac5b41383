//! Single invitations: a client sends one to a guest, again until that is answered.

use super::Simulator;
use super::batches::{guest_id, occasion_id, template_name};
use super::people::REQUEST_PATIENCE_MS;
use crate::fault_injector::FaultInjector;
use crate::queue::WorkQueues;
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::IdempotencyKey;
use recado_domain::invitations::{InvitationChannel, InvitationState, TemplateValues};
use recado_invitations::{InvitationRequest, NamedGuest};
use recado_pipeline::ports::Store;
use recado_pipeline::random_id;
use std::fmt::Debug;
use std::sync::Arc;

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// A client invites a guest of the first instance, whom it names by this place in the list of guests, or by the number if `to` is
    /// given. Returns what it was told of the invitation.
    pub async fn invite(
        self: &Arc<Self>,
        guest: usize,
        to: Option<&ContactAddress>,
        key: &str,
    ) -> Option<InvitationState> {
        let number = to.and_then(ContactAddress::phone_number);
        let named = number.map_or_else(|| NamedGuest::Id(guest_id(guest)), NamedGuest::Phone);
        for _ in 0..20 {
            let told = self.invite_once(named.clone(), key).await;
            if told.is_some() {
                return told;
            }
            self.simulation().sleep(8_000).await;
        }
        None
    }

    async fn invite_once(self: &Arc<Self>, guest: NamedGuest, key: &str) -> Option<InvitationState> {
        let injector = FaultInjector::new(&self.common, "api");
        let (world, caller) = (self.world(&injector), injector.clone());
        let request = InvitationRequest {
            tenant: None,
            occasion: occasion_id(0),
            guest,
            channel: InvitationChannel::Whatsapp,
            template: template_name(),
            variables: TemplateValues::new(),
            metadata: None,
            send_at: None,
            key: IdempotencyKey::parse(key).ok(),
            correlation: random_id::generate_correlation_id(&caller),
        };
        let request = async move {
            let sent = Box::pin(recado_invitations::send_invitation(
                &world,
                &Caller::installation(),
                request,
            ))
            .await;
            sent.ok().map(|accepted| accepted.invitation.state)
        };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request)
            .await
            .flatten()
    }
}
