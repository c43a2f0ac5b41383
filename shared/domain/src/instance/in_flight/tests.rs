use super::*;
use crate::identity::IdentityKey;
use crate::ids::{ConversationId, InstanceId};
use crate::millis::from_unix_millis;
use std::sync::LazyLock;

const WAIT: SignedDuration = SignedDuration::from_mins(5);

const CONTACT: &str = "5531980000001@s.whatsapp.net";

fn address(raw: &str) -> ContactAddress {
    ContactAddress::parse(raw).unwrap()
}

fn contact() -> &'static ContactAddress {
    static CONTACT_ADDRESS: LazyLock<ContactAddress> = LazyLock::new(|| address(CONTACT));
    &CONTACT_ADDRESS
}

fn note() -> InFlightSend {
    let thread = IdentityKey::from_bytes([7; 32])
        .derive_thread_id(&InstanceId::parse("front-desk").unwrap(), "551190000000");
    InFlightSend {
        message: ConversationId::new(thread, 1).message_id(crate::ids::Ordinal(2)),
        to: address(CONTACT),
        nonce: Nonce::parse("n").unwrap(),
        claimed_at: from_unix_millis(1_000_000),
        until: from_unix_millis(1_035_000),
        text_hash: "same".to_owned(),
        echo: None,
        maybe_echo: None,
        erased: None,
        is_time_unsure: false,
    }
}

fn said(id: &str, at: i64) -> OwnMessageEcho<'_> {
    OwnMessageEcho {
        address: contact(),
        numberless_identity: None,
        text_hash: "same",
        provider_message_id: Some(id),
        written_at: from_unix_millis(at),
        received_at: from_unix_millis(at),
        now: from_unix_millis(9_000_000),
        hashed: None,
    }
}

#[test]
fn an_equal_text_is_an_echo_only_while_the_request_may_still_go_out() {
    let last = 1_000_000 + 300_000 + 3_600_000;
    for (at, echo) in [(997_999, false), (998_000, true), (last, true), (last + 1, false)] {
        let expected = echo.then_some(Echo::Sure);
        assert_eq!(note().matches_echo(said("A", at), WAIT), expected, "{at}");
    }
    let other = OwnMessageEcho {
        text_hash: "another",
        ..said("A", 1_001_000)
    };
    assert_eq!(note().matches_echo(other, WAIT), None);
}

#[test]
fn an_echo_whose_webhook_came_late_counts_by_when_it_was_written() {
    let late = OwnMessageEcho {
        received_at: from_unix_millis(1_000_000 + 2 * 3_600_000),
        ..said("A", 1_060_000)
    };
    assert_eq!(note().matches_echo(late, WAIT), Some(Echo::Sure));
}

#[test]
fn no_message_is_too_old_for_an_attempt_of_a_clock_that_was_set_back() {
    let early = OwnMessageEcho {
        now: from_unix_millis(500_000),
        ..said("A", 400_000)
    };
    assert_eq!(
        note().matches_echo(early, WAIT),
        Some(Echo::Sure),
        "not corrected yet"
    );
    let later = said("A", 400_000);
    assert_eq!(note().matches_echo(later, WAIT), None);
    let corrected = InFlightSend {
        is_time_unsure: true,
        ..note()
    };
    assert_eq!(corrected.matches_echo(later, WAIT), Some(Echo::Sure));
    let late = said("A", 1_000_000 + 300_000 + 3_600_001);
    assert_eq!(corrected.matches_echo(late, WAIT), None);
}

#[test]
fn a_note_is_good_for_one_echo_however_often_that_one_comes() {
    let echoed = InFlightSend {
        echo: Some("A".to_owned()),
        ..note()
    };
    assert_eq!(echoed.matches_echo(said("A", 1_060_000), WAIT), Some(Echo::Sure));
    assert_eq!(echoed.matches_echo(said("B", 1_060_000), WAIT), None);
    let nameless = OwnMessageEcho {
        provider_message_id: None,
        ..said("A", 1_060_000)
    };
    assert_eq!(echoed.matches_echo(nameless, WAIT), None);
}

/// The note of an attempt stays until the provider's own answer is stored. So a late second copy counts as ours.
#[test]
fn an_equal_text_to_another_contact_or_from_before_the_attempt_is_no_echo() {
    let (same, other) = (address("553180000001"), address("5531980000002"));
    let to = |address| OwnMessageEcho {
        address,
        ..said("A", 1_060_000)
    };
    let sure = Some(Echo::Sure);
    assert_eq!(note().matches_echo(to(&same), WAIT), sure, "in another spelling");
    assert_eq!(note().matches_echo(to(&other), WAIT), None);
    let before = |written_at| OwnMessageEcho {
        written_at: from_unix_millis(written_at),
        ..said("A", 1_060_000)
    };
    assert_eq!(note().matches_echo(before(1_000_000 - 120_000), WAIT), sure);
    assert_eq!(note().matches_echo(before(1_000_000 - 120_000 - 1), WAIT), None);
}

#[test]
fn a_send_to_an_identity_without_a_number_is_known_by_it_where_it_is_shown() {
    let (lid, other) = (address("1@lid"), address("2@lid"));
    let to_lid = InFlightSend {
        to: lid.clone(),
        ..note()
    };
    assert!(to_lid.may_be_addressed_to(contact(), Some(&lid)));
    assert!(!to_lid.may_be_addressed_to(contact(), Some(&other)));
    assert!(to_lid.may_be_addressed_to(contact(), None), "nobody knows");
    assert!(note().may_be_addressed_to(contact(), Some(&other)));
}

#[test]
fn what_may_be_in_anybodys_chat_is_no_sure_echo_and_leaves_the_place_of_one() {
    let lid = address("1@lid");
    let unknown = |id| OwnMessageEcho {
        address: &lid,
        ..said(id, 1_060_000)
    };
    assert_eq!(note().matches_echo(unknown("A"), WAIT), Some(Echo::Maybe));
    let noted = InFlightSend {
        maybe_echo: Some("A".to_owned()),
        ..note()
    };
    assert_eq!(noted.matches_echo(unknown("A"), WAIT), Some(Echo::Maybe));
    assert_eq!(noted.matches_echo(unknown("B"), WAIT), None);
    assert_eq!(noted.matches_echo(said("B", 1_060_000), WAIT), Some(Echo::Sure));
    let shown = OwnMessageEcho {
        numberless_identity: Some(&lid),
        ..said("A", 1_060_000)
    };
    for (to, sure) in [("1@lid", Echo::Sure), (CONTACT, Echo::Sure)] {
        let to = address(to);
        assert_eq!(
            InFlightSend { to, ..note() }.matches_echo(shown, WAIT),
            Some(sure)
        );
    }
    let to_another = InFlightSend {
        to: address("2@lid"),
        ..note()
    };
    assert_eq!(to_another.matches_echo(shown, WAIT), None);
    assert_eq!(
        to_another.matches_echo(said("A", 1_060_000), WAIT),
        Some(Echo::Maybe)
    );
}

#[test]
fn a_note_of_an_erased_contact_knows_its_echo_and_holds_nothing_of_the_person() {
    let key = IdentityKey::from_bytes([7; 32]);
    let instance = InstanceId::parse("front-desk").unwrap();
    let (lid, other) = (address("1@lid"), address("5531980000002"));
    let thread = |address: &ContactAddress| key.derive_thread_id(&instance, address.as_str());
    let erased = note().erase_recipient(&key, &[thread(contact()), thread(&lid)]);
    let text = serde_json::to_string(&erased).unwrap();
    assert!(!text.contains("553198") && !text.contains("same"), "{text}");
    let echo_of = |erased: &InFlightSend, said: OwnMessageEcho<'_>| {
        let hashed = HashedEcho::from_echo(&key, &instance, &said);
        let said = OwnMessageEcho {
            hashed: Some(&hashed),
            ..said
        };
        (
            erased.matches_echo(said, WAIT),
            erased.recorded_id(&said).map(str::to_owned),
        )
    };
    let in_chat = |address, text_hash| OwnMessageEcho {
        address,
        text_hash,
        ..said("WAMID", 1_060_000)
    };
    let same_number = address("553180000001@s.whatsapp.net");
    for chat in [contact(), &same_number, &lid] {
        assert_eq!(echo_of(&erased, in_chat(chat, "same")).0, Some(Echo::Sure));
        assert_eq!(echo_of(&erased, in_chat(chat, "another")).0, None);
    }
    assert_eq!(echo_of(&erased, in_chat(&other, "same")).0, None);
    let unknown = address("9@lid");
    assert_eq!(echo_of(&erased, in_chat(&unknown, "same")).0, Some(Echo::Maybe));
    assert!(
        !erased.may_be_addressed_to(contact(), None),
        "nobody waits for it"
    );
    let (_, recorded) = echo_of(&erased, in_chat(contact(), "same"));
    assert!(!recorded.as_deref().unwrap().contains("WAMID"));
    let echoed = InFlightSend {
        echo: recorded,
        ..erased
    };
    assert_eq!(
        echo_of(&echoed, in_chat(contact(), "same")).0,
        Some(Echo::Sure),
        "the same again"
    );
    let next = OwnMessageEcho {
        provider_message_id: Some("NEXT"),
        ..in_chat(contact(), "same")
    };
    assert_eq!(echo_of(&echoed, next).0, None, "typed");
}
