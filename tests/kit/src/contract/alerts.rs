//! Alerts and the notifications that tell them.

use super::given::{assert_conflict, assert_written};
use super::patience::{INDEX, eventually};
use crate::builders::{at, fresh};
use crate::ports::succeed;
use recado_domain::alert::{Alert, AlertSubject, AlertWatch, BacklogSample, Notification, NotificationState};
use recado_domain::config::{AlertConfig, ConfigDocument, ConfigNames};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::add_millis;
use recado_ports::ports::{PageRequest, Store};
use recado_ports::records::alerts::{
    ALERTS_PER_COMMIT, commit_alerts, list_ended_alerts, list_live_alerts, read_alert_watch,
};
use recado_ports::records::configuration::{find_named_entries, load_configuration, put_configuration};
use recado_ports::records::notifications::{list_due_notifications, list_notifications};
use recado_ports::table::{SaveOutcome, Versioned, put_record, remove_record, save_record};

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
    alert
}

fn fired(alert: &Alert) -> Alert {
    Alert {
        fired_at: Some(at(2_000)),
        ..alert.clone()
    }
}

/// The alert as it ended at a time that is decades ahead, so that it is not expired.
fn ended(alert: &Alert, second: i64) -> Alert {
    Alert {
        ended_at: Some(add_millis(crate::builders::far_ahead(), second * 1_000)),
        ..alert.clone()
    }
}

fn records<T>(found: Vec<Versioned<T>>) -> Vec<T> {
    found.into_iter().map(|found| found.record).collect()
}

async fn read_live<S: Store>(store: &S, tenant: &TenantId) -> Vec<Versioned<Alert>> {
    succeed(list_live_alerts(store, Some(tenant), 100)).await
}

async fn live<S: Store>(store: &S, tenant: &TenantId) -> Vec<Alert> {
    records(read_live(store, tenant).await)
}

/// Commits changes of what is live now.
async fn commit<S: Store>(store: &S, tenant: &TenantId, changed: &[Alert], told: &[Notification]) {
    let live = read_live(store, tenant).await;
    assert_written(commit_alerts(store, &live, changed, told)).await;
}

async fn list_ended<S: Store>(store: &S, tenant: &TenantId) -> Vec<Alert> {
    let found = succeed(list_ended_alerts(store, Some(tenant), &page(10, None))).await;
    assert_eq!(found.next_cursor, None);
    found.items
}

fn page(limit: usize, cursor: Option<String>) -> PageRequest {
    PageRequest { limit, cursor }
}

fn notification(tenant: &TenantId) -> Notification {
    Notification::for_test(&fresh("pager"), Some(tenant.clone()), 7, at(5_000))
}

async fn read_listed<S: Store>(
    store: &S,
    tenant: &TenantId,
    state: NotificationState,
) -> Vec<Versioned<Notification>> {
    succeed(list_notifications(store, Some(tenant), state, 100)).await
}

async fn listed<S: Store>(store: &S, tenant: &TenantId, state: NotificationState) -> Vec<Notification> {
    records(read_listed(store, tenant, state).await)
}

async fn save<S: Store>(store: &S, notification: &mut Versioned<Notification>) -> SaveOutcome {
    succeed(save_record(store, notification)).await
}

pub async fn an_alert_is_live_until_it_ends_and_then_among_the_ended<S: Store>(store: &S) {
    let tenant = tenant();
    let watched = watched(&tenant);
    commit(store, &tenant, std::slice::from_ref(&watched), &[]).await;
    assert_eq!(live(store, &tenant).await, vec![watched.clone()]);
    let fired = fired(&watched);
    commit(store, &tenant, std::slice::from_ref(&fired), &[]).await;
    assert_eq!(live(store, &tenant).await, vec![fired.clone()]);
    let ended = ended(&fired, 1);
    commit(store, &tenant, std::slice::from_ref(&ended), &[]).await;
    assert_eq!(live(store, &tenant).await, []);
    assert_eq!(list_ended(store, &tenant).await, std::slice::from_ref(&ended));
    let all = async || {
        succeed(list_ended_alerts(store, None, &page(200, None)))
            .await
            .items
    };
    let found = eventually(INDEX, all, |found: &Vec<Alert>| found.contains(&ended)).await;
    assert!(found.contains(&ended));
}

pub async fn a_condition_that_ended_may_hold_again_and_its_end_stays<S: Store>(store: &S) {
    let tenant = tenant();
    let first = fired(&watched(&tenant));
    let over = ended(&first, 1);
    let again = Alert {
        id: fresh("alert"),
        ..first.clone()
    };
    for step in [&first, &over, &again] {
        commit(store, &tenant, std::slice::from_ref(step), &[]).await;
    }
    assert_eq!(live(store, &tenant).await, std::slice::from_ref(&again));
    assert_eq!(list_ended(store, &tenant).await, std::slice::from_ref(&over));
    let over_again = ended(&again, 2);
    commit(store, &tenant, std::slice::from_ref(&over_again), &[]).await;
    assert_eq!(live(store, &tenant).await, []);
    assert_eq!(list_ended(store, &tenant).await, [over_again, over]);
}

pub async fn as_many_alerts_as_a_commit_takes_end_together_and_are_told<S: Store>(store: &S) {
    let tenant = tenant();
    let begun: Vec<Alert> = (0..ALERTS_PER_COMMIT).map(|_| fired(&watched(&tenant))).collect();
    commit(store, &tenant, &begun, &[]).await;
    let over: Vec<Alert> = begun.iter().map(|alert| ended(alert, 1)).collect();
    let told: Vec<Notification> = (0..10).map(|_| notification(&tenant)).collect();
    commit(store, &tenant, &over, &told).await;
    assert_eq!(live(store, &tenant).await, []);
    let page = page(ALERTS_PER_COMMIT, None);
    let found = succeed(list_ended_alerts(store, Some(&tenant), &page)).await;
    assert_eq!(found.items.len(), ALERTS_PER_COMMIT);
    assert_eq!(listed(store, &tenant, NotificationState::Pending).await.len(), 10);
}

pub async fn a_forgotten_alert_leaves_nothing<S: Store>(store: &S) {
    let tenant = tenant();
    let watched = watched(&tenant);
    commit(store, &tenant, std::slice::from_ref(&watched), &[]).await;
    commit(store, &tenant, &[ended(&watched, 1)], &[]).await;
    assert_eq!(live(store, &tenant).await, []);
    assert_eq!(list_ended(store, &tenant).await, []);
}

pub async fn a_change_of_an_older_record_stores_nothing<S: Store>(store: &S) {
    let tenant = tenant();
    let (first, other) = (watched(&tenant), watched(&tenant));
    commit(store, &tenant, &[first.clone(), other.clone()], &[]).await;
    let told = notification(&tenant);
    let older = read_live(store, &tenant).await;
    let fired_first = fired(&first);
    commit(store, &tenant, std::slice::from_ref(&fired_first), &[]).await;
    // One alert is as it was read, one was told by another pass meanwhile: nothing of it is stored, and nothing is told twice.
    for changed in [
        vec![fired(&other), fired(&first)],
        vec![first.clone()],
        vec![ended(&first, 1)],
    ] {
        let told = std::slice::from_ref(&told);
        assert_conflict(commit_alerts(store, &older, &changed, told)).await;
    }
    // Nothing was known of the alert, or it is over already.
    for changed in [first.clone(), ended(&first, 1)] {
        let told = std::slice::from_ref(&told);
        assert_conflict(commit_alerts(store, &[], &[changed], told)).await;
    }
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
    let (begun, made) = ([alert.clone(), theirs.clone()], [told.clone(), told_them.clone()]);
    assert_written(commit_alerts(store, &[], &begun, &made)).await;
    assert_eq!(live(store, &one).await, vec![alert.clone()]);
    assert_eq!(live(store, &other).await, vec![theirs.clone()]);
    let all = records(succeed(list_live_alerts(store, None, 10_000)).await);
    assert!(all.contains(&alert) && all.contains(&theirs));
    assert_eq!(
        listed(store, &one, NotificationState::Pending).await,
        vec![told.clone()]
    );
    assert_eq!(
        listed(store, &other, NotificationState::Pending).await,
        vec![told_them.clone()]
    );
    let pending = list_notifications(store, None, NotificationState::Pending, 10_000);
    let pending = records(succeed(pending).await);
    assert!(pending.contains(&told) && pending.contains(&told_them));
    let (over, over_there) = (ended(&fired(&alert), 1), ended(&fired(&theirs), 2));
    commit(store, &one, &[fired(&alert)], &[]).await;
    commit(store, &other, &[fired(&theirs)], &[]).await;
    commit(store, &one, std::slice::from_ref(&over), &[]).await;
    commit(store, &other, &[over_there], &[]).await;
    assert_eq!(list_ended(store, &one).await, [over]);
}

pub async fn ended_alerts_come_in_pages_the_newest_first<S: Store>(store: &S) {
    let tenant = tenant();
    let mut expected = Vec::new();
    for second in [3, 9, 5, 1, 5] {
        let watched = watched(&tenant);
        let (fired, over) = (fired(&watched), ended(&fired(&watched), second));
        for step in [watched, fired, over.clone()] {
            commit(store, &tenant, &[step], &[]).await;
        }
        expected.push(over);
    }
    expected.sort_by(|a, b| (b.ended_at, &b.id).cmp(&(a.ended_at, &a.id)));
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let next = succeed(list_ended_alerts(store, Some(&tenant), &page(2, cursor))).await;
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
    let watched = watched(&tenant);
    let over = Alert {
        ended_at: Some(crate::builders::long_ago()),
        fired_at: Some(crate::builders::long_ago()),
        ..watched.clone()
    };
    commit(store, &tenant, &[watched], &[]).await;
    commit(store, &tenant, &[over], &[]).await;
    assert_eq!(live(store, &tenant).await, []);
    assert_eq!(list_ended(store, &tenant).await, []);
}

pub async fn a_notification_is_stored_with_its_alert_and_due_until_it_is_removed<S: Store>(store: &S) {
    let tenant = tenant();
    let (alert, told) = (watched(&tenant), notification(&tenant));
    commit(
        store,
        &tenant,
        std::slice::from_ref(&alert),
        std::slice::from_ref(&told),
    )
    .await;
    assert_eq!(
        listed(store, &tenant, NotificationState::Pending).await,
        vec![told.clone()]
    );
    let due = async || records(succeed(list_due_notifications(store, at(5_000), 10_000)).await);
    let found = eventually(INDEX, due, |found: &Vec<Notification>| found.contains(&told)).await;
    assert!(found.contains(&told));
    let earlier = records(succeed(list_due_notifications(store, at(4_999), 10_000)).await);
    assert!(!earlier.contains(&told));
    let mut read = read_listed(store, &tenant, NotificationState::Pending).await;
    let mut told = read.pop().unwrap();
    let mut stale = told.clone();
    told.record.begin_attempt(at(5_000));
    assert_eq!(save(store, &mut told).await, SaveOutcome::Saved);
    stale.record.begin_attempt(at(5_000));
    assert_eq!(save(store, &mut stale).await, SaveOutcome::Conflict);
    assert!(
        !succeed(remove_record(store, &stale)).await,
        "another attempt runs"
    );
    assert!(succeed(remove_record(store, &told)).await);
    assert!(!succeed(remove_record(store, &told)).await);
    assert_eq!(listed(store, &tenant, NotificationState::Pending).await, []);
    assert_eq!(save(store, &mut told).await, SaveOutcome::Conflict);
}

pub async fn a_dead_notification_is_in_the_other_list_until_it_is_redriven<S: Store>(store: &S) {
    let tenant = tenant();
    let mut made = notification(&tenant);
    // The dead are kept for a while from when they were made.
    made.created_at = crate::builders::far_ahead();
    commit(store, &tenant, &[], std::slice::from_ref(&made)).await;
    let mut read = read_listed(store, &tenant, NotificationState::Pending).await;
    let mut told = read.pop().unwrap();
    while told.record.state == NotificationState::Pending {
        told.record.begin_attempt(at(5_000));
        assert_eq!(save(store, &mut told).await, SaveOutcome::Saved);
        told.record.record_failure("answered 500");
        assert_eq!(save(store, &mut told).await, SaveOutcome::Saved);
    }
    assert_eq!(listed(store, &tenant, NotificationState::Pending).await, []);
    assert_eq!(
        listed(store, &tenant, NotificationState::Dead).await,
        [told.record.clone()]
    );
    let ahead = crate::builders::far_ahead();
    let due = async || records(succeed(list_due_notifications(store, ahead, 10_000)).await);
    let gone = |found: &Vec<Notification>| found.iter().all(|one| one.id != told.record.id);
    assert!(gone(&eventually(INDEX, due, gone).await));
    let mut stale = told.clone();
    assert!(told.record.redrive(at(9_000)));
    assert_eq!(save(store, &mut told).await, SaveOutcome::Saved);
    assert!(stale.record.redrive(at(9_000)));
    assert_eq!(save(store, &mut stale).await, SaveOutcome::Conflict);
    assert_eq!(listed(store, &tenant, NotificationState::Dead).await, []);
    assert_eq!(
        listed(store, &tenant, NotificationState::Pending).await,
        [told.record]
    );
}

/// The configuration of alerts; the default one if there is none.
async fn read_config<S: Store>(store: &S) -> AlertConfig {
    let names = ConfigNames {
        alerts: true,
        ..ConfigNames::default()
    };
    let found = succeed(find_named_entries(store, &names)).await;
    found.alerts.unwrap_or_default()
}

/// One case for both: they are the installation's, and other cases share the store.
pub async fn the_configuration_and_the_last_look_come_back_as_they_were_put<S: Store>(store: &S) {
    assert_eq!(read_config(store).await, AlertConfig::default());
    let config: AlertConfig = serde_json::from_value(serde_json::json!({
        "depth_warning": 7, "rate_per_second": 0.25, "off": ["full_disk"],
        "destinations": [{"id": "pager", "webhook": {"url": "https://pager.example", "secret": "env:RECADO_ALERT_A"}}],
    }))
    .unwrap();
    let change = ConfigDocument {
        alerts: Some(config.clone()),
        ..Default::default()
    };
    succeed(put_configuration(store, &change)).await;
    assert_eq!(read_config(store).await, config);
    assert_eq!(
        succeed(load_configuration(store, None)).await.alerts,
        Some(config.clone())
    );
    succeed(put_configuration(store, &ConfigDocument::default())).await;
    assert_eq!(read_config(store).await, config);
    // Back to the defaults, for a run of the same cases on the same store.
    let change = ConfigDocument {
        alerts: Some(AlertConfig::default()),
        ..Default::default()
    };
    succeed(put_configuration(store, &change)).await;
    let watch = AlertWatch {
        looked_at: Some(at(1_000)),
        backlog: Some(BacklogSample {
            at: at(1_000),
            waiting: 5,
        }),
    };
    succeed(put_record(store, &watch)).await;
    assert_eq!(succeed(read_alert_watch(store)).await, watch);
    succeed(put_record(store, &AlertWatch::default())).await;
    assert_eq!(succeed(read_alert_watch(store)).await, AlertWatch::default());
}
