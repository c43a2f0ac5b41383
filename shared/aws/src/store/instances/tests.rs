use super::*;
use recado_domain::instance::{ConnectionStatus, ConnectionUpdate};
use recado_domain::millis::from_unix_millis;

fn id() -> InstanceId {
    InstanceId::parse("front-desk").unwrap()
}

fn update(before: &InstanceState, connection: ConnectionStatus, probe_at: Option<i64>) -> Expression {
    let mut after = before.clone();
    after.apply_change(&InstanceChange::Connection(ConnectionUpdate {
        connection,
        at: from_unix_millis(5),
        probe_at: probe_at.map(from_unix_millis),
        asked_at: None,
        releases_waiting: false,
    }));
    state_update("test", &id(), before, &after)
        .unwrap()
        .build_expression()
}

fn closed(probe_at: Option<i64>) -> InstanceState {
    InstanceState {
        connection: ConnectionStatus::Closed,
        since: Some(from_unix_millis(1)),
        probe_at: probe_at.map(from_unix_millis),
        arrival: Some(from_unix_millis(9)),
        ..InstanceState::default()
    }
}

#[test]
fn a_connection_that_is_lost_enters_the_index_and_one_that_is_back_leaves_it() {
    let lost = update(&InstanceState::default(), ConnectionStatus::Closed, Some(60_000));
    assert!(lost.text.contains("#open_due = :open_due"), "{}", lost.text);
    assert_eq!(lost.values[":open_due"], number_attribute(60_000));
    assert!(!lost.text.contains("released_at"));
    let back = update(&closed(Some(60_000)), ConnectionStatus::Open, None);
    assert!(back.text.contains("#open_shard, #open_due"), "{}", back.text);
    assert!(back.text.contains("REMOVE #probe_at"), "{}", back.text);
    assert!(!back.text.contains("released_at"));
}

#[test]
fn an_open_one_that_is_to_be_released_again_stays_in_the_index() {
    let back = update(&closed(None), ConnectionStatus::Open, Some(60_000));
    assert_eq!(back.values[":open_due"], number_attribute(60_000));
    assert!(!back.text.contains("released_at"), "{}", back.text);
}

#[test]
fn a_lost_connection_without_a_probe_time_is_due_since_it_was_lost() {
    let first = update(&InstanceState::default(), ConnectionStatus::Closed, None);
    assert_eq!(first.values[":open_due"], number_attribute(5));
    let again = update(&closed(Some(60_000)), ConnectionStatus::Closed, None);
    assert_eq!(again.values[":open_due"], number_attribute(1));
}

#[test]
fn a_change_leaves_the_reserved_slots_alone() {
    let lost = update(&closed(None), ConnectionStatus::Unreachable, Some(60_000));
    assert!(!lost.text.contains("arrival"), "{}", lost.text);
}

#[test]
fn a_default_state_that_was_read_must_not_be_stored_yet() {
    let seen = |seen: InstanceState| is_as_read(&seen).text;
    assert_eq!(seen(default_state(0)), "attribute_not_exists(#pk)");
    assert_eq!(seen(default_state(3)), "attribute_not_exists(#pk)");
    assert_eq!(seen(closed(None)), "attribute_not_exists(#rev)");
    let changed = InstanceState {
        rev: 3,
        ..closed(None)
    };
    assert_eq!(seen(changed), "#rev = :seen");
}
