use super::*;
use crate::alert::rules::{
    AlertWatch, BacklogSample, BacklogStatus, InstallationStatus, InstanceStatus, PersonWait,
    TenantBudgetStatus,
};
use crate::budget::BudgetUse;
use crate::config::{AlertConfig, AlertDestination};
use crate::identity::IdentityKey;
use crate::instance::{ConnectionStatus, ConnectionUpdate, InstanceState};
use crate::millis::from_unix_millis;
use crate::reason::Reason;

mod load;

fn minute(number: i64) -> Timestamp {
    from_unix_millis(1_000_000_000_000 + number * 60_000)
}

/// A memory of live alerts to which checks are shown, minute by minute.
#[derive(Default)]
struct Memory {
    live: Vec<Alert>,
    ended: Vec<Alert>,
}

impl Memory {
    /// Shows a check, and returns what is told of it.
    fn show(
        &mut self,
        config: &AlertConfig,
        status: &InstallationStatus,
        now: Timestamp,
    ) -> Vec<(AlertKind, AlertSeverity, AlertState)> {
        let changed = decide_alerts(&self.live, &find_conditions(config, status, now), now);
        let mut told = Vec::new();
        for alert in changed {
            self.live
                .retain(|known| known.condition_key() != alert.condition_key());
            match alert.state() {
                AlertState::Watched => self.live.push(alert),
                AlertState::Forgotten => {}
                state => {
                    told.push((alert.kind, alert.severity, state));
                    if state == AlertState::Firing {
                        self.live.push(alert);
                    } else {
                        self.ended.push(alert);
                    }
                }
            }
        }
        told
    }
}

const WARNING: AlertSeverity = AlertSeverity::Warning;
const CRITICAL: AlertSeverity = AlertSeverity::Critical;

fn depth(depth: u64) -> InstallationStatus {
    InstallationStatus {
        depth: Some(depth),
        ..InstallationStatus::default()
    }
}

#[test]
fn a_depth_must_hold_for_five_minutes_and_is_told_once_and_once_when_it_is_over() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    let kind = AlertKind::QueueDepth;
    assert_eq!(memory.show(&config, &depth(100), minute(0)), []);
    for at in 1..6 {
        assert_eq!(memory.show(&config, &depth(1001), minute(at)), []);
    }
    let both = [
        (kind, CRITICAL, AlertState::Firing),
        (kind, WARNING, AlertState::Firing),
    ];
    assert_eq!(memory.show(&config, &depth(1001), minute(6)), both);
    assert_eq!(memory.show(&config, &depth(1500), minute(7)), []);
    let over = [(kind, CRITICAL, AlertState::Ended)];
    assert_eq!(memory.show(&config, &depth(1000), minute(8)), over);
    assert_eq!(
        memory.show(&config, &InstallationStatus::default(), minute(9)),
        [],
        "not known is not over"
    );
    let over = [(kind, WARNING, AlertState::Ended)];
    assert_eq!(memory.show(&config, &depth(100), minute(10)), over);
    assert_eq!(memory.ended.len(), 2);
    assert_eq!(memory.ended[1].since, minute(1));
}

#[test]
fn a_budget_that_a_look_leaves_out_neither_begins_nor_ends_an_alert() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    let tenant = TenantId::parse("clinic").unwrap();
    let measured = |percent| InstallationStatus {
        budgets: Some(vec![TenantBudgetStatus {
            tenant: tenant.clone(),
            used: BudgetUse { percent },
            stops: false,
        }]),
        ..InstallationStatus::default()
    };
    let left_out = InstallationStatus {
        budgets: Some(Vec::new()),
        budgets_left_out: vec![tenant.clone()],
        ..InstallationStatus::default()
    };
    let kind = AlertKind::Budget;
    let begun = [(kind, WARNING, AlertState::Firing)];
    assert_eq!(memory.show(&config, &measured(85), minute(0)), begun);
    for at in 1..100 {
        assert_eq!(memory.show(&config, &left_out, minute(at)), []);
    }
    assert_eq!(memory.show(&config, &measured(90), minute(100)), []);
    let over = [(kind, WARNING, AlertState::Ended)];
    assert_eq!(memory.show(&config, &measured(2), minute(101)), over);
}

#[test]
fn a_depth_that_falls_in_between_begins_anew() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    for at in 0..20 {
        let deep = if at % 5 == 4 { 3 } else { 500 };
        assert_eq!(memory.show(&config, &depth(deep), minute(at)), []);
    }
    assert!(memory.ended.is_empty());
}

fn instance(state: InstanceState) -> InstallationStatus {
    InstallationStatus {
        instances: Some(vec![InstanceStatus {
            tenant: TenantId::parse("clinic").unwrap(),
            instance: InstanceId::parse("desk").unwrap(),
            state,
        }]),
        ..InstallationStatus::default()
    }
}

fn observe(state: &mut InstanceState, connection: ConnectionStatus, at: Timestamp) {
    state.apply_connection_update(&ConnectionUpdate {
        connection,
        at,
        probe_at: None,
        asked_at: None,
        releases_waiting: false,
    });
}

#[test]
fn an_instance_is_a_warning_after_two_minutes_and_critical_after_ten_whatever_its_state_meanwhile() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    let (mut state, kind) = (InstanceState::default(), AlertKind::Disconnected);
    observe(&mut state, ConnectionStatus::Unreachable, minute(0));
    assert_eq!(memory.show(&config, &instance(state.clone()), minute(2)), []);
    observe(&mut state, ConnectionStatus::Closed, minute(2));
    let told = memory.show(&config, &instance(state.clone()), minute(3));
    assert_eq!(told, [(kind, WARNING, AlertState::Firing)]);
    observe(&mut state, ConnectionStatus::Unreachable, minute(9));
    assert_eq!(memory.show(&config, &instance(state.clone()), minute(10)), []);
    let told = memory.show(&config, &instance(state.clone()), minute(11));
    assert_eq!(told, [(kind, CRITICAL, AlertState::Firing)]);
    observe(&mut state, ConnectionStatus::Open, minute(12));
    assert_eq!(state.disconnected_since(), None);
    let told = memory.show(&config, &instance(state), minute(12));
    assert_eq!(
        told,
        [
            (kind, CRITICAL, AlertState::Ended),
            (kind, WARNING, AlertState::Ended)
        ]
    );
}

#[test]
fn an_instance_that_is_not_on_a_cut_list_is_not_taken_for_well() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    let mut state = InstanceState::default();
    observe(&mut state, ConnectionStatus::NeedsCredentials, minute(0));
    let told = memory.show(&config, &instance(state), minute(1));
    assert_eq!(told, [(AlertKind::MissingKey, CRITICAL, AlertState::Firing)]);
    let mut cut = InstallationStatus {
        instances: Some(Vec::new()),
        more_instances: true,
        ..InstallationStatus::default()
    };
    assert_eq!(memory.show(&config, &cut, minute(2)), []);
    cut.more_instances = false;
    let told = memory.show(&config, &cut, minute(3));
    assert_eq!(told, [(AlertKind::MissingKey, CRITICAL, AlertState::Ended)]);
}

#[test]
fn dead_letters_the_disk_and_a_gap_are_told_at_once() {
    let config = AlertConfig::default();
    let status = |dead, free, last| InstallationStatus {
        dead_letters: Some(dead),
        disk_free: Some(free),
        last_check: Some(last),
        ..InstallationStatus::default()
    };
    let mut memory = Memory::default();
    assert_eq!(
        memory.show(&config, &status(10, 500_000_000, minute(5)), minute(10)),
        []
    );
    let told = memory.show(&config, &status(51, 499_000_000, minute(10)), minute(16));
    assert_eq!(
        told,
        [
            (AlertKind::NoHeartbeat, CRITICAL, AlertState::Firing),
            (AlertKind::FullDisk, CRITICAL, AlertState::Firing),
            (AlertKind::DeadLetters, CRITICAL, AlertState::Firing),
            (AlertKind::DeadLetters, WARNING, AlertState::Firing),
        ]
    );
    let gap = memory
        .live
        .iter()
        .find(|alert| alert.kind == AlertKind::NoHeartbeat)
        .unwrap();
    assert_eq!(gap.since, minute(10));
    assert!(
        gap.summary
            .contains("not running from 2001-09-09T01:56:40Z to 2001-09-09T02:02:40Z"),
        "{}",
        gap.summary
    );
    let told = memory.show(&config, &status(11, 600_000_000, minute(16)), minute(17));
    assert_eq!(told.len(), 3, "one of the dead letters goes on: {told:?}");
}

#[test]
fn processing_is_slow_only_while_something_waits_and_for_five_minutes() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    let status = |at, waiting, rest| InstallationStatus {
        backlog: Some(BacklogStatus {
            before: BacklogSample {
                at: minute(at),
                waiting,
            },
            rest,
        }),
        ..InstallationStatus::default()
    };
    for at in 0..9 {
        assert_eq!(
            memory.show(&config, &status(at, 60, 30), minute(at + 1)),
            [],
            "0.5 a second is enough"
        );
        assert_eq!(
            memory.show(&config, &status(at, 1, 0), minute(at + 1)),
            [],
            "nothing waits"
        );
    }
    for at in 10..15 {
        assert_eq!(memory.show(&config, &status(at, 60, 31), minute(at + 1)), []);
    }
    let told = memory.show(&config, &status(15, 60, 31), minute(16));
    assert_eq!(told, [(AlertKind::SlowProcessing, WARNING, AlertState::Firing)]);
    assert_eq!(
        memory.show(&config, &status(1, 60, 0), minute(17)),
        [],
        "a window of 16 minutes says nothing"
    );
    let told = memory.show(&config, &status(17, 60, 0), minute(18));
    assert_eq!(told, [(AlertKind::SlowProcessing, WARNING, AlertState::Ended)]);
}

#[test]
fn a_customer_who_waits_is_told_of_alone() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    let desk = InstanceId::parse("desk").unwrap();
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(&desk, "551190000000@s.whatsapp.net");
    let wait = |number, since| PersonWait {
        tenant: TenantId::parse("clinic").unwrap(),
        instance: desk.clone(),
        conversation: ConversationId::new(thread.clone(), number),
        since: minute(since),
        needed: None,
    };
    let status = |waits: Vec<PersonWait>| InstallationStatus {
        person_waits: Some(waits),
        ..InstallationStatus::default()
    };
    assert_eq!(memory.show(&config, &status(vec![wait(1, 0)]), minute(60)), []);
    let kind = AlertKind::CustomerWaits;
    assert_eq!(
        memory.show(&config, &status(vec![wait(1, 0), wait(2, 30)]), minute(61)),
        [(kind, WARNING, AlertState::Firing)]
    );
    assert_eq!(
        memory.show(&config, &status(vec![wait(1, 0), wait(2, 30)]), minute(91)),
        [(kind, WARNING, AlertState::Firing)]
    );
    assert!(memory.live.iter().all(|alert| !alert.summary.contains("5511")));
    assert_eq!(
        memory.show(&config, &status(vec![wait(2, 30)]), minute(92)),
        [(kind, WARNING, AlertState::Ended)]
    );
}

#[test]
fn a_conversation_that_the_agent_left_to_a_person_is_told_at_once_and_once() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    let desk = InstanceId::parse("desk").unwrap();
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(&desk, "551190000000@s.whatsapp.net");
    let wait = |needed| PersonWait {
        tenant: TenantId::parse("clinic").unwrap(),
        instance: desk.clone(),
        conversation: ConversationId::new(thread.clone(), 1),
        since: minute(0),
        needed,
    };
    let status = |waits: Vec<PersonWait>| InstallationStatus {
        person_waits: Some(waits),
        ..InstallationStatus::default()
    };
    let (needed, waits) = (AlertKind::PersonNeeded, AlertKind::CustomerWaits);
    let left = status(vec![wait(Some(Reason::HandedOver))]);
    let (begins, over) = (
        [(needed, WARNING, AlertState::Firing)],
        [(needed, WARNING, AlertState::Ended)],
    );
    assert_eq!(memory.show(&config, &left, minute(0)), begins);
    assert_eq!(memory.show(&config, &left, minute(1)), []);
    assert_eq!(
        memory.show(&config, &left, minute(61)),
        [(waits, WARNING, AlertState::Firing)]
    );
    // A person takes it and has not answered yet: it is taken, and the customer still waits.
    assert_eq!(memory.show(&config, &status(vec![wait(None)]), minute(62)), over);
    assert_eq!(
        memory.show(&config, &status(Vec::new()), minute(63)),
        [(waits, WARNING, AlertState::Ended)]
    );
}

#[test]
fn what_is_switched_off_is_not_told_and_what_was_told_is_over() {
    let (mut config, mut memory) = (AlertConfig::default(), Memory::default());
    let status = InstallationStatus {
        dead_letters: Some(20),
        ..InstallationStatus::default()
    };
    assert_eq!(memory.show(&config, &status, minute(0)).len(), 1);
    config.off.push(AlertKind::DeadLetters);
    let told = memory.show(&config, &status, minute(1));
    assert_eq!(told, [(AlertKind::DeadLetters, WARNING, AlertState::Ended)]);
    assert_eq!(memory.show(&config, &status, minute(2)), []);
}

fn firing(severity: AlertSeverity, instance: Option<&str>) -> Alert {
    let mut alert = Alert::for_test(minute(0));
    alert.severity = severity;
    alert.kind = AlertKind::Disconnected;
    alert.subject.instance = instance.map(|id| InstanceId::parse(id).unwrap());
    alert.subject.tenant = instance.map(|_| TenantId::parse("clinic").unwrap());
    alert
}

#[test]
fn a_destination_gets_its_severity_its_tenant_and_nothing_about_its_own_sender() {
    let parse = |json: serde_json::Value| serde_json::from_value::<AlertDestination>(json).unwrap();
    let all = parse(serde_json::json!({"id": "a"}));
    assert!(all.accepts_alert(&firing(WARNING, Some("desk"))) && all.accepts_alert(&firing(WARNING, None)));
    let critical = parse(serde_json::json!({"id": "a", "severity": "critical"}));
    assert!(
        !critical.accepts_alert(&firing(WARNING, None)) && critical.accepts_alert(&firing(CRITICAL, None))
    );
    let tenant = parse(serde_json::json!({"id": "a", "tenant": "clinic"}));
    assert!(
        tenant.accepts_alert(&firing(WARNING, Some("desk"))) && !tenant.accepts_alert(&firing(WARNING, None))
    );
    let phone = parse(serde_json::json!({"id": "a", "whatsapp": {"instance": "ops", "to": "5511912345678"}}));
    assert!(
        phone.accepts_alert(&firing(WARNING, Some("desk")))
            && !phone.accepts_alert(&firing(WARNING, Some("ops")))
    );
}

#[test]
fn a_notification_keeps_its_id_waits_longer_each_time_and_is_given_up() {
    let new = || Notification::new("pager", None, vec![firing(WARNING, Some("desk"))], minute(0));
    let (mut notification, again) = (new(), new());
    assert_eq!(notification.id, again.id);
    let mut ended = firing(WARNING, Some("desk"));
    ended.ended_at = Some(minute(1));
    assert_ne!(
        Notification::new("pager", None, vec![ended], minute(1)).id,
        again.id
    );
    let (mut now, mut waits) = (minute(0), Vec::new());
    while notification.state == NotificationState::Pending {
        notification.begin_attempt(now);
        waits.push((notification.due_at.as_millisecond() - now.as_millisecond()) / 60_000);
        now = notification.due_at;
        notification.record_failure("answered 500");
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 120, 120, 120, 120, 120]);
    assert_eq!(
        (notification.attempts, &notification.id),
        (ATTEMPTS_MAX, &again.id)
    );
    assert!(notification.redrive(now) && !notification.redrive(now));
    assert_eq!((notification.attempts, notification.due_at), (0, now));
}

#[test]
fn a_text_says_what_since_when_and_what_to_do() {
    let mut alert = firing(CRITICAL, Some("desk"));
    "instance desk is closed".clone_into(&mut alert.summary);
    let text = Notification::new("pager", None, vec![alert.clone()], minute(0)).body_text();
    assert_eq!(
        text,
        "CRITICAL disconnected of desk: instance desk is closed\nSince 2001-09-09T01:46:40Z.\n\
         Runbook: recado alerts runbook disconnected"
    );
    alert.ended_at = Some(minute(1));
    let over = Notification::new("pager", None, vec![alert.clone(), alert], minute(0));
    assert!(
        over.body_text().starts_with("OVER disconnected of desk"),
        "{}",
        over.body_text()
    );
    assert_eq!(over.subject_line(), "[Recado] 0 new alerts, 2 over");
}

#[test]
fn a_record_comes_back_as_it_was_written() {
    let watch = AlertWatch {
        looked_at: Some(minute(1)),
        backlog: Some(BacklogSample {
            at: minute(1),
            waiting: 3,
        }),
    };
    let notification = Notification::for_test("pager", None, 4, minute(0));
    let json = serde_json::to_string(&(watch, &notification)).unwrap();
    let (read, same): (AlertWatch, Notification) = serde_json::from_str(&json).unwrap();
    assert_eq!((read, same), (watch, notification));
}

#[test]
fn a_record_of_an_older_version_is_read_without_its_revision() {
    let notification = Notification::for_test("pager", None, 4, minute(0));
    let mut older = serde_json::to_value(&notification).unwrap();
    older["rev"] = serde_json::json!(7);
    older["alerts"][0]["rev"] = serde_json::json!(9_007_199_254_740_991_u64);
    let read: Notification = serde_json::from_value(older).unwrap();
    assert_eq!(read, notification);
}
