//! Invitations by month.

use crate::builders::{at, far_ahead, fresh, long_ago};
use crate::ports::succeed;
use jiff::Timestamp;
use recado_domain::ids::{GuestId, InvitationTemplateName, OccasionId, TenantId};
use recado_domain::invitations::{
    Invitation, InvitationChannel, InvitationState, LogMonth, write_invitation_id,
};
use recado_ports::ports::{Page, PageRequest, Store};
use recado_ports::records::invitations::{InvitationOutcome, begin_invitation, list_invitations_of_month};
use recado_ports::table::Versioned;

fn tenant() -> TenantId {
    TenantId::parse(&fresh("tenant")).unwrap()
}

fn occasion(id: &str) -> OccasionId {
    OccasionId::parse(id).unwrap()
}

/// An invitation that was made at a time.
fn invitation(tenant: &TenantId, made: &str, random: u64) -> Invitation {
    let made: Timestamp = made.parse().unwrap();
    Invitation {
        tenant: tenant.clone(),
        id: write_invitation_id(made, random),
        occasion: occasion("ev demo"),
        guest: GuestId::parse("g1").unwrap(),
        channel: InvitationChannel::Whatsapp,
        template: InvitationTemplateName::parse("invite").unwrap(),
        language: None,
        state: InvitationState::Taken { planned: None },
        is_free: false,
        session: None,
        not_before: None,
        metadata: None,
        request_hash: "00".to_owned(),
        created_at: made,
        keep_until: far_ahead(),
        rev: 1,
    }
}

async fn list<S: Store>(
    store: &S,
    tenant: &TenantId,
    month: &str,
    (limit, cursor): (usize, Option<String>),
) -> Page<Invitation> {
    let month: LogMonth = month.parse().unwrap();
    let page = PageRequest { limit, cursor };
    succeed(list_invitations_of_month(store, tenant, month, &page)).await
}

pub async fn invitations_of_a_month_are_listed_by_time_page_by_page_without_those_of_others<S: Store>(
    store: &S,
) {
    let (own, other) = (tenant(), tenant());
    let made: Vec<Invitation> = [
        "2026-10-31T23:59:59.999Z",
        "2026-11-01T00:00:00Z",
        "2026-11-20T10:00:00Z",
        "2026-11-30T23:59:59.999Z",
        "2026-12-01T00:00:00Z",
    ]
    .iter()
    .map(|made| invitation(&own, made, 7))
    .collect();
    let foreign = invitation(&other, "2026-11-20T10:00:00Z", 8);
    let mut expired = invitation(&own, "2026-11-21T10:00:00Z", 9);
    expired.keep_until = long_ago();
    for one in made.iter().rev().chain([&foreign, &expired]) {
        let mut new = Versioned::new(one.clone());
        let begun = begin_invitation(store, &mut new, &[], at(0));
        assert_eq!(succeed(begun).await, InvitationOutcome::Begun);
    }
    let all = list(store, &own, "2026-11", (9, None)).await;
    assert_eq!((all.items, all.next_cursor), (made[1..4].to_vec(), None));
    let first = list(store, &own, "2026-11", (2, None)).await;
    assert_eq!(first.items, made[1..3]);
    assert!(first.next_cursor.is_some());
    let mut rest = Vec::new();
    let mut cursor = first.next_cursor;
    while let Some(at) = cursor {
        let page = list(store, &own, "2026-11", (2, Some(at))).await;
        rest.extend(page.items);
        cursor = page.next_cursor;
    }
    assert_eq!(rest, made[3..4]);
    assert_eq!(list(store, &own, "2026-12", (9, None)).await.items, made[4..]);
    assert_eq!(list(store, &own, "2027-01", (9, None)).await.items, []);
    assert_eq!(list(store, &other, "2026-11", (9, None)).await.items, [foreign]);
}
