//! Occasions, guests, templates and invitations: found by tenant and occasion, written by revision, claimed once.

use super::patience::{INDEX, eventually};
use crate::builders::{at, far_ahead, fresh, identity_key, long_ago};
use crate::ports::succeed;
use crate::stored_guest::planned_state;
use jiff::Timestamp;
use recado_domain::email::{Email, EmailAddress, EmailOutbox, Mailbox};
use recado_domain::ids::{
    EmailSenderId, GuestId, InstanceId, InvitationId, InvitationTemplateName, MessageId, Nonce, OccasionId,
    TenantId,
};
use recado_domain::invitations::{
    Guest, GuestAnswer, GuestReply, GuestStatus, Invitation, InvitationChannel, InvitationState,
    InvitationTemplate, Occasion, OccasionReminder, write_invitation_id,
};
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_ports::ports::{
    GuestOutcome, InvitationClaim, InvitationOutcome, OverdueWork, PageRequest, Store, WriteOutcome,
};

/// Names that nobody else has.
struct Named {
    tenant: TenantId,
    occasion: OccasionId,
}

impl Named {
    fn new() -> Self {
        Self {
            tenant: TenantId::parse(&fresh("tenant")).unwrap(),
            occasion: OccasionId::parse("ev demo").unwrap(),
        }
    }

    fn occasion(&self, id: &str) -> Occasion {
        Occasion {
            id: OccasionId::parse(id).unwrap(),
            tenant: self.tenant.clone(),
            name: Some("Boda de Ana".to_owned()),
            instance: InstanceId::parse("line").unwrap(),
            starts_at: Some("2026-12-05T18:00:00".parse().unwrap()),
            time_zone: None,
            language: Some("es".to_owned()),
            cancelled: false,
            reminders: vec![OccasionReminder {
                before: "P1D".to_owned(),
                template: InvitationTemplateName::parse("remind").unwrap(),
                channel: InvitationChannel::Whatsapp,
                guests: vec![GuestStatus::Confirmed],
            }],
        }
    }

    fn guest(&self, id: &str, phone: Option<&str>) -> Guest {
        Guest {
            tenant: self.tenant.clone(),
            occasion: self.occasion.clone(),
            id: GuestId::parse(id).unwrap(),
            name: Some("Ana".to_owned()),
            phone: phone.map(str::to_owned),
            phone_key: phone.map(|phone| identity_key().derive_phone_key(&self.tenant, phone)),
            email: None,
            language: None,
            time_zone: Some("America/Lima".to_owned()),
            status: GuestStatus::Pending,
            reply: None,
            created_at: at(0),
            keep_until: far_ahead(),
            rev: 1,
        }
    }

    fn template(&self, name: &str, language: Option<&str>) -> InvitationTemplate {
        InvitationTemplate {
            name: InvitationTemplateName::parse(name).unwrap(),
            tenant: self.tenant.clone(),
            channel: InvitationChannel::Whatsapp,
            language: language.map(str::to_owned),
            subject: None,
            html: None,
            text: Some("Hola {{guest_name}}".to_owned()),
            approved: None,
        }
    }

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

pub async fn an_occasion_and_templates_are_found_again_and_replaced<S: Store>(store: &S) {
    let (own, other) = (Named::new(), Named::new());
    let mut occasion = own.occasion("ev_demo");
    assert_eq!(
        succeed(store.find_occasion(&own.tenant, &occasion.id)).await,
        None
    );
    succeed(store.put_occasion(&occasion)).await;
    occasion.name = Some("Otra".to_owned());
    succeed(store.put_occasion(&occasion)).await;
    let found = succeed(store.find_occasion(&own.tenant, &occasion.id)).await;
    assert_eq!(found.as_ref(), Some(&occasion));
    assert_eq!(
        succeed(store.find_occasion(&other.tenant, &occasion.id)).await,
        None
    );
    let (first, second) = (
        own.template("invite", Some("es")),
        own.template("invite", Some("pt")),
    );
    let reminder = own.template("invite2", None);
    for template in [&second, &first, &reminder] {
        succeed(store.put_invitation_template(template)).await;
    }
    let named = succeed(store.list_invitation_templates(&own.tenant, Some(&first.name))).await;
    assert_eq!(named, [first.clone(), second.clone()]);
    let all = succeed(store.list_invitation_templates(&own.tenant, None)).await;
    assert_eq!(all, [first, second, reminder]);
    assert_eq!(
        succeed(store.list_invitation_templates(&other.tenant, None)).await,
        []
    );
}

pub async fn occasions_and_guests_are_listed_page_by_page_without_those_of_others<S: Store>(store: &S) {
    let (own, other) = (Named::new(), Named::new());
    for id in ["a", "a b", "a-c", "ev demo"] {
        succeed(store.put_occasion(&own.occasion(id))).await;
        let guest = own.guest(id, None);
        assert_eq!(succeed(store.save_guest(&guest)).await, GuestOutcome::Written);
    }
    let mut beside = own.guest("z", None);
    beside.occasion = OccasionId::parse("ev").unwrap();
    assert_eq!(succeed(store.save_guest(&beside)).await, GuestOutcome::Written);
    let (mut cursor, mut seen) = (None, Vec::new());
    loop {
        let found = succeed(store.list_guests(&own.tenant, &own.occasion, &page(2, cursor))).await;
        seen.extend(found.items.into_iter().map(|guest| guest.id.to_string()));
        cursor = found.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["a", "a b", "a-c", "ev demo"]);
    let first = succeed(store.list_occasions(&own.tenant, &page(3, None))).await;
    let rest = succeed(store.list_occasions(&own.tenant, &page(3, first.next_cursor))).await;
    assert_eq!((first.items.len(), rest.items.len()), (3, 1));
    let none = succeed(store.list_guests(&other.tenant, &own.occasion, &page(9, None))).await;
    assert!(none.items.is_empty() && none.next_cursor.is_none());
}

pub async fn a_guest_is_written_by_revision_and_found_by_phone_in_one_occasion_or_all<S: Store>(store: &S) {
    let own = Named::new();
    let mut guest = own.guest("g1", Some("5511987654321"));
    assert_eq!(succeed(store.save_guest(&guest)).await, GuestOutcome::Written);
    assert_eq!(succeed(store.save_guest(&guest)).await, GuestOutcome::Conflict);
    let reply = GuestReply {
        answer: GuestAnswer::Confirms,
        at: at(5),
        session: None,
    };
    assert!(guest.apply_reply(reply));
    assert_eq!(succeed(store.save_guest(&guest)).await, GuestOutcome::Written);
    let found = succeed(store.find_guest(&own.tenant, &own.occasion, &guest.id)).await;
    assert_eq!(found.as_ref(), Some(&guest));
    let mut elsewhere = own.guest("g9", Some("5511987654321"));
    elsewhere.occasion = OccasionId::parse("second").unwrap();
    assert_eq!(succeed(store.save_guest(&elsewhere)).await, GuestOutcome::Written);
    // The number in its other spelling.
    let phone = identity_key().derive_phone_key(&own.tenant, "551187654321");
    let one = succeed(store.list_guests_of_phone(&own.tenant, &phone, Some(&own.occasion))).await;
    assert_eq!(one, [guest.clone()]);
    let all = succeed(store.list_guests_of_phone(&own.tenant, &phone, None)).await;
    assert_eq!(all, [guest, elsewhere]);
    assert_eq!(
        succeed(store.list_guests_of_phone(&Named::new().tenant, &phone, None)).await,
        []
    );
}

pub async fn a_phone_number_is_of_one_guest_of_an_occasion<S: Store>(store: &S) {
    let own = Named::new();
    let first = own.guest("g1", Some("5511987654321"));
    assert_eq!(succeed(store.save_guest(&first)).await, GuestOutcome::Written);
    let second = own.guest("g2", Some("5511987654321"));
    let refused = succeed(store.save_guest(&second)).await;
    assert_eq!(refused, GuestOutcome::PhoneTaken(first.id.clone()));
    assert_eq!(
        succeed(store.find_guest(&own.tenant, &own.occasion, &second.id)).await,
        None
    );
    succeed(store.delete_guest(&first)).await;
    assert_eq!(succeed(store.save_guest(&second)).await, GuestOutcome::Written);
}

pub async fn an_expired_guest_is_absent_and_its_place_free<S: Store>(store: &S) {
    let own = Named::new();
    let mut gone = own.guest("g1", Some("5511987654321"));
    gone.keep_until = long_ago();
    assert_eq!(succeed(store.save_guest(&gone)).await, GuestOutcome::Written);
    assert_eq!(
        succeed(store.find_guest(&own.tenant, &own.occasion, &gone.id)).await,
        None
    );
    let phone = gone.phone_key.clone().unwrap();
    assert_eq!(
        succeed(store.list_guests_of_phone(&own.tenant, &phone, None)).await,
        []
    );
    let listed = succeed(store.list_guests(&own.tenant, &own.occasion, &page(9, None))).await;
    assert_eq!(listed.items, []);
    let next = own.guest("g2", Some("5511987654321"));
    assert_eq!(succeed(store.save_guest(&next)).await, GuestOutcome::Written);
    let again = own.guest("g1", None);
    assert_eq!(succeed(store.save_guest(&again)).await, GuestOutcome::Written);
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
        assert_eq!(succeed(store.save_guest(guest)).await, GuestOutcome::Written);
        let one = own.invitation(guest.id.as_str(), 0);
        let mut one = one.clone();
        one.id = write_invitation_id(at(0), if guest.id.as_str() == "g1" { 1 } else { 2 });
        assert_eq!(own.begin(store, &one, &[], at(0)).await, InvitationOutcome::Begun);
    }
    succeed(store.delete_guest(&guests[0])).await;
    succeed(store.delete_guest(&guests[0])).await;
    assert_eq!(
        succeed(store.find_guest(&own.tenant, &own.occasion, &guests[0].id)).await,
        None
    );
    let left = succeed(store.list_invitations(&own.tenant, &own.occasion, None, &page(9, None))).await;
    let left: Vec<&GuestId> = left.items.iter().map(|one| &one.guest).collect();
    assert_eq!(left, [&guests[1].id]);
}

pub async fn a_removed_tenant_has_no_guests_and_no_invitations_and_another_keeps_them<S: Store>(store: &S) {
    let (gone, other) = (Named::new(), Named::new());
    for one in [&gone, &other] {
        succeed(store.put_occasion(&one.occasion("ev demo"))).await;
        succeed(store.put_invitation_template(&one.template("invite", None))).await;
        let guest = one.guest("g1", Some("5511987654321"));
        assert_eq!(succeed(store.save_guest(&guest)).await, GuestOutcome::Written);
        let claims = [claim("dedupe", 1_000)];
        let begun = one.begin(store, &one.invitation("g1", 0), &claims, at(0)).await;
        assert_eq!(begun, InvitationOutcome::Begun);
    }
    let deleted = succeed(store.delete_tenant_records(&gone.tenant, &[], 100)).await;
    assert!(deleted >= 5, "{deleted}");
    for (one, left) in [(&gone, 0), (&other, 1)] {
        let occasions = succeed(store.list_occasions(&one.tenant, &page(9, None))).await;
        let templates = succeed(store.list_invitation_templates(&one.tenant, None)).await;
        let guests = succeed(store.list_guests(&one.tenant, &one.occasion, &page(9, None))).await;
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
