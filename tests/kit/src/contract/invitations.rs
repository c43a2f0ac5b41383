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
use recado_ports::ports::{Page, PageRequest, Store, WriteOutcome};
use recado_ports::records::claims::InvitationClaim;
use recado_ports::records::guests::{delete_guest_record, find_guest, list_guests};
use recado_ports::records::invitations::{
    InvitationOutcome, begin_invitation, delete_invitations_of_guest, find_emailed_invitation,
    find_invitation, list_due_emails, list_invitations,
};
use recado_ports::records::occasions::{list_invitation_templates, list_occasions};
use recado_ports::table::{Versioned, put_record, write_record};

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
        let mut new = Versioned::new(invitation.clone());
        succeed(begin_invitation(store, &mut new, claims, now)).await
    }

    /// Lists the invitations of the occasion.
    async fn list<S: Store>(
        &self,
        store: &S,
        guest: Option<&GuestId>,
        page: &PageRequest,
    ) -> Page<Invitation> {
        succeed(list_invitations(store, &self.tenant, &self.occasion, guest, page)).await
    }

    async fn find<S: Store>(&self, store: &S, id: &InvitationId) -> Option<Invitation> {
        let found = succeed(find_invitation(store, &self.tenant, id)).await;
        found.map(|found| found.record)
    }
}

/// A time at which no claim has expired by the clock of the store.
fn ahead(milliseconds: i64) -> Timestamp {
    add_millis(far_ahead(), milliseconds)
}

fn claim(key: &str, until: i64) -> InvitationClaim {
    InvitationClaim {
        key: key.to_owned(),
        until: ahead(until),
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
    let begun = own.begin(store, &first, &claims, ahead(0)).await;
    assert_eq!(begun, InvitationOutcome::Begun);
    let refused_at = |claim| InvitationOutcome::Claimed {
        claim,
        by: first.id.clone(),
    };
    let refused = own.begin(store, &second, &claims[1..], ahead(99)).await;
    assert_eq!(refused, refused_at(0));
    let refused = own.begin(store, &second, &claims, ahead(99)).await;
    assert_eq!(refused, refused_at(1), "the first is over");
    assert_eq!(own.find(store, &second.id).await, None);
    let later = claim("dedupe", 300);
    let begun = own.begin(store, &second, &[later], ahead(100)).await;
    assert_eq!(begun, InvitationOutcome::Begun);
}

pub async fn a_claim_is_replaced_only_where_its_invitation_is_named<S: Store>(store: &S) {
    let own = Named::new();
    let (first, second) = (own.invitation("g1", 0), own.invitation("g1", 1));
    let mut wanted = claim("dedupe", 100);
    let begun = own.begin(store, &first, &[wanted.clone()], ahead(0)).await;
    assert_eq!(begun, InvitationOutcome::Begun);
    wanted.replaces = Some(second.id.clone());
    let refused = own.begin(store, &second, &[wanted.clone()], ahead(1)).await;
    let by = first.id.clone();
    assert_eq!(refused, InvitationOutcome::Claimed { claim: 0, by });
    wanted.replaces = Some(first.id.clone());
    let begun = own.begin(store, &second, &[wanted], ahead(1)).await;
    assert_eq!(begun, InvitationOutcome::Begun);
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
    let mut first = succeed(find_invitation(store, &own.tenant, &made[0].id))
        .await
        .unwrap();
    let mut stale = first.clone();
    let message = MessageId::parse("c_0123456789abcdef0123456789abcdef-1.4").unwrap();
    first.record.become_message(message, None);
    assert_eq!(
        succeed(write_record(store, &mut first)).await,
        WriteOutcome::Written
    );
    assert_eq!(
        succeed(write_record(store, &mut stale)).await,
        WriteOutcome::Conflict
    );
    made[0] = first.record;
    assert_eq!(own.find(store, &made[0].id).await.as_ref(), Some(&made[0]));
    assert_eq!(other.find(store, &made[0].id).await, None);
    let unknown = InvitationId::parse("123").unwrap();
    assert_eq!(own.find(store, &unknown).await, None);
    let first = own.list(store, None, &page(2, None)).await;
    assert_eq!(first.items, made[..2]);
    let rest = own.list(store, None, &page(2, first.next_cursor)).await;
    assert_eq!((rest.items, rest.next_cursor), (made[2..].to_vec(), None));
    let guest = &made[2].guest;
    let of_one = own.list(store, Some(guest), &page(9, None)).await;
    assert_eq!(of_one.items, made[2..]);
    assert_eq!(other.list(store, None, &page(9, None)).await.items, []);
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
    assert_eq!(own.find(store, &write_invitation_id(at(0), 1)).await, None);
    let left = own.list(store, None, &page(9, None)).await;
    let left: Vec<&GuestId> = left.items.iter().map(|one| &one.guest).collect();
    assert_eq!(left, [&guests[1].id]);
}

pub async fn a_removed_tenant_has_no_guests_and_no_invitations_and_another_keeps_them<S: Store>(store: &S) {
    let (gone, other) = (Named::new(), Named::new());
    for one in [&gone, &other] {
        succeed(put_record(store, &one.occasion("ev demo"))).await;
        succeed(put_record(store, &one.template("invite", None))).await;
        save_new(store, &one.guest("g1", Some("5511987654321"))).await;
        let claims = [claim("dedupe", 1_000)];
        let begun = one
            .begin(store, &one.invitation("g1", 0), &claims, ahead(0))
            .await;
        assert_eq!(begun, InvitationOutcome::Begun);
    }
    let deleted = succeed(store.delete_tenant_records(&gone.tenant, &[], 100)).await;
    assert!(deleted >= 5, "{deleted}");
    for (one, left) in [(&gone, 0), (&other, 1)] {
        let occasions = succeed(list_occasions(store, &one.tenant, &page(9, None))).await;
        let templates = succeed(list_invitation_templates(store, &one.tenant, None)).await;
        let guests = succeed(list_guests(store, &one.tenant, &one.occasion, &page(9, None))).await;
        let sent = one.list(store, None, &page(9, None)).await;
        let counts = [
            occasions.items.len(),
            templates.len(),
            guests.items.len(),
            sent.items.len(),
        ];
        assert_eq!(counts, [left; 4]);
        let found = one.find(store, &one.invitation("g1", 0).id).await;
        assert_eq!(found.is_some(), left == 1);
    }
    let again = gone
        .begin(store, &gone.invitation("g1", 1), &[claim("dedupe", 9)], ahead(0))
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
    let mut stored = Versioned::new(invitation.clone());
    let begun = succeed(begin_invitation(store, &mut stored, &[], at(0))).await;
    assert_eq!(begun, InvitationOutcome::Begun);
    let mut stale = stored.clone();
    is_overdue(store, &invitation, due, true).await;
    is_overdue(store, &invitation, add_millis(due, -1), false).await;
    let nonce = Nonce::parse(&"0".repeat(32)).unwrap();
    outbox.begin_attempt(nonce, due).unwrap();
    let carrier_id = fresh("<id#1@carrier/");
    outbox.record_accepted(carrier_id.clone(), false, due).unwrap();
    stored.record.state = InvitationState::Email {
        outbox: Box::new(outbox),
    };
    stored.record.raise_revision();
    assert_eq!(
        succeed(write_record(store, &mut stored)).await,
        WriteOutcome::Written
    );
    is_overdue(store, &invitation, far_ahead(), false).await;
    assert_eq!(
        succeed(write_record(store, &mut stale)).await,
        WriteOutcome::Conflict
    );
    let tenant = &named.tenant;
    let found = succeed(find_emailed_invitation(store, tenant, &carrier_id)).await;
    assert_eq!(found.as_ref(), Some(&stored.record));
    let other = Named::new().tenant;
    for (tenant, id) in [(&other, carrier_id.as_str()), (tenant, "another")] {
        assert_eq!(succeed(find_emailed_invitation(store, tenant, id)).await, None);
    }
}

async fn is_overdue<S: Store>(store: &S, invitation: &Invitation, now: Timestamp, expected: bool) {
    let wanted = (invitation.tenant.clone(), invitation.id.clone());
    let found = async || {
        succeed(list_due_emails(store, now, 1_000))
            .await
            .contains(&wanted)
    };
    assert_eq!(
        eventually(INDEX, found, |found| *found == expected).await,
        expected
    );
}
