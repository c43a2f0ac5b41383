//! Samples: a record per minute and tenant, listed from a time on.

use crate::builders::{at, far_ahead, fresh, long_ago};
use crate::ports::succeed;
use recado_domain::connection_check::ConnectionCheck;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::instance::ConnectionStatus;
use recado_domain::sample::{InstanceSample, MinuteSample};
use recado_ports::ports::Store;
use recado_ports::records::samples::{list_samples, put_samples};

fn tenant() -> TenantId {
    TenantId::parse(&fresh("tenant")).unwrap()
}

/// The sample of minute `minute`, with an instance that cannot send and one of which nothing is known but its depth.
fn sample(tenant: Option<&TenantId>, minute: i64, depth: u64) -> MinuteSample {
    let instance = |id: &str, connection, slots| InstanceSample {
        id: InstanceId::parse(id).unwrap(),
        connection,
        depth,
        parked: 0,
        dead_letters: 3,
        slots,
    };
    let all = vec![
        instance("a", ConnectionStatus::NeedsCredentials, None),
        instance("b", ConnectionStatus::Open, Some(u64::MAX >> 1)),
    ];
    let looks = vec![ConnectionCheck {
        at: at(minute * 60_000),
        after: None,
        through: Some(InstanceId::parse("b").unwrap()),
    }];
    MinuteSample {
        looks,
        ..MinuteSample::from_instances(at(minute * 60_000), tenant.cloned(), all)
    }
}

async fn list<S: Store>(store: &S, tenant: &TenantId, since: i64) -> Vec<MinuteSample> {
    succeed(list_samples(store, Some(tenant), at(since * 60_000))).await
}

pub async fn samples_come_back_as_they_were_put_the_oldest_first_from_a_time_on<S: Store>(store: &S) {
    let tenant = tenant();
    assert_eq!(list(store, &tenant, 0).await, []);
    let put: Vec<MinuteSample> = [5, 3, 4, 1]
        .map(|minute| sample(Some(&tenant), minute, minute.unsigned_abs()))
        .to_vec();
    succeed(put_samples(store, &put, far_ahead())).await;
    let [five, three, four, one] = &put[..] else {
        unreachable!()
    };
    let all = [one, three, four, five].map(Clone::clone);
    assert_eq!(list(store, &tenant, 0).await, all);
    assert_eq!(list(store, &tenant, 3).await, all[1..]);
    assert_eq!(list(store, &tenant, 6).await, []);
}

pub async fn no_samples_are_put_without_an_error<S: Store>(store: &S) {
    succeed(put_samples(store, &[], far_ahead())).await;
}

pub async fn more_samples_than_are_written_or_read_at_once_come_back<S: Store>(store: &S) {
    let tenant = tenant();
    let put: Vec<MinuteSample> = (0..1_001)
        .map(|minute| MinuteSample::from_instances(at(minute * 60_000), Some(tenant.clone()), Vec::new()))
        .collect();
    succeed(put_samples(store, &put, far_ahead())).await;
    assert_eq!(list(store, &tenant, 0).await, put);
}

pub async fn a_later_sample_of_the_same_minute_replaces_the_earlier<S: Store>(store: &S) {
    let tenant = tenant();
    for depth in [7, 9] {
        succeed(put_samples(
            store,
            &[sample(Some(&tenant), 2, depth)],
            far_ahead(),
        ))
        .await;
    }
    assert_eq!(list(store, &tenant, 0).await, [sample(Some(&tenant), 2, 9)]);
}

pub async fn tenants_and_the_installation_do_not_mix<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    // The cases share a store, and the installation's samples with it: this minute is this case's alone.
    let minute = 1_000_003;
    let put = [
        sample(Some(&one), minute, 1),
        sample(Some(&other), minute, 2),
        sample(None, minute, 3),
    ];
    succeed(put_samples(store, &put, far_ahead())).await;
    assert_eq!(list(store, &one, 0).await, put[..1]);
    assert_eq!(list(store, &other, 0).await, put[1..2]);
    let whole = succeed(list_samples(store, None, at(minute * 60_000))).await;
    assert_eq!(whole, put[2..]);
}

pub async fn expired_samples_are_gone<S: Store>(store: &S) {
    let tenant = tenant();
    succeed(put_samples(store, &[sample(Some(&tenant), 1, 1)], long_ago())).await;
    succeed(put_samples(store, &[sample(Some(&tenant), 2, 2)], far_ahead())).await;
    assert_eq!(list(store, &tenant, 0).await, [sample(Some(&tenant), 2, 2)]);
}
