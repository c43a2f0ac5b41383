use super::*;
use crate::identity::IdentityKey;
use crate::ids::{ConversationId, InstanceId};
use crate::millis::instant;
use std::sync::LazyLock;

const WAIT_MS: i64 = 300_000;

const CONTACT: &str = "5531980000001@s.whatsapp.net";

fn address(raw: &str) -> ContactAddress {
    ContactAddress::parse(raw).unwrap()
}

fn contact() -> &'static ContactAddress {
    static CONTACT_ADDRESS: LazyLock<ContactAddress> = LazyLock::new(|| address(CONTACT));
    &CONTACT_ADDRESS
}

fn note() -> InFlight {
    let thread = IdentityKey::new([7; 32]).thread(&InstanceId::parse("front-desk").unwrap(), "551190000000");
    InFlight {
        message: ConversationId::new(thread, 1).message(crate::ids::Ordinal(2)),
        to: address(CONTACT),
        nonce: Nonce::parse("n").unwrap(),
        claimed_at: instant(1_000_000),
        until: instant(1_035_000),
        text_hash: "same".to_owned(),
        echo: None,
    }
}

fn said(id: &str, at: i64) -> FromMe<'_> {
    FromMe {
        address: contact(),
        also: None,
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

#[test]
fn an_equal_text_to_another_contact_or_from_before_the_attempt_is_no_echo() {
    let (same, other) = (address("553180000001"), address("5531980000002"));
    let to = |address| FromMe {
        address,
        ..said("A", 1_060_000)
    };
    assert!(note().echoes(to(&same), WAIT_MS), "in another spelling");
    assert!(!note().echoes(to(&other), WAIT_MS));
    let before = |written_at| FromMe {
        written_at: instant(written_at),
        ..said("A", 1_060_000)
    };
    assert!(note().echoes(before(1_000_000 - BEHIND_MS), WAIT_MS));
    assert!(!note().echoes(before(1_000_000 - BEHIND_MS - 1), WAIT_MS));
}

#[test]
fn a_send_to_an_identity_without_a_number_is_known_by_it_where_it_is_shown() {
    let (lid, other) = (address("1@lid"), address("2@lid"));
    let to_lid = InFlight {
        to: lid.clone(),
        ..note()
    };
    assert!(to_lid.may_be_to(contact(), Some(&lid)));
    assert!(!to_lid.may_be_to(contact(), Some(&other)));
    assert!(to_lid.may_be_to(contact(), None), "nobody knows");
    assert!(note().may_be_to(contact(), Some(&other)));
}
