//! Delivery records: they only grow.

use crate::builders::{at, far_ahead, fresh, long_ago};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::country::Country;
use recado_domain::delivery::DeliveryStatus::{Delivered, Failed, Played, Read, Sent};
use recado_domain::delivery::{
    ChargedConversation, Delivery, DeliveryKey, DeliveryStatus, DeliveryTimes, Pricing, StatusDetail,
    StatusError, StatusUpdate,
};
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_ports::ports::Store;

const ALL: [DeliveryStatus; 5] = [Sent, Delivered, Read, Played, Failed];

fn key() -> DeliveryKey {
    let line = ExternalId::parse("line").unwrap();
    DeliveryKey::from_provider_id(Provider::Evolution, &line, &fresh("wa"))
}

/// Each status comes at a time of its own.
fn update(key: &DeliveryKey, status: DeliveryStatus) -> StatusUpdate {
    StatusUpdate {
        key: key.clone(),
        status,
        at: at(i64::from(status.status_rank()) * 1_000),
        provider_message_id: None,
        detail: None,
    }
}

async fn record<S: Store>(
    store: &S,
    key: &DeliveryKey,
    statuses: &[DeliveryStatus],
) -> Option<DeliveryStatus> {
    for status in statuses {
        succeed(store.record_status(&update(key, *status), far_ahead(), None)).await;
    }
    let delivery = succeed(store.find_delivery(key)).await?;
    assert_eq!(delivery.at, delivery.status.map(|status| update(key, status).at));
    delivery.status
}

pub async fn an_unknown_delivery_is_none<S: Store>(store: &S) {
    assert_eq!(succeed(store.find_delivery(&key())).await, None);
}

pub async fn a_status_is_recorded_with_its_time<S: Store>(store: &S) {
    let key = key();
    let update = StatusUpdate {
        provider_message_id: Some("theirs".to_owned()),
        ..update(&key, Delivered)
    };
    succeed(store.record_status(&update, far_ahead(), None)).await;
    let expected = Delivery {
        status: Some(Delivered),
        at: Some(update.at),
        times: DeliveryTimes {
            at_delivered: Some(update.at),
            ..DeliveryTimes::default()
        },
        provider_message_id: Some("theirs".to_owned()),
        ..Delivery::default()
    };
    assert_eq!(succeed(store.find_delivery(&key)).await, Some(expected));
}

pub async fn a_record_only_grows_in_whatever_order_statuses_come<S: Store>(store: &S) {
    for first in ALL {
        for second in ALL {
            for third in ALL {
                let order = [first, second, third];
                let best = order.into_iter().max_by_key(|status| status.status_rank());
                assert_eq!(record(store, &key(), &order).await, best, "{order:?}");
            }
        }
    }
}

pub async fn a_repeated_status_does_not_change_when_it_was_reached<S: Store>(store: &S) {
    let key = key();
    record(store, &key, &[Read]).await;
    let later = StatusUpdate {
        at: at(99_000),
        ..update(&key, Read)
    };
    succeed(store.record_status(&later, far_ahead(), None)).await;
    let delivery = succeed(store.find_delivery(&key)).await.unwrap();
    assert_eq!(delivery.at, Some(update(&key, Read).at));
}

pub async fn each_status_keeps_its_time_in_whatever_order_they_come<S: Store>(store: &S) {
    let key = key();
    for (status, time) in [(Read, 9), (Sent, 3), (Delivered, 7), (Delivered, 5), (Sent, 4)] {
        let update = StatusUpdate {
            at: at(time),
            ..update(&key, status)
        };
        succeed(store.record_status(&update, far_ahead(), None)).await;
    }
    let delivery = succeed(store.find_delivery(&key)).await.unwrap();
    assert_eq!(
        delivery.times.reached_statuses(),
        [(Sent, at(4)), (Delivered, at(5)), (Read, at(9))]
    );
    assert_eq!((delivery.status, delivery.at), (Some(Read), Some(at(9))));
}

pub async fn a_failure_yields_to_a_later_status_and_keeps_an_earlier_one_out<S: Store>(store: &S) {
    let of = |key: &DeliveryKey, status, seconds: i64| StatusUpdate {
        at: at(seconds * 1_000),
        ..update(key, status)
    };
    // The status that follows a failure of second 60, and when, and what is known then.
    let cases = [
        (Sent, 61, Sent, 61),
        (Failed, 61, Failed, 61),
        (Sent, 60, Failed, 60),
        (Sent, 59, Failed, 60),
        (Failed, 59, Failed, 60),
        (Read, 59, Read, 59),
    ];
    for (status, seconds, known, since) in cases {
        let key = key();
        for update in [of(&key, Failed, 60), of(&key, status, seconds)] {
            succeed(store.record_status(&update, far_ahead(), None)).await;
        }
        let found = succeed(store.find_delivery(&key)).await.unwrap();
        assert_eq!(
            (found.status, found.at),
            (Some(known), Some(at(since * 1_000))),
            "{status:?} of second {seconds}"
        );
    }
}

pub async fn statuses_at_once_leave_the_best<S: Store>(store: &S) {
    let key = key();
    let updates: Vec<StatusUpdate> = (0..20)
        .map(|index| update(&key, ALL[index % ALL.len()]))
        .collect();
    let recorded = join_all(
        updates
            .iter()
            .map(|update| store.record_status(update, far_ahead(), None)),
    )
    .await;
    recorded.into_iter().for_each(Result::unwrap);
    assert_eq!(record(store, &key, &[]).await, Some(Played));
}

pub async fn a_better_status_keeps_the_providers_id<S: Store>(store: &S) {
    let key = key();
    let first = StatusUpdate {
        provider_message_id: Some("theirs".to_owned()),
        ..update(&key, Sent)
    };
    succeed(store.record_status(&first, far_ahead(), None)).await;
    record(store, &key, &[Read]).await;
    let delivery = succeed(store.find_delivery(&key)).await.unwrap();
    assert_eq!(delivery.provider_message_id.as_deref(), Some("theirs"));
}

pub async fn an_expired_record_is_gone<S: Store>(store: &S) {
    let key = key();
    succeed(store.record_status(&update(&key, Read), long_ago(), None)).await;
    assert_eq!(succeed(store.find_delivery(&key)).await, None);
    assert_eq!(
        succeed(store.find_deliveries(std::slice::from_ref(&key))).await,
        [None]
    );
    assert_eq!(
        record(store, &key, &[Sent]).await,
        Some(Sent),
        "a new record begins"
    );
}

pub async fn many_records_are_read_in_the_order_asked<S: Store>(store: &S) {
    assert!(succeed(store.find_deliveries(&[])).await.is_empty());
    let keys: Vec<DeliveryKey> = (0..120).map(|_| key()).collect();
    for (index, key) in keys.iter().enumerate().filter(|(index, _)| index % 10 == 0) {
        record(store, key, &[ALL[index / 10 % ALL.len()]]).await;
    }
    let found = succeed(store.find_deliveries(&keys)).await;
    assert_eq!(found.len(), keys.len());
    for (index, found) in found.into_iter().enumerate() {
        let expected = (index % 10 == 0).then(|| ALL[index / 10 % ALL.len()]);
        assert_eq!(found.and_then(|found| found.status), expected, "{index}");
    }
}

pub async fn a_record_asked_for_twice_is_given_twice<S: Store>(store: &S) {
    let (one, other, unknown) = (key(), key(), key());
    record(store, &one, &[Sent]).await;
    record(store, &other, &[Read]).await;
    let asked = [one.clone(), unknown.clone(), other, one, unknown];
    let found = succeed(store.find_deliveries(&asked)).await;
    let found: Vec<_> = found
        .into_iter()
        .map(|found| found.and_then(|found| found.status))
        .collect();
    assert_eq!(found, [Some(Sent), None, Some(Read), Some(Sent), None]);
}

/// What Meta says with `sent`.
fn price() -> StatusDetail {
    StatusDetail {
        pricing: Some(Pricing {
            billable: Some(true),
            model: Some("PMP".to_owned()),
            kind: Some("regular".to_owned()),
            category: Some("utility".to_owned()),
            country: Country::parse("BR"),
        }),
        conversation: Some(ChargedConversation {
            id: Some("0123456789abcdef".to_owned()),
            origin: Some("utility".to_owned()),
            expires: Some(at(90_000)),
        }),
        errors: Vec::new(),
    }
}

/// Why it failed.
fn cause() -> StatusDetail {
    StatusDetail {
        errors: vec![StatusError {
            code: Some(131_026),
            title: "undeliverable".to_owned(),
            details: Some("the phone is too old".to_owned()),
        }],
        ..StatusDetail::default()
    }
}

pub async fn what_a_status_says_besides_stays_when_a_later_one_is_silent<S: Store>(store: &S) {
    let key = key();
    let said = |status, detail: Option<StatusDetail>| StatusUpdate {
        detail: detail.map(Box::new),
        ..update(&key, status)
    };
    let told = [
        (said(Sent, Some(price())), price()),
        (said(Delivered, None), price()),
        (said(Read, Some(StatusDetail::default())), price()),
        (
            said(Failed, Some(cause())),
            StatusDetail {
                errors: cause().errors,
                ..price()
            },
        ),
    ];
    for (update, expected) in told {
        succeed(store.record_status(&update, far_ahead(), None)).await;
        let known = succeed(store.find_delivery(&key)).await.unwrap();
        assert_eq!(known.detail, expected, "{:?}", update.status);
    }
}

pub async fn a_status_that_is_no_news_changes_nothing_of_what_was_said<S: Store>(store: &S) {
    let key = key();
    for detail in [price(), cause()] {
        let repeated = StatusUpdate {
            detail: Some(Box::new(detail)),
            ..update(&key, Delivered)
        };
        succeed(store.record_status(&repeated, far_ahead(), None)).await;
    }
    assert_eq!(succeed(store.find_delivery(&key)).await.unwrap().detail, price());
}

pub async fn what_an_expired_record_said_is_gone_with_it<S: Store>(store: &S) {
    let key = key();
    let priced = StatusUpdate {
        detail: Some(Box::new(price())),
        ..update(&key, Sent)
    };
    succeed(store.record_status(&priced, long_ago(), None)).await;
    let failed = StatusUpdate {
        detail: Some(Box::new(cause())),
        ..update(&key, Failed)
    };
    succeed(store.record_status(&failed, far_ahead(), None)).await;
    assert_eq!(succeed(store.find_delivery(&key)).await.unwrap().detail, cause());
}
