use super::*;
use crate::identity::IdentityKey;
use crate::millis::instant;

const WAIT_MS: i64 = 300_000;

fn note() -> InFlight {
    let thread = IdentityKey::new([7; 32]).thread(&InstanceId::parse("front-desk").unwrap(), "551190000000");
    InFlight {
        message: ConversationId::new(thread, 1).message(crate::ids::Ordinal(2)),
        nonce: Nonce::parse("n").unwrap(),
        claimed_at: instant(1_000_000),
        until: instant(1_035_000),
        text_hash: "same".to_owned(),
        echo: None,
    }
}

fn said(id: &str, at: i64) -> FromMe<'_> {
    FromMe {
        text_hash: "same",
        provider_message_id: Some(id),
        written_at: instant(at),
        received_at: instant(at),
    }
}

#[test]
fn an_equal_text_is_an_echo_only_while_the_request_may_still_go_out() {
    let last = 1_000_000 + WAIT_MS + ECHO_MS;
    for (at, echo) in [(997_999, false), (998_000, true), (last, true), (last + 1, false)] {
        assert_eq!(note().echoes(said("A", at), WAIT_MS), echo, "{at}");
    }
    let other = FromMe {
        text_hash: "another",
        ..said("A", 1_001_000)
    };
    assert!(!note().echoes(other, WAIT_MS));
}

#[test]
fn an_echo_whose_webhook_came_late_counts_by_when_it_was_written() {
    let late = FromMe {
        received_at: instant(1_000_000 + 2 * ECHO_MS),
        ..said("A", 1_060_000)
    };
    assert!(note().echoes(late, WAIT_MS));
}

#[test]
fn a_note_is_good_for_one_echo_however_often_that_one_comes() {
    let heard = InFlight {
        echo: Some("A".to_owned()),
        ..note()
    };
    assert!(heard.echoes(said("A", 1_060_000), WAIT_MS));
    assert!(!heard.echoes(said("B", 1_060_000), WAIT_MS));
    let nameless = FromMe {
        provider_message_id: None,
        ..said("A", 1_060_000)
    };
    assert!(!heard.echoes(nameless, WAIT_MS));
}

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
