use super::*;
use crate::millis::from_unix_millis;

fn connection_update(connection: ConnectionStatus, at: i64, asked_at: Option<i64>) -> ConnectionUpdate {
    ConnectionUpdate {
        connection,
        at: from_unix_millis(at),
        probe_at: None,
        asked_at: asked_at.map(from_unix_millis),
        releases_waiting: false,
    }
}

#[test]
fn an_open_instance_grows_stale_unless_it_is_confirmed_or_asked_for() {
    let mut state = InstanceState::default();
    assert!(
        !state.is_stale(
            from_unix_millis(i64::from(u32::MAX)),
            SignedDuration::from_millis(1)
        ),
        "never used: open as far as known"
    );
    state.asked_at = Some(from_unix_millis(1_000));
    assert!(!state.is_stale(from_unix_millis(600_999), SignedDuration::from_millis(600_000)));
    assert!(state.is_stale(from_unix_millis(601_000), SignedDuration::from_millis(600_000)));
    state.confirmed_at = Some(from_unix_millis(300_000));
    assert!(!state.is_stale(from_unix_millis(899_999), SignedDuration::from_millis(600_000)));
    state.apply_connection_update(&connection_update(ConnectionStatus::Open, 900_000, None));
    assert!(
        state.is_stale(from_unix_millis(900_000), SignedDuration::from_millis(600_000)),
        "a guess confirms nothing"
    );
    state.apply_connection_update(&connection_update(ConnectionStatus::Open, 900_000, Some(899_000)));
    assert!(!state.is_stale(from_unix_millis(900_001), SignedDuration::from_millis(600_000)));
    state.apply_connection_update(&connection_update(ConnectionStatus::Closed, 900_000, None));
    assert!(
        !state.is_stale(from_unix_millis(9_900_000), SignedDuration::from_millis(600_000)),
        "what is closed is probed"
    );
}
