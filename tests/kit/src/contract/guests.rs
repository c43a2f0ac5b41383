//! Occasions, templates and guests, found by tenant and occasion, and since when pages about occasions must be made anew.

use crate::builders::{at, far_ahead, fresh, identity_key, long_ago};
use crate::ports::succeed;
use recado_domain::Timestamp;
use recado_domain::ids::{GuestId, InstanceId, InvitationTemplateName, OccasionId, TenantId};
use recado_domain::invitations::{
    Guest, GuestAnswer, GuestReply, GuestStatus, InvitationChannel, InvitationTemplate, Occasion,
    OccasionReminder,
};
use recado_domain::moving::MovedPageChange;
use recado_ports::ports::{PageRequest, Store};
use recado_ports::records::guests::{
    GuestOutcome, delete_guest_record, find_guest, find_guest_of_phone, find_guests_by_id, list_guests,
    list_guests_of_phone, save_guest,
};
use recado_ports::records::occasions::{
    find_occasion, list_invitation_templates, list_occasions, list_page_changes, mark_pages_changed,
};
use recado_ports::table::{Versioned, put_record};

/// Names that nobody else has.
pub(super) struct Named {
    pub(super) tenant: TenantId,
    pub(super) occasion: OccasionId,
}

impl Named {
    pub(super) fn new() -> Self {
        Self {
            tenant: TenantId::parse(&fresh("tenant")).unwrap(),
            occasion: OccasionId::parse("ev demo").unwrap(),
        }
    }

    pub(super) fn occasion(&self, id: &str) -> Occasion {
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

    pub(super) fn guest(&self, id: &str, phone: Option<&str>) -> Guest {
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
        }
    }

    pub(super) fn template(&self, name: &str, language: Option<&str>) -> InvitationTemplate {
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
}

/// Stores a guest that is not stored yet.
pub(super) async fn save_new<S: Store>(store: &S, guest: &Guest) {
    assert_eq!(write_new(store, guest).await, GuestOutcome::Written);
}

async fn write_new<S: Store>(store: &S, guest: &Guest) -> GuestOutcome {
    succeed(save_guest(store, &mut Versioned::new(guest.clone()))).await
}

fn page(limit: usize, cursor: Option<String>) -> PageRequest {
    PageRequest { limit, cursor }
}

pub async fn an_occasion_and_templates_are_found_again_and_replaced<S: Store>(store: &S) {
    let (own, other) = (Named::new(), Named::new());
    let mut occasion = own.occasion("ev_demo");
    assert_eq!(
        succeed(find_occasion(store, &own.tenant, &occasion.id)).await,
        None
    );
    succeed(put_record(store, &occasion)).await;
    occasion.name = Some("Otra".to_owned());
    succeed(put_record(store, &occasion)).await;
    let found = succeed(find_occasion(store, &own.tenant, &occasion.id)).await;
    assert_eq!(found.as_ref(), Some(&occasion));
    assert_eq!(
        succeed(find_occasion(store, &other.tenant, &occasion.id)).await,
        None
    );
    let (first, second) = (
        own.template("invite", Some("es")),
        own.template("invite", Some("pt")),
    );
    let reminder = own.template("invite2", None);
    for template in [&second, &first, &reminder] {
        succeed(put_record(store, template)).await;
    }
    let named = succeed(list_invitation_templates(store, &own.tenant, Some(&first.name))).await;
    assert_eq!(named, [first.clone(), second.clone()]);
    let all = succeed(list_invitation_templates(store, &own.tenant, None)).await;
    assert_eq!(all, [first, second, reminder]);
    assert_eq!(
        succeed(list_invitation_templates(store, &other.tenant, None)).await,
        []
    );
}

pub async fn occasions_and_guests_are_listed_page_by_page_without_those_of_others<S: Store>(store: &S) {
    let (own, other) = (Named::new(), Named::new());
    for id in ["a", "a b", "a-c", "ev demo"] {
        succeed(put_record(store, &own.occasion(id))).await;
        let guest = own.guest(id, None);
        save_new(store, &guest).await;
    }
    let mut beside = own.guest("z", None);
    beside.occasion = OccasionId::parse("ev").unwrap();
    save_new(store, &beside).await;
    let (mut cursor, mut seen) = (None, Vec::new());
    loop {
        let found = succeed(list_guests(store, &own.tenant, &own.occasion, &page(2, cursor))).await;
        seen.extend(found.items.into_iter().map(|guest| guest.id.to_string()));
        cursor = found.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["a", "a b", "a-c", "ev demo"]);
    let first = succeed(list_occasions(store, &own.tenant, &page(3, None))).await;
    let rest = succeed(list_occasions(store, &own.tenant, &page(3, first.next_cursor))).await;
    assert_eq!((first.items.len(), rest.items.len()), (3, 1));
    let none = succeed(list_guests(store, &other.tenant, &own.occasion, &page(9, None))).await;
    assert!(none.items.is_empty() && none.next_cursor.is_none());
}

pub async fn a_guest_is_written_by_version_and_found_by_phone_in_one_occasion_or_all<S: Store>(store: &S) {
    let own = Named::new();
    let new = own.guest("g1", Some("5511987654321"));
    let mut guest = Versioned::new(new.clone());
    assert_eq!(
        succeed(save_guest(store, &mut guest)).await,
        GuestOutcome::Written
    );
    assert_eq!(write_new(store, &new).await, GuestOutcome::Conflict);
    let mut old = guest.clone();
    let reply = GuestReply {
        answer: GuestAnswer::Confirms,
        at: at(5),
        session: None,
    };
    assert!(guest.record.apply_reply(reply));
    assert_eq!(
        succeed(save_guest(store, &mut guest)).await,
        GuestOutcome::Written
    );
    old.record.set_status(GuestStatus::Declined);
    assert_eq!(succeed(save_guest(store, &mut old)).await, GuestOutcome::Conflict);
    let found = succeed(find_guest(store, &own.tenant, &own.occasion, &new.id)).await;
    assert_eq!(found.as_ref(), Some(&guest));
    let mut elsewhere = own.guest("g9", Some("5511987654321"));
    elsewhere.occasion = OccasionId::parse("second").unwrap();
    save_new(store, &elsewhere).await;
    // The number in its other spelling.
    let phone = identity_key().derive_phone_key(&own.tenant, "551187654321");
    let one = succeed(find_guest_of_phone(store, &own.tenant, &phone, &own.occasion)).await;
    assert_eq!(one.as_ref(), Some(&guest));
    let all = succeed(list_guests_of_phone(store, &own.tenant, &phone)).await;
    assert_eq!(all, [guest.record, elsewhere]);
    let foreign = Named::new().tenant;
    assert_eq!(succeed(list_guests_of_phone(store, &foreign, &phone)).await, []);
}

pub async fn guests_with_one_number_on_many_occasions_are_all_listed<S: Store>(store: &S) {
    let own = Named::new();
    let mut guests = Vec::new();
    for number in 100..230 {
        let mut guest = own.guest("g1", Some("5511987654321"));
        guest.occasion = OccasionId::parse(&format!("ev {number}")).unwrap();
        save_new(store, &guest).await;
        guests.push(guest);
    }
    let phone = guests[0].phone_key.clone().unwrap();
    assert_eq!(
        succeed(list_guests_of_phone(store, &own.tenant, &phone)).await,
        guests
    );
}

pub async fn a_phone_number_is_of_one_guest_of_an_occasion<S: Store>(store: &S) {
    let own = Named::new();
    let first = own.guest("g1", Some("5511987654321"));
    save_new(store, &first).await;
    let second = own.guest("g2", Some("5511987654321"));
    let refused = write_new(store, &second).await;
    assert_eq!(refused, GuestOutcome::PhoneTaken(first.id.clone()));
    let found = succeed(find_guest(store, &own.tenant, &own.occasion, &second.id)).await;
    assert_eq!(found, None);
    for _ in 0..2 {
        succeed(delete_guest_record(store, &first)).await;
    }
    save_new(store, &second).await;
    // The record that is gone deletes nothing of the other guest.
    succeed(delete_guest_record(store, &first)).await;
    let phone = first.phone_key.unwrap();
    let found = succeed(find_guest_of_phone(store, &own.tenant, &phone, &own.occasion)).await;
    assert_eq!(found.map(|found| found.record), Some(second));
}

pub async fn an_expired_guest_is_absent_and_its_place_free<S: Store>(store: &S) {
    let own = Named::new();
    let mut gone = own.guest("g1", Some("5511987654321"));
    gone.keep_until = long_ago();
    save_new(store, &gone).await;
    let found = succeed(find_guest(store, &own.tenant, &own.occasion, &gone.id)).await;
    assert_eq!(found, None);
    let phone = gone.phone_key.clone().unwrap();
    assert_eq!(
        succeed(list_guests_of_phone(store, &own.tenant, &phone)).await,
        []
    );
    let listed = succeed(list_guests(store, &own.tenant, &own.occasion, &page(9, None))).await;
    assert_eq!(listed.items, []);
    save_new(store, &own.guest("g2", Some("5511987654321"))).await;
    save_new(store, &own.guest("g1", None)).await;
}

pub async fn guests_are_read_together_by_their_ids<S: Store>(store: &S) {
    let own = Named::new();
    let guests = ["g1", "g2", "g3"].map(|id| own.guest(id, None));
    for guest in &guests {
        save_new(store, guest).await;
    }
    let ids = ["g3", "g4", "g1"].map(|id| GuestId::parse(id).unwrap());
    let found = succeed(find_guests_by_id(store, &own.tenant, &own.occasion, &ids)).await;
    assert_eq!(found, [guests[2].clone(), guests[0].clone()]);
}

pub async fn the_newest_time_at_which_pages_changed_counts_until_it_expires<S: Store>(store: &S) {
    let (own, other) = (Named::new().tenant, Named::new().tenant);
    let ids = ["ev demo", "ev 2", "ev 3", "ev 4"].map(|id| OccasionId::parse(id).unwrap());
    let [first, second, third, _] = &ids;
    let changed = |tenant: &TenantId, occasion: &OccasionId, time: i64, expires: Timestamp| MovedPageChange {
        tenant: tenant.clone(),
        occasion: occasion.clone(),
        at: at(time),
        expires,
    };
    let kept = changed(&other, first, 40, far_ahead());
    for change in [
        changed(&own, first, 10, far_ahead()),
        changed(&own, first, 30, far_ahead()),
        changed(&own, first, 20, far_ahead()),
        changed(&own, second, 5, far_ahead()),
        changed(&own, third, 5, long_ago()),
        kept.clone(),
    ] {
        succeed(mark_pages_changed(store, &change)).await;
    }
    let listed = succeed(list_page_changes(store, &own, &ids)).await;
    let expected = [
        changed(&own, first, 30, far_ahead()),
        changed(&own, second, 5, far_ahead()),
    ];
    assert_eq!(listed, expected);
    assert_eq!(succeed(list_page_changes(store, &own, &[])).await, []);
    assert!(succeed(store.delete_tenant_records(&own, &[], 100)).await >= 2);
    assert_eq!(succeed(list_page_changes(store, &own, &ids)).await, []);
    assert_eq!(succeed(list_page_changes(store, &other, &ids)).await, [kept]);
}
