//! Stores a guest with an invitation, and a preference to get no messages, as earlier requests left them.

use crate::builders::{Fixture, fresh, identity_key};
use crate::ports::succeed;
use jiff::{SignedDuration, Timestamp};
use recado_domain::content::Content;
use recado_domain::ids::{
    BatchId, CorrelationId, GuestId, InstanceId, InvitationTemplateName, OccasionId, TokenName,
};
use recado_domain::invitations::{
    Guest, GuestStatus, Invitation, InvitationChannel, InvitationState, Occasion, PlannedMessage,
    write_invitation_id,
};
use recado_domain::metadata::Metadata;
use recado_domain::millis::{add_duration, from_unix_millis};
use recado_domain::opt_out::{OptOut, OptOutSource, RecipientAddress};
use recado_ports::ports::Store;
use recado_ports::records::claims::InvitationClaim;
use recado_ports::records::guests::{GuestOutcome, save_guest};
use recado_ports::records::invitations::{InvitationOutcome, begin_invitation};
use recado_ports::records::opt_outs::apply_opt_out;
use recado_ports::table::{Versioned, put_record};
use serde_json::json;

/// Time for which the guest and its invitation are kept. Some stories are told far ahead.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A guest who is to be stored.
#[derive(Debug, Clone, Copy)]
pub struct GivenGuest<'a> {
    /// The id; `None`: one that nobody has.
    pub id: Option<&'a str>,
    /// The id of the occasion.
    pub occasion: &'a str,
    /// The digits of the number.
    pub phone: Option<&'a str>,
    /// The name.
    pub name: &'a str,
    /// The e-mail address.
    pub email: &'a str,
}

/// Makes an occasion of the fixture's tenant.
pub fn make_occasion(fixture: &Fixture, id: &str) -> Occasion {
    Occasion {
        id: OccasionId::parse(id).unwrap(),
        tenant: fixture.bound.tenant.id.clone(),
        name: None,
        instance: fixture.instance().clone(),
        starts_at: None,
        time_zone: None,
        language: None,
        cancelled: false,
        reminders: Vec::new(),
    }
}

/// Makes a guest of an occasion of the fixture's tenant.
pub fn make_guest(fixture: &Fixture, given: GivenGuest<'_>, now: Timestamp) -> Guest {
    let tenant = &fixture.bound.tenant.id;
    Guest {
        tenant: tenant.clone(),
        occasion: OccasionId::parse(given.occasion).unwrap(),
        id: GuestId::parse(&given.id.map_or_else(|| fresh("guest"), str::to_owned)).unwrap(),
        name: Some(given.name.to_owned()),
        phone: given.phone.map(str::to_owned),
        phone_key: given
            .phone
            .map(|phone| identity_key().derive_phone_key(tenant, phone)),
        email: Some(given.email.to_owned()),
        language: None,
        time_zone: None,
        status: GuestStatus::Pending,
        reply: None,
        created_at: now,
        keep_until: add_duration(now, KEPT),
    }
}

/// Makes an invitation of a guest, with the guest's name in its metadata.
pub fn make_invitation(guest: &Guest, now: Timestamp) -> Invitation {
    let metadata = json!({"for": guest.name});
    Invitation {
        tenant: guest.tenant.clone(),
        id: write_invitation_id(now, getrandom::u64().unwrap()),
        occasion: guest.occasion.clone(),
        guest: guest.id.clone(),
        channel: InvitationChannel::Whatsapp,
        template: InvitationTemplateName::parse("invite").unwrap(),
        language: None,
        state: InvitationState::Taken { planned: None },
        is_free: false,
        session: None,
        not_before: None,
        metadata: metadata
            .as_object()
            .map(|names| Metadata::from_object(names).unwrap()),
        request_hash: "0".repeat(64),
        created_at: now,
        keep_until: add_duration(now, KEPT),
        rev: 1,
    }
}

/// Stores a guest of an occasion of the fixture's tenant, with one invitation that names the guest in its metadata.
pub async fn store_invited_guest<S: Store>(
    store: &S,
    fixture: &Fixture,
    given: GivenGuest<'_>,
    now: Timestamp,
) -> (Guest, Invitation) {
    succeed(put_record(store, &make_occasion(fixture, given.occasion))).await;
    let guest = make_guest(fixture, given, now);
    let mut new = Versioned::new(guest.clone());
    assert_eq!(succeed(save_guest(store, &mut new)).await, GuestOutcome::Written);
    let invitation = make_invitation(&guest, now);
    let claim = InvitationClaim {
        key: fresh("claim"),
        until: add_duration(now, KEPT),
        replaces: None,
    };
    let mut new = Versioned::new(invitation.clone());
    let begun = succeed(begin_invitation(store, &mut new, &[claim], now)).await;
    assert_eq!(begun, InvitationOutcome::Begun);
    (guest, invitation)
}

/// Makes the preference of the person with this WhatsApp address to get no messages that nobody asked for.
pub fn make_opt_out(fixture: &Fixture, address: &str, now: Timestamp) -> OptOut {
    let tenant = &fixture.bound.tenant.id;
    OptOut {
        tenant: tenant.clone(),
        recipient: identity_key().derive_recipient_key(tenant, RecipientAddress::WhatsApp(address)),
        address: Some(address.to_owned()),
        is_stopped: true,
        at: now,
        source: OptOutSource::Message,
    }
}

/// Stores that the person with this WhatsApp address wants no messages that nobody asked for.
pub async fn store_opt_out<S: Store>(store: &S, fixture: &Fixture, address: &str, now: Timestamp) {
    let preference = make_opt_out(fixture, address, now);
    assert!(succeed(apply_opt_out(store, &preference)).await);
}

/// The state of an invitation that is to become a message, with every field of it.
pub fn planned_state() -> InvitationState {
    let at = |millis| Some(from_unix_millis(millis));
    InvitationState::Taken {
        planned: Some(Box::new(PlannedMessage {
            instance: InstanceId::parse("front-desk").unwrap(),
            to: "5215550011223".to_owned(),
            content: Content::from_text("Hola Ana"),
            send_at: at(70_000),
            batch: Some(BatchId::parse("batch_1").unwrap()),
            useful_until: at(90_000),
            by: TokenName::installation(),
            correlation: CorrelationId::parse("c").unwrap(),
            restored_from: at(5_000),
        })),
    }
}
