//! Waiting messages and dead letters, of one instance and of all.

use super::*;
use crate::alert::rules::{BacklogSample, BacklogStatus, InstanceLoad, IntakeStatus};

fn load(instance: &str, depth: u64, dead_letters: u64) -> InstanceLoad {
    InstanceLoad {
        tenant: TenantId::parse("clinic").unwrap(),
        instance: InstanceId::parse(instance).unwrap(),
        depth,
        dead_letters,
    }
}

#[test]
fn acknowledged_webhooks_that_are_not_recorded_for_a_minute_are_told_of_until_they_are() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    let status = |oldest| InstallationStatus {
        intake: Some(IntakeStatus { oldest }),
        backlog: Some(BacklogStatus {
            before: BacklogSample {
                at: minute(0),
                waiting: 0,
            },
            rest: 0,
        }),
        ..InstallationStatus::default()
    };
    let kind = AlertKind::SlowProcessing;
    assert_eq!(memory.show(&config, &status(Some(minute(1))), minute(1)), []);
    let told = memory.show(&config, &status(Some(minute(1))), minute(2));
    assert_eq!(told, [(kind, CRITICAL, AlertState::Firing)]);
    assert_eq!(
        memory.show(&config, &status(None), minute(3)),
        [(kind, CRITICAL, AlertState::Ended)]
    );
}

#[test]
fn an_instance_is_judged_by_itself_and_the_installation_too() {
    let (config, mut memory) = (AlertConfig::default(), Memory::default());
    let status = |desk: InstanceLoad, sales: InstanceLoad| InstallationStatus {
        depth: Some(desk.depth + sales.depth),
        dead_letters: Some(desk.dead_letters + sales.dead_letters),
        loads: Some(vec![desk, sales]),
        ..InstallationStatus::default()
    };
    let kind = AlertKind::DeadLetters;
    let each = status(load("desk", 60, 6), load("sales", 60, 6));
    assert_eq!(
        memory.show(&config, &each, minute(0)),
        [(kind, WARNING, AlertState::Firing)],
        "the installation's"
    );
    let one = status(load("desk", 101, 11), load("sales", 0, 0));
    assert_eq!(
        memory.show(&config, &one, minute(1)),
        [(kind, WARNING, AlertState::Firing)]
    );
    let desk = memory
        .live
        .iter()
        .find(|alert| alert.kind == kind && alert.subject.instance.is_some())
        .unwrap();
    assert_eq!(
        desk.summary,
        "there are more than 10 dead letters of instance desk"
    );
    let depth = (AlertKind::QueueDepth, WARNING, AlertState::Firing);
    assert_eq!(
        memory.show(&config, &one, minute(5)),
        [depth],
        "the installation's began first"
    );
    assert_eq!(
        memory.show(&config, &one, minute(6)),
        [depth],
        "and now the instance's"
    );
    let mut cut = status(load("desk", 100, 0), load("sales", 101, 0));
    cut.more_open = true;
    let over = (kind, WARNING, AlertState::Ended);
    assert_eq!(
        memory.show(&config, &cut, minute(7)),
        [over, over],
        "a depth that is a lower bound ends no alert"
    );
    cut.more_open = false;
    let told = memory.show(&config, &cut, minute(8));
    assert_eq!(told, [(AlertKind::QueueDepth, WARNING, AlertState::Ended)]);
    assert!(
        memory
            .live
            .iter()
            .all(|alert| alert.summary.contains("sales") || alert.subject.instance.is_none())
    );
}
