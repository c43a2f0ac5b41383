use super::*;
use crate::millis::instant;

fn sighting(connection: Connection, at: i64, asked_at: Option<i64>) -> Sighting {
    Sighting {
        connection,
        at: instant(at),
        probe_at: None,
        asked_at: asked_at.map(instant),
        releases: false,
    }
}

#[test]
fn an_open_instance_grows_stale_unless_it_is_confirmed_or_asked_for() {
    let mut state = InstanceState::default();
    assert!(
        !state.is_stale(instant(i64::from(u32::MAX)), 1),
        "never used: open as far as known"
    );
    state.asked_at = Some(instant(1_000));
    assert!(!state.is_stale(instant(600_999), 600_000));
    assert!(state.is_stale(instant(601_000), 600_000));
    state.confirmed_at = Some(instant(300_000));
    assert!(!state.is_stale(instant(899_999), 600_000));
    state.see(&sighting(Connection::Open, 900_000, None));
    assert!(
        state.is_stale(instant(900_000), 600_000),
        "a guess confirms nothing"
    );
    state.see(&sighting(Connection::Open, 900_000, Some(899_000)));
    assert!(!state.is_stale(instant(900_001), 600_000));
    state.see(&sighting(Connection::Closed, 900_000, None));
    assert!(
        !state.is_stale(instant(9_900_000), 600_000),
        "what is closed is probed"
    );
}
