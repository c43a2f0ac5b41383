//! Books that do not balance are found out, each way by itself.

use super::*;
use recado_domain::Timestamp;

const MARIA: &str = "5511900000001";

fn asked(number: usize) -> Asked {
    Asked {
        instance: "loja-1".to_owned(),
        number: MARIA.to_owned(),
        id: format!("ID{number}"),
        words: format!("question {number}"),
    }
}

fn question(number: usize, ordinal: u64) -> Record {
    Record {
        id: format!("c-{ordinal}"),
        number: MARIA.to_owned(),
        ordinal,
        inbound: true,
        text: format!("question {number}"),
        provider_id: Some(format!("ID{number}")),
        status: "delivered".to_owned(),
        ..Record::default()
    }
}

fn reply(text: &str, ordinal: u64) -> Record {
    Record {
        id: format!("c-{ordinal}"),
        number: MARIA.to_owned(),
        ordinal,
        text: text.to_owned(),
        status: "sent".to_owned(),
        ..Record::default()
    }
}

fn delivered(text: &str) -> Delivered {
    Delivered::new("loja-1", MARIA, text, Timestamp::UNIX_EPOCH)
}

/// Two questions in one burst, a third one later, and a reply to each part.
fn audit() -> Audit {
    let (first, second) = ("echo: question 1\nquestion 2", "echo: question 3");
    Audit {
        asked: vec![asked(1), asked(2), asked(3)],
        records: vec![
            question(1, 1),
            question(2, 2),
            reply(first, 3),
            question(3, 4),
            reply(second, 5),
        ],
        dead_letters: BTreeSet::new(),
        delivered: vec![delivered(first), delivered(second)],
        error_message: "sorry".to_owned(),
    }
}

#[track_caller]
fn violated(audit: &Audit, what: &str) {
    let balance = audit.balance();
    let found = balance
        .violations
        .iter()
        .any(|violation| violation.contains(what));
    assert!(found, "{what} is not in {balance}");
}

#[test]
fn what_was_answered_once_and_in_order_balances() {
    let balance = audit().balance();
    assert!(balance.holds(), "{balance}");
    assert_eq!((balance.received, balance.answered, balance.replies), (3, 3, 2));
}

#[test]
fn a_message_that_was_lost_or_stored_twice_or_out_of_order_is_found() {
    let mut lost = audit();
    lost.records.remove(0);
    violated(&lost, "question 1 was acknowledged and is stored 0 times");
    let mut twice = audit();
    twice.records.push(question(3, 6));
    violated(&twice, "question 3 was acknowledged and is stored 2 times");
    let mut turned = audit();
    turned.records[0].ordinal = 2;
    turned.records[1].ordinal = 1;
    violated(&turned, "question 2 is stored before what was written before it");
}

#[test]
fn a_question_without_an_answer_or_with_two_is_found() {
    let mut silent = audit();
    silent.records.pop();
    silent.delivered.pop();
    violated(&silent, "question 3 was not answered");
    let mut again = audit();
    again.records.push(reply("echo: question 3\nmore", 6));
    again.delivered.push(delivered("echo: question 3\nmore"));
    violated(&again, "question 3 was answered 2 times");
}

#[test]
fn a_reason_or_the_error_message_accounts_for_a_question_without_an_answer() {
    let mut stale = audit();
    stale.records.pop();
    stale.delivered.pop();
    stale.records[3].reason = Some("stale".to_owned());
    assert_eq!(stale.balance().excused, 1);
    assert!(stale.balance().holds(), "{}", stale.balance());
    let mut failed = audit();
    failed.records[4].text = "sorry".to_owned();
    failed.delivered[1].text = "sorry".to_owned();
    assert_eq!(failed.balance().excused, 1);
    assert!(failed.balance().holds(), "{}", failed.balance());
}

#[test]
fn a_reply_that_was_given_up_needs_its_dead_letter() {
    let mut dead = audit();
    dead.records[4].status = "failed".to_owned();
    dead.delivered.pop();
    violated(&dead, "c-5 was given up without a dead letter");
    dead.dead_letters.insert("c-5".to_owned());
    let balance = dead.balance();
    assert!(balance.holds(), "{balance}");
    assert_eq!((balance.answered, balance.dead_lettered), (2, 1));
    dead.delivered.push(delivered("echo: question 3"));
    violated(&dead, "c-5 failed");
}

#[test]
fn a_reply_may_come_twice_only_if_its_record_says_so() {
    let mut twice = audit();
    twice.delivered.push(delivered("echo: question 3"));
    violated(&twice, "the provider accepted 2 times: c-5");
    twice.records[4].repeats = 1;
    violated(&twice, "c-5 was repeated and is not marked");
    twice.records[4].maybe_sent = true;
    let balance = twice.balance();
    assert!(balance.holds(), "{balance}");
    assert_eq!((balance.duplicates, balance.repeated), (1, 1));
}

#[test]
fn a_reply_that_never_left_or_that_nobody_knows_or_that_is_still_open_is_found() {
    let mut unsent = audit();
    unsent.delivered.pop();
    violated(&unsent, "the provider accepted 0 times: c-5");
    let mut unknown = audit();
    unknown.delivered.push(delivered("who said that?"));
    violated(&unknown, "what no record says");
    let mut open = audit();
    open.records[4].status = "pending".to_owned();
    violated(&open, "c-5 is still open");
}

#[test]
fn replies_that_came_in_another_order_are_found() {
    let mut turned = audit();
    turned.delivered.swap(0, 1);
    violated(&turned, "c-3 came after a later one");
}
