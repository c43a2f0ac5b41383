//! What the story keeps of a tenant beside conversations: a delivery, the use of a model, a guest with its invitation.

use super::Story;
use crate::builders::{BASE, Fixture, correlation};
use crate::contract::given;
use crate::ports::succeed;
use crate::stored_usage::store_kept_use;
use jiff::tz::TimeZone;
use recado_domain::access::Caller;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::ids::{GuestId, InvitationId, InvitationTemplateName, OccasionId, TenantId};
use recado_domain::invitations::{InvitationChannel, InvitationTemplate, Occasion, TemplateValues};
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::retention::RetentionPolicy;
use recado_invitations::{InvitationRequest, NamedGuest, send_invitation};
use recado_ports::ports::{DeliveryLink, Store};
use recado_ports::records::guests::find_guest;
use recado_ports::records::invitations::find_invitation;
use recado_ports::table::put_record;

/// The records of a tenant beside conversations.
pub(super) struct RecordsBeside {
    tenant: TenantId,
    delivery: DeliveryKey,
    guest: GuestId,
    invitation: InvitationId,
}

/// Those of them that there still are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeftBeside {
    pub(super) delivery: bool,
    pub(super) used: bool,
    pub(super) guest: bool,
    pub(super) invitation: bool,
}

impl LeftBeside {
    /// Everything of the beginning.
    pub(super) const ALL: Self = Self {
        delivery: true,
        used: true,
        guest: true,
        invitation: true,
    };
}

fn occasion_id() -> OccasionId {
    OccasionId::parse("party").unwrap()
}

/// Links a message that was sent now with its delivery, kept as its tenant's policy says.
pub(super) fn link_delivery(fixture: &Fixture, sent: &Message, policy: &RetentionPolicy) -> DeliveryLink {
    let (provider, external) = (fixture.bound.instance.provider, fixture.external());
    let id = sent.provider_message_id.clone().unwrap();
    DeliveryLink {
        key: DeliveryKey::from_provider_id(provider, &external, &id),
        provider_key: None,
        provider_message_id: Some(id),
        expires: add_duration(BASE, policy.deliveries.to_duration()),
        acknowledgement: None,
    }
}

impl<S: Store + Clone + 'static> Story<S> {
    /// Stores the records beside conversations; `delivery` is that of a message that was sent.
    pub(super) async fn store_beside(&self, fixture: &Fixture, delivery: DeliveryLink) -> RecordsBeside {
        let (store, tenant) = (&self.deps.store, &fixture.bound.tenant);
        let read = StatusUpdate {
            key: delivery.key.clone(),
            status: DeliveryStatus::Read,
            at: BASE,
            provider_message_id: delivery.provider_message_id,
            detail: None,
        };
        succeed(store.record_status(&read, delivery.expires, None)).await;
        let other = fixture.other_contact();
        let mut conversation = given::begun(store, &other).await;
        let kept = tenant.retention.usage;
        store_kept_use(store, &other, &mut conversation, ("model", BASE), kept).await;
        let (guest, invitation) = self.invite_guest(fixture).await;
        RecordsBeside {
            tenant: tenant.id.clone(),
            delivery: delivery.key,
            guest,
            invitation,
        }
    }

    /// Sends an invitation to a number, which makes it a guest.
    async fn invite_guest(&self, fixture: &Fixture) -> (GuestId, InvitationId) {
        let (store, tenant) = (&self.deps.store, &fixture.bound.tenant.id);
        let occasion = Occasion {
            id: occasion_id(),
            tenant: tenant.clone(),
            name: None,
            instance: fixture.instance().clone(),
            starts_at: None,
            time_zone: None,
            language: None,
            cancelled: false,
            reminders: Vec::new(),
        };
        succeed(put_record(store, &occasion)).await;
        let template = InvitationTemplate {
            name: InvitationTemplateName::parse("invite").unwrap(),
            tenant: tenant.clone(),
            channel: InvitationChannel::Whatsapp,
            language: None,
            subject: None,
            text: Some("Venha".to_owned()),
            html: None,
            approved: None,
        };
        succeed(put_record(store, &template)).await;
        let address = fixture.other_contact().address;
        let request = InvitationRequest {
            tenant: Some(tenant.clone()),
            occasion: occasion.id,
            guest: NamedGuest::Phone(address.phone_number().unwrap()),
            channel: InvitationChannel::Whatsapp,
            template: template.name,
            variables: TemplateValues::new(),
            metadata: None,
            key: None,
            send_at: None,
            correlation: correlation(),
        };
        let caller = Caller::installation();
        let sent = Box::pin(send_invitation(&self.deps, &caller, request));
        let invitation = sent.await.unwrap().invitation;
        (invitation.guest, invitation.id)
    }

    /// Looks which of the records there still are.
    pub(super) async fn left_beside(&self, records: &RecordsBeside) -> LeftBeside {
        let (store, tenant) = (&self.deps.store, &records.tenant);
        let day = BASE.to_zoned(TimeZone::UTC).date();
        LeftBeside {
            delivery: succeed(store.find_delivery(&records.delivery))
                .await
                .is_some_and(|delivery| !delivery.erased),
            used: !succeed(store.list_usage(tenant, day, day)).await.is_empty(),
            guest: succeed(find_guest(store, tenant, &occasion_id(), &records.guest))
                .await
                .is_some(),
            invitation: succeed(find_invitation(store, tenant, &records.invitation))
                .await
                .is_some(),
        }
    }
}
