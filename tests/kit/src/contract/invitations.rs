//! Invitations: found by tenant and occasion, written by revision, claimed once.

use super::guests::{Named, save_new};
use super::patience::{INDEX, eventually};
use crate::builders::{at, far_ahead, fresh};
use crate::ports::succeed;
use crate::stored_guest::planned_state;
use jiff::Timestamp;
use recado_domain::email::{Email, EmailAddress, EmailOutbox, Mailbox};
use recado_domain::ids::{EmailSenderId, GuestId, InvitationId, InvitationTemplateName, MessageId, Nonce};
use recado_domain::invitations::{Invitation, InvitationChannel, InvitationState, write_invitation_id};
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_ports::ports::{
    InvitationClaim, InvitationOutcome, OverdueWork, PageRequest, Store, WriteOutcome,
};
use recado_ports::records::guests::{delete_guest_record, find_guest, list_guests};
use recado_ports::records::invitations::delete_invitations_of_guest;
use recado_ports::records::occasions::{
    list_invitation_templates, list_occasions, put_invitation_template, put_occasion,
};

impl Named {
    fn invitation(&self, guest: &str, made: i64) -> Invitation {
        Invitation {
            tenant: self.tenant.clone(),
            id: write_invitation_id(at(made), 7),
            occasion: self.occasion.clone(),
            guest: GuestId::parse(guest).unwrap(),
            channel: InvitationChannel::Whatsapp,
            template: InvitationTemplateName::parse("invite").unwrap(),
            language: None,
            state: planned_state(),
            is_free: false,
            session: None,
            not_before: None,
            metadata: None,
            request_hash: "0".repeat(64),
            created_at: at(made),
            keep_until: far_ahead(),
            rev: 1,
        }
    }

    async fn begin<S: Store>(
        &self,
        store: &S,
        invitation: &Invitation,
        claims: &[InvitationClaim],
        now: Timestamp,
    ) -> InvitationOutcome {
        succeed(store.begin_invitation(invitation, claims, now)).await
    }
}

fn claim(key: &str, until: i64) -> InvitationClaim {
    InvitationClaim {
        key: key.to_owned(),
        until: at(until),
        replaces: None,
    }
}

fn page(limit: usize, cursor: Option<String>) -> PageRequest {
    PageRequest { limit, cursor }
}

pub async fn a_key_is_claimed_by_one_invitation_until_its_time_is_over<S: Store>(store: &S) {
    let own = Named::new();
    let (first, second) = (own.invitation("g1", 0), own.invitation("g1", 1));
    let claims = [claim("idempotency", 50), claim("dedupe", 100)];
    assert_eq!(
        own.begin(store, &first, &claims, at(0)).await,
        InvitationOutcome::Begun
    );
    let refused = InvitationOutcome::Claimed {
        claim: 1,
        by: first.id.clone(),
    };
    assert_eq!(
        own.begin(store, &second, &claims[1..], at(99)).await,
        refused_at(&refused, 0)
    );
    assert_eq!(own.begin(store, &second, &claims, at(99)).await, refused);
    assert_eq!(
        succeed(store.find_invitation(&own.tenant, &second.id)).await,
        None
    );
    let later = claim("dedupe", 300);
    let begun = own.begin(store, &second, &[later], at(100)).await;
    assert_eq!(begun, InvitationOutcome::Begun);
}

fn refused_at(outcome: &InvitationOutcome, claim: usize) -> InvitationOutcome {
    match outcome {
        InvitationOutcome::Claimed { by, .. } => InvitationOutcome::Claimed {
            claim,
            by: by.clone(),
        },
        InvitationOutcome::Begun => InvitationOutcome::Begun,
    }
}

pub async fn a_claim_is_replaced_only_where_its_invitation_is_named<S: Store>(store: &S) {
    let own = Named::new();
    let (first, second) = (own.invitation("g1", 0), own.invitation("g1", 1));
    let mut wanted = claim("dedupe", 100);
    assert_eq!(
        own.begin(store, &first, &[wanted.clone()], at(0)).await,
        InvitationOutcome::Begun
    );
    wanted.replaces = Some(second.id.clone());
    let refused = own.begin(store, &second, &[wanted.clone()], at(1)).await;
    assert_eq!(
        refused,
        refused_at(
            &InvitationOutcome::Claimed {
                claim: 0,
                by: first.id.clone()
            },
            0
        )
    );
    wanted.replaces = Some(first.id.clone());
    assert_eq!(
        own.begin(store, &second, &[wanted], at(1)).await,
        InvitationOutcome::Begun
    );
}

pub async fn an_invitation_is_written_by_revision_and_listed_by_guest<S: Store>(store: &S) {
    let (own, other) = (Named::new(), Named::new());
    let mut made = Vec::new();
    // The second is of another month.
    for (guest, when) in [("g1", 0), ("g1", 40 * 86_400_000), ("g2", 5)] {
        let one = own.invitation(guest, when);
        assert_eq!(own.begin(store, &one, &[], at(0)).await, InvitationOutcome::Begun);
        made.push(one);
    }
    let changed = made.first_mut().unwrap();
    changed.rev = 2;
    changed.state = InvitationState::Message {
        message: MessageId::parse("c_0123456789abcdef0123456789abcdef-1.4").unwrap(),
    };
    assert_eq!(
        succeed(store.save_invitation(changed)).await,
        WriteOutcome::Written
    );
    assert_eq!(
        succeed(store.save_invitation(changed)).await,
        WriteOutcome::Conflict
    );
    let found = succeed(store.find_invitation(&own.tenant, &changed.id)).await;
    assert_eq!(found.as_ref(), Some(&*changed));
    assert_eq!(
        succeed(store.find_invitation(&other.tenant, &changed.id)).await,
        None
    );
    let unknown = InvitationId::parse("123").unwrap();
    assert_eq!(succeed(store.find_invitation(&own.tenant, &unknown)).await, None);
    let first = succeed(store.list_invitations(&own.tenant, &own.occasion, None, &page(2, None))).await;
    assert_eq!(first.items, made[..2]);
    let rest = page(2, first.next_cursor);
    let rest = succeed(store.list_invitations(&own.tenant, &own.occasion, None, &rest)).await;
    assert_eq!((rest.items, rest.next_cursor), (made[2..].to_vec(), None));
    let guest = &made[2].guest;
    let of_one =
        succeed(store.list_invitations(&own.tenant, &own.occasion, Some(guest), &page(9, None))).await;
    assert_eq!(of_one.items, made[2..]);
    let foreign = succeed(store.list_invitations(&other.tenant, &own.occasion, None, &page(9, None))).await;
    assert_eq!(foreign.items, []);
}

pub async fn a_deleted_guest_takes_its_invitations_along_and_nobody_elses<S: Store>(store: &S) {
    let own = Named::new();
    let guests = [own.guest("g1", Some("5511987654321")), own.guest("g2", None)];
    for guest in &guests {
        save_new(store, guest).await;
        let one = own.invitation(guest.id.as_str(), 0);
        let mut one = one.clone();
        one.id = write_invitation_id(at(0), if guest.id.as_str() == "g1" { 1 } else { 2 });
        assert_eq!(own.begin(store, &one, &[], at(0)).await, InvitationOutcome::Begun);
    }
    for _ in 0..2 {
        succeed(delete_invitations_of_guest(store, &guests[0])).await;
        succeed(delete_guest_record(store, &guests[0])).await;
    }
    let gone = succeed(find_guest(store, &own.tenant, &own.occasion, &guests[0].id)).await;
    assert_eq!(gone, None);
    let left = succeed(store.list_invitations(&own.tenant, &own.occasion, None, &page(9, None))).await;
    let left: Vec<&GuestId> = left.items.iter().map(|one| &one.guest).collect();
    assert_eq!(left, [&guests[1].id]);
}

pub async fn a_removed_tenant_has_no_guests_and_no_invitations_and_another_keeps_them<S: Store>(store: &S) {
    let (gone, other) = (Named::new(), Named::new());
    for one in [&gone, &other] {
        succeed(put_occasion(store, &one.occasion("ev demo"))).await;
        succeed(put_invitation_template(store, &one.template("invite", None))).await;
        save_new(store, &one.guest("g1", Some("5511987654321"))).await;
        let claims = [claim("dedupe", 1_000)];
        let begun = one.begin(store, &one.invitation("g1", 0), &claims, at(0)).await;
        assert_eq!(begun, InvitationOutcome::Begun);
    }
    let deleted = succeed(store.delete_tenant_records(&gone.tenant, &[], 100)).await;
    assert!(deleted >= 5, "{deleted}");
    for (one, left) in [(&gone, 0), (&other, 1)] {
        let occasions = succeed(list_occasions(store, &one.tenant, &page(9, None))).await;
        let templates = succeed(list_invitation_templates(store, &one.tenant, None)).await;
        let guests = succeed(list_guests(store, &one.tenant, &one.occasion, &page(9, None))).await;
        let sent = succeed(store.list_invitations(&one.tenant, &one.occasion, None, &page(9, None))).await;
        let counts = [
            occasions.items.len(),
            templates.len(),
            guests.items.len(),
            sent.items.len(),
        ];
        assert_eq!(counts, [left; 4]);
        let found = succeed(store.find_invitation(&one.tenant, &one.invitation("g1", 0).id)).await;
        assert_eq!(found.is_some(), left == 1);
    }
    let again = gone
        .begin(store, &gone.invitation("g1", 1), &[claim("dedupe", 9)], at(0))
        .await;
    assert_eq!(again, InvitationOutcome::Begun);
}

pub async fn an_email_is_overdue_until_it_was_sent_and_then_found_by_its_carriers_id<S: Store>(store: &S) {
    let named = Named::new();
    let mut invitation = named.invitation("g1", 0);
    // A time that no other case has, long before those that other cases leave open.
    let due = from_unix_millis(4 * 31_557_600_000);
    let email = Email {
        id: invitation.id.to_string(),
        to: EmailAddress::parse("ana@clinic.example").unwrap(),
        from: Mailbox::parse("hello@clinic.example").unwrap(),
        reply_to: None,
        subject: "Boda".to_owned(),
        text: "Hola".to_owned(),
        html: None,
        unsubscribe_url: None,
    };
    let sender = EmailSenderId::parse("mail").unwrap();
    let mut outbox = EmailOutbox::queue_email(sender, email, crate::builders::correlation(), due);
    outbox.wake_at = Some(due);
    invitation.state = InvitationState::Email {
        outbox: Box::new(outbox.clone()),
    };
    let begun = named.begin(store, &invitation, &[], at(0)).await;
    assert_eq!(begun, InvitationOutcome::Begun);
    is_overdue(store, &invitation, due, true).await;
    is_overdue(store, &invitation, add_millis(due, -1), false).await;
    let nonce = Nonce::parse(&"0".repeat(32)).unwrap();
    outbox.begin_attempt(nonce, due).unwrap();
    let carrier_id = fresh("<id#1@carrier/");
    outbox.record_accepted(carrier_id.clone(), false, due).unwrap();
    invitation.state = InvitationState::Email {
        outbox: Box::new(outbox),
    };
    invitation.rev += 1;
    assert_eq!(
        succeed(store.save_invitation(&invitation)).await,
        WriteOutcome::Written
    );
    is_overdue(store, &invitation, far_ahead(), false).await;
    assert_eq!(
        succeed(store.save_invitation(&invitation)).await,
        WriteOutcome::Conflict
    );
    let tenant = &named.tenant;
    let found = succeed(store.find_emailed_invitation(tenant, &carrier_id)).await;
    assert_eq!(found.as_ref(), Some(&invitation));
    let other = Named::new().tenant;
    for (tenant, id) in [(&other, carrier_id.as_str()), (tenant, "another")] {
        assert_eq!(succeed(store.find_emailed_invitation(tenant, id)).await, None);
    }
}

async fn is_overdue<S: Store>(store: &S, invitation: &Invitation, now: Timestamp, expected: bool) {
    let wanted = OverdueWork::Email {
        tenant: invitation.tenant.clone(),
        invitation: invitation.id.clone(),
    };
    let found = async || succeed(store.list_overdue(now, 1_000)).await.contains(&wanted);
    assert_eq!(
        eventually(INDEX, found, |found| *found == expected).await,
        expected
    );
}
