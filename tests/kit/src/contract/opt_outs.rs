//! Opt-outs: the later preference of a recipient counts, of its tenant alone, and outlives the address.

use super::items::{delete_key, put_unreadable};
use crate::builders::{Fixture, at};
use crate::ports::succeed;
use recado_domain::identity::IdentityKey;
use recado_domain::ids::TenantId;
use recado_domain::opt_out::{OptOut, OptOutSource, RecipientAddress, RecipientKey};
use recado_ports::ports::{PageRequest, PortError, Store};
use recado_ports::records::opt_outs::{apply_opt_out, find_opt_outs, forget_opt_out_address, list_opt_outs};
use recado_ports::table::Record;

const ANA: &str = "5511987654321";

fn recipient(tenant: &TenantId, address: &str) -> RecipientKey {
    IdentityKey::from_bytes([7; 32]).derive_recipient_key(tenant, RecipientAddress::WhatsApp(address))
}

fn preference(tenant: &TenantId, address: &str, is_stopped: bool, time: i64) -> OptOut {
    OptOut {
        tenant: tenant.clone(),
        recipient: recipient(tenant, address),
        address: Some(address.to_owned()),
        is_stopped,
        at: at(time),
        source: OptOutSource::Message,
    }
}

async fn list_all<S: Store>(store: &S, tenant: &TenantId, limit: usize) -> Vec<OptOut> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = succeed(list_opt_outs(store, tenant, &PageRequest { cursor, limit })).await;
        assert!(page.items.len() <= limit);
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
}

pub async fn the_later_preference_of_a_recipient_counts<S: Store>(store: &S) {
    let tenant = Fixture::new().bound.tenant.id;
    let key = [recipient(&tenant, ANA)];
    assert!(
        !succeed(apply_opt_out(store, &preference(&tenant, ANA, false, 5))).await,
        "nothing to resume"
    );
    assert_eq!(succeed(find_opt_outs(store, &tenant, &key)).await, []);
    assert!(succeed(apply_opt_out(store, &preference(&tenant, ANA, true, 10))).await);
    assert!(
        !succeed(apply_opt_out(store, &preference(&tenant, ANA, true, 10))).await,
        "a repeat"
    );
    assert!(
        !succeed(apply_opt_out(store, &preference(&tenant, ANA, false, 9))).await,
        "an older one that comes late"
    );
    assert_eq!(
        succeed(find_opt_outs(store, &tenant, &key)).await,
        [preference(&tenant, ANA, true, 10)]
    );
    assert!(succeed(apply_opt_out(store, &preference(&tenant, ANA, false, 11))).await);
    assert_eq!(
        succeed(find_opt_outs(store, &tenant, &key)).await,
        [preference(&tenant, ANA, false, 11)]
    );
}

pub async fn preferences_are_found_and_listed_by_their_tenant<S: Store>(store: &S) {
    let (tenant, other) = (Fixture::new().bound.tenant.id, Fixture::new().bound.tenant.id);
    let numbers = [
        "551100000001",
        "551100000002",
        "551100000003",
        "551100000004",
        "551100000005",
    ];
    for number in numbers {
        succeed(apply_opt_out(store, &preference(&tenant, number, true, 10))).await;
    }
    succeed(apply_opt_out(store, &preference(&other, numbers[0], true, 10))).await;
    let mut expected: Vec<OptOut> = numbers
        .iter()
        .map(|number| preference(&tenant, number, true, 10))
        .collect();
    expected.sort_by(|one, two| one.recipient.cmp(&two.recipient));
    for limit in [1, 2, 5, 10] {
        assert_eq!(list_all(store, &tenant, limit).await, expected, "{limit}");
    }
    let asked = [
        recipient(&tenant, numbers[1]),
        recipient(&tenant, "551100000009"),
        recipient(&tenant, numbers[3]),
    ];
    assert_eq!(succeed(find_opt_outs(store, &tenant, &asked)).await.len(), 2);
    assert_eq!(succeed(find_opt_outs(store, &other, &asked)).await, []);
}

pub async fn of_preferences_at_once_the_latest_is_left<S: Store>(store: &S) {
    let tenant = Fixture::new().bound.tenant.id;
    succeed(apply_opt_out(store, &preference(&tenant, ANA, true, 1))).await;
    let preferences = (2..8).map(|time| {
        let preference = preference(&tenant, ANA, time % 2 == 1, time);
        async move { succeed(apply_opt_out(store, &preference)).await }
    });
    futures::future::join_all(preferences).await;
    let left = succeed(find_opt_outs(store, &tenant, &[recipient(&tenant, ANA)])).await;
    assert_eq!(left, [preference(&tenant, ANA, true, 7)]);
}

pub async fn an_erased_recipient_stays_opted_out_without_an_address<S: Store>(store: &S) {
    let tenant = Fixture::new().bound.tenant.id;
    let key = recipient(&tenant, ANA);
    succeed(forget_opt_out_address(store, &tenant, &key)).await;
    succeed(apply_opt_out(store, &preference(&tenant, ANA, true, 10))).await;
    for _ in 0..2 {
        succeed(forget_opt_out_address(store, &tenant, &key)).await;
        let left = succeed(find_opt_outs(store, &tenant, std::slice::from_ref(&key))).await;
        assert_eq!(left, [preference(&tenant, ANA, true, 10).without_address()]);
    }
}

pub async fn a_preference_that_cannot_be_read_is_not_taken_for_none<S: Store>(store: &S) {
    let tenant = Fixture::new().bound.tenant.id;
    let known = preference(&tenant, ANA, true, 10);
    put_unreadable(store, known.key()).await;
    let found = find_opt_outs(store, &tenant, std::slice::from_ref(&known.recipient)).await;
    let applied = apply_opt_out(store, &known).await;
    for error in [found.unwrap_err(), applied.unwrap_err()] {
        assert!(matches!(error, PortError::Invalid { .. }), "{error:?}");
    }
    delete_key(store, known.key()).await;
    assert!(succeed(apply_opt_out(store, &known)).await);
}

pub async fn a_removed_tenant_has_no_preferences<S: Store>(store: &S) {
    let (gone, other) = (Fixture::new().bound.tenant.id, Fixture::new().bound.tenant.id);
    for tenant in [&gone, &other] {
        succeed(apply_opt_out(store, &preference(tenant, ANA, true, 10))).await;
    }
    assert!(succeed(store.delete_tenant_records(&gone, &[], 100)).await >= 1);
    assert_eq!(list_all(store, &gone, 10).await, []);
    assert_eq!(list_all(store, &other, 10).await.len(), 1);
}
