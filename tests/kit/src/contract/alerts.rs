//! Alerts and the notifications that tell them.

use super::given::{assert_conflict, assert_written};
use super::patience::{INDEX, eventually};
use crate::builders::{at, fresh};
use crate::ports::succeed;
use recado_domain::alert::{Alert, AlertSubject, AlertWatch, BacklogSample, Notification, NotificationState};
use recado_domain::config::AlertConfig;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::add_millis;
use recado_ports::ports::{PageRequest, Store};

fn tenant() -> TenantId {
    TenantId::parse(&fresh("tenant")).unwrap()
}

/// A watched alert of an instance of `tenant`, not stored yet.
fn watched(tenant: &TenantId) -> Alert {
    let mut alert = Alert::for_test(at(1_000));
    alert.id = fresh("alert");
    alert.fired_at = None;
    alert.subject = AlertSubject {
        tenant: Some(tenant.clone()),
        instance: Some(InstanceId::parse(&fresh("instance")).unwrap()),
        conversation: None,
    };
    alert.rev = 1;
    alert
}

fn fired(alert: &Alert) -> Alert {
    Alert {
        fired_at: Some(at(2_000)),
        rev: alert.rev + 1,
        ..alert.clone()
    }
}

/// The alert as it ended at a time that is decades ahead, so that it is not expired.
fn ended(alert: &Alert, second: i64) -> Alert {
    Alert {
        ended_at: Some(add_millis(crate::builders::far_ahead(), second * 1_000)),
        rev: alert.rev + 1,
        ..alert.clone()
    }
}

async fn live<S: Store>(store: &S, tenant: &TenantId) -> Vec<Alert> {
    succeed(store.list_live_alerts(Some(tenant), 100)).await
}

fn page(limit: usize, cursor: Option<String>) -> PageRequest {
    PageRequest { limit, cursor }
}

fn notification(tenant: &TenantId) -> Notification {
    Notification::for_test(&fresh("pager"), Some(tenant.clone()), 7, at(5_000))
}

async fn listed<S: Store>(store: &S, tenant: &TenantId, state: NotificationState) -> Vec<Notification> {
    succeed(store.list_notifications(Some(tenant), state, 100)).await
}

pub async fn an_alert_is_live_until_it_ends_and_then_among_the_ended<S: Store>(store: &S) {
    let tenant = tenant();
    let watched = watched(&tenant);
    assert_written(store.commit_alerts(std::slice::from_ref(&watched), &[])).await;
    assert_eq!(live(store, &tenant).await, vec![watched.clone()]);
    let fired = fired(&watched);
    assert_written(store.commit_alerts(std::slice::from_ref(&fired), &[])).await;
    assert_eq!(live(store, &tenant).await, vec![fired.clone()]);
    let ended = ended(&fired, 1);
    assert_written(store.commit_alerts(std::slice::from_ref(&ended), &[])).await;
    assert_eq!(live(store, &tenant).await, []);
    let found = succeed(store.list_ended_alerts(Some(&tenant), &page(10, None))).await;
    assert_eq!((found.items, found.next_cursor), (vec![ended.clone()], None));
    let all = async || {
        succeed(store.list_ended_alerts(None, &page(200, None)))
            .await
            .items
    };
    let found = eventually(INDEX, all, |found: &Vec<Alert>| found.contains(&ended)).await;
    assert!(found.contains(&ended));
}

pub async fn a_forgotten_alert_leaves_nothing<S: Store>(store: &S) {
    let tenant = tenant();
    let watched = watched(&tenant);
    assert_written(store.commit_alerts(std::slice::from_ref(&watched), &[])).await;
    assert_written(store.commit_alerts(&[ended(&watched, 1)], &[])).await;
    assert_eq!(live(store, &tenant).await, []);
    let found = succeed(store.list_ended_alerts(Some(&tenant), &page(10, None))).await;
    assert_eq!(found.items, []);
}

pub async fn a_change_of_an_older_record_stores_nothing<S: Store>(store: &S) {
    let tenant = tenant();
    let (first, other) = (watched(&tenant), watched(&tenant));
    assert_written(store.commit_alerts(&[first.clone(), other.clone()], &[])).await;
    let told = notification(&tenant);
    let fired_first = fired(&first);
    assert_written(store.commit_alerts(std::slice::from_ref(&fired_first), &[])).await;
    // One alert is new, one was told by another pass meanwhile: nothing of it is stored, and nothing is told twice.
    let both = [fired(&other), fired(&first)];
    assert_conflict(store.commit_alerts(&both, std::slice::from_ref(&told))).await;
    assert_conflict(store.commit_alerts(std::slice::from_ref(&first), std::slice::from_ref(&told))).await;
    assert_conflict(store.commit_alerts(&[ended(&first, 1)], std::slice::from_ref(&told))).await;
    let mut found = live(store, &tenant).await;
    found.sort_by(|a, b| a.id.cmp(&b.id));
    let mut expected = [fired_first, other];
    expected.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(found, expected);
    assert_eq!(listed(store, &tenant, NotificationState::Pending).await, []);
}

pub async fn tenants_do_not_mix<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    let (alert, theirs) = (watched(&one), watched(&other));
    let (told, told_them) = (notification(&one), notification(&other));
    assert_written(store.commit_alerts(
        &[alert.clone(), theirs.clone()],
        &[told.clone(), told_them.clone()],
    ))
    .await;
    assert_eq!(live(store, &one).await, vec![alert.clone()]);
    assert_eq!(live(store, &other).await, vec![theirs.clone()]);
    let all = succeed(store.list_live_alerts(None, 10_000)).await;
    assert!(all.contains(&alert) && all.contains(&theirs));
    assert_eq!(listed(store, &one, NotificationState::Pending).await, [told]);
    assert_eq!(
        listed(store, &other, NotificationState::Pending).await,
        [told_them]
    );
    let (over, over_there) = (ended(&fired(&alert), 1), ended(&fired(&theirs), 2));
    assert_written(store.commit_alerts(&[fired(&alert), fired(&theirs)], &[])).await;
    assert_written(store.commit_alerts(&[over.clone(), over_there], &[])).await;
    let found = succeed(store.list_ended_alerts(Some(&one), &page(10, None))).await;
    assert_eq!(found.items, [over]);
}

pub async fn ended_alerts_come_in_pages_the_newest_first<S: Store>(store: &S) {
    let tenant = tenant();
    let mut expected = Vec::new();
    for second in [3, 9, 5, 1, 5] {
        let watched = watched(&tenant);
        let (fired, over) = (fired(&watched), ended(&fired(&watched), second));
        for step in [watched, fired, over.clone()] {
            assert_written(store.commit_alerts(&[step], &[])).await;
        }
        expected.push(over);
    }
    expected.sort_by(|a, b| (b.ended_at, &b.id).cmp(&(a.ended_at, &a.id)));
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let next = succeed(store.list_ended_alerts(Some(&tenant), &page(2, cursor))).await;
        assert!(next.items.len() <= 2);
        found.extend(next.items);
        cursor = next.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, expected);
}

pub async fn an_alert_that_ended_long_ago_is_gone<S: Store>(store: &S) {
    let tenant = tenant();
    let (watched, mut over) = (watched(&tenant), ended(&fired(&watched(&tenant)), 1));
    over.subject = watched.subject.clone();
    over.ended_at = Some(crate::builders::long_ago());
    over.fired_at = Some(crate::builders::long_ago());
    over.rev = 2;
    assert_written(store.commit_alerts(std::slice::from_ref(&watched), &[])).await;
    assert_written(store.commit_alerts(&[over], &[])).await;
    let found = succeed(store.list_ended_alerts(Some(&tenant), &page(10, None))).await;
    assert_eq!(found.items, []);
}

pub async fn a_notification_is_stored_with_its_alert_and_due_until_it_is_removed<S: Store>(store: &S) {
    let tenant = tenant();
    let (alert, mut told) = (watched(&tenant), notification(&tenant));
    assert_written(store.commit_alerts(std::slice::from_ref(&alert), std::slice::from_ref(&told))).await;
    assert_eq!(
        listed(store, &tenant, NotificationState::Pending).await,
        [told.clone()]
    );
    let due = async || succeed(store.list_due_notifications(at(5_000), 10_000)).await;
    let found = eventually(INDEX, due, |found: &Vec<Notification>| found.contains(&told)).await;
    assert!(found.contains(&told));
    let earlier = succeed(store.list_due_notifications(at(4_999), 10_000)).await;
    assert!(!earlier.contains(&told));
    told.begin_attempt(at(5_000));
    assert_written(store.save_notification(&told)).await;
    assert_conflict(store.save_notification(&told)).await;
    let stale = Notification {
        rev: told.rev - 1,
        ..told.clone()
    };
    assert!(
        !succeed(store.remove_notification(&stale)).await,
        "another attempt runs"
    );
    assert!(succeed(store.remove_notification(&told)).await);
    assert!(!succeed(store.remove_notification(&told)).await);
    assert_eq!(listed(store, &tenant, NotificationState::Pending).await, []);
    told.rev += 1;
    assert_conflict(store.save_notification(&told)).await;
}

pub async fn a_dead_notification_is_in_the_other_list_until_it_is_redriven<S: Store>(store: &S) {
    let tenant = tenant();
    let mut told = notification(&tenant);
    // The dead are kept for a while from when they were made.
    told.created_at = crate::builders::far_ahead();
    assert_written(store.commit_alerts(&[], std::slice::from_ref(&told))).await;
    while told.state == NotificationState::Pending {
        told.begin_attempt(at(5_000));
        assert_written(store.save_notification(&told)).await;
        told.record_failure("answered 500");
        assert_written(store.save_notification(&told)).await;
    }
    assert_eq!(listed(store, &tenant, NotificationState::Pending).await, []);
    assert_eq!(
        listed(store, &tenant, NotificationState::Dead).await,
        [told.clone()]
    );
    let due = async || succeed(store.list_due_notifications(crate::builders::far_ahead(), 10_000)).await;
    let gone = |found: &Vec<Notification>| found.iter().all(|one| one.id != told.id);
    assert!(gone(&eventually(INDEX, due, gone).await));
    assert!(told.redrive(at(9_000)));
    assert_written(store.save_notification(&told)).await;
    assert_conflict(store.save_notification(&told)).await;
    assert_eq!(listed(store, &tenant, NotificationState::Dead).await, []);
    assert_eq!(listed(store, &tenant, NotificationState::Pending).await, [told]);
}

/// One case for both: they are the installation's, and other cases share the store.
pub async fn the_configuration_and_the_last_look_come_back_as_they_were_put<S: Store>(store: &S) {
    assert_eq!(succeed(store.read_alert_config()).await, AlertConfig::default());
    let config: AlertConfig = serde_json::from_value(serde_json::json!({
        "depth_warning": 7, "rate_per_second": 0.25, "off": ["full_disk"],
        "destinations": [{"id": "pager", "webhook": {"url": "https://pager.example", "secret": "env:RECADO_ALERT_A"}}],
    }))
    .unwrap();
    let change = recado_domain::config::ConfigDocument {
        alerts: Some(config.clone()),
        ..Default::default()
    };
    succeed(store.apply_configuration(&change)).await;
    assert_eq!(succeed(store.read_alert_config()).await, config);
    assert_eq!(
        succeed(store.read_configuration(None)).await.alerts,
        Some(config.clone())
    );
    succeed(store.apply_configuration(&recado_domain::config::ConfigDocument::default())).await;
    assert_eq!(succeed(store.read_alert_config()).await, config);
    // Back to the defaults, for a run of the same cases on the same store.
    let change = recado_domain::config::ConfigDocument {
        alerts: Some(AlertConfig::default()),
        ..Default::default()
    };
    succeed(store.apply_configuration(&change)).await;
    let watch = AlertWatch {
        looked_at: Some(at(1_000)),
        backlog: Some(BacklogSample {
            at: at(1_000),
            waiting: 5,
        }),
    };
    succeed(store.save_alert_watch(&watch)).await;
    assert_eq!(succeed(store.read_alert_watch()).await, watch);
    succeed(store.save_alert_watch(&AlertWatch::default())).await;
    assert_eq!(succeed(store.read_alert_watch()).await, AlertWatch::default());
}
