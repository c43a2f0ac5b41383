use super::*;
use crate::conversation::tests::conversation;
use crate::millis::from_unix_millis;

fn with_messages(count: u64) -> (Conversation, Vec<Message>) {
    let mut c = conversation();
    let messages = (1..=count).map(|number| {
        let ordinal = c.append_message(from_unix_millis(1));
        assert_eq!(ordinal.0, number);
        let body = serde_json::json!({
            "conversation": c.id, "ordinal": number, "tenant": c.tenant, "instance": c.instance, "role": "user",
            "content": {"type": "removed"}, "written_at": 1, "stored_at": 1,
            "correlation": "0123456789abcdef0123456789abcdef",
        });
        serde_json::from_value(body).unwrap()
    });
    let messages = messages.collect();
    (c, messages)
}

#[test]
fn a_history_without_a_gap_is_complete_from_where_it_is_kept() {
    let (mut c, messages) = with_messages(5);
    assert!(c.is_history_complete(&messages, 10));
    assert!(c.is_history_complete(&messages[2..], 3));
    assert!(
        !c.is_history_complete(&messages[..4], 10),
        "the newest is missing"
    );
    assert!(!c.is_history_complete(&[], 10));
    assert!(c.is_history_complete(&[], 0));
    c.trim_history(Ordinal(4), from_unix_millis(9));
    assert!(c.is_history_complete(&messages[3..], 10));
    assert!(
        !c.is_history_complete(&messages[2..], 10),
        "what is kept no longer is no history"
    );
    assert!(!c.is_history_complete(&[], 10));
    c.trim_history(Ordinal(6), from_unix_millis(9));
    assert!(c.is_history_complete(&[], 10), "nothing is kept");
}

#[test]
fn messages_that_are_kept_no_longer_are_not_owed_again_by_a_give_back() {
    let mut c = conversation();
    for at in 1..=3 {
        c.receive_message(true, from_unix_millis(at)).unwrap();
    }
    c.answered = Ordinal(3);
    c.take_over();
    c.trim_history(Ordinal(3), from_unix_millis(9));
    c.give_back_to_agent(Ordinal(0), from_unix_millis(10));
    assert_eq!(
        c.answered,
        Ordinal(2),
        "only the third was kept, and nobody answered it"
    );
    assert_eq!(
        (c.kept.kept_from, c.kept_since()),
        (Ordinal(3), from_unix_millis(9))
    );
}

#[test]
fn a_contacts_message_after_the_answered_ones_is_owed() {
    let (mut c, mut messages) = with_messages(3);
    c.turn_upto = Ordinal(3);
    c.answered = Ordinal(1);
    messages[1].role = Role::Assistant;
    let owed: Vec<bool> = messages
        .iter()
        .map(|message| c.is_message_owed(message))
        .collect();
    assert_eq!(owed, [false, false, true]);
    c.answered = Ordinal(3);
    assert!(!c.is_message_owed(&messages[2]));
}
