use super::*;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::Context;
use recado_domain::ids::{ConversationId, CorrelationId, InstanceId, TenantId, ThreadId};
use recado_domain::millis::instant;
use recado_domain::outbox::{Author, Outbox};
use recado_domain::reason::Reason;

fn message(ordinal: u64, role: Role, written_at: i64, text: &str) -> Message {
    let instance = InstanceId::parse("i").unwrap();
    Message {
        conversation: ConversationId::new(ThreadId::of(&instance, "x"), 1),
        ordinal: Ordinal(ordinal),
        tenant: TenantId::parse("t").unwrap(),
        instance,
        role,
        content: Content::text(text),
        context: Context::default(),
        provider_message_id: None,
        written_at: instant(written_at),
        stored_at: instant(written_at),
        correlation: CorrelationId::parse("c").unwrap(),
        event: None,
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        out: None,
    }
}

fn said(messages: &[Message], answered: u64, covers: u64) -> Vec<String> {
    transcript(messages, Ordinal(answered), Ordinal(covers))
        .into_iter()
        .map(|turn| format!("{:?}: {}", turn.speaker, turn.text))
        .collect()
}

#[test]
fn a_burst_is_one_turn_in_the_order_it_was_written() {
    let messages = [
        message(1, Role::User, 20, "b"),
        message(2, Role::User, 10, "a"),
        message(3, Role::User, 30, "c"),
    ];
    assert_eq!(said(&messages, 0, 3), ["User: a\nb\nc"]);
}

#[test]
fn what_is_owed_comes_last_even_if_its_webhook_came_late() {
    let messages = [
        message(1, Role::User, 10, "first"),
        message(2, Role::Assistant, 20, "answer"),
        message(3, Role::User, 15, "late"),
    ];
    assert_eq!(
        said(&messages, 1, 3),
        ["User: first", "Assistant: answer", "User: late"]
    );
}

#[test]
fn an_answer_comes_after_its_question_whosever_clock_runs_behind() {
    let mut answer = message(2, Role::Assistant, 10, "answer");
    let to = ContactAddress::parse("123456").unwrap();
    answer.out = Some(Outbox::queued(to, Author::Ai, 0, Ordinal(1), instant(10)));
    let messages = [
        message(1, Role::User, 12, "question"),
        answer,
        message(3, Role::User, 20, "next"),
    ];
    assert_eq!(
        said(&messages, 1, 3),
        ["User: question", "Assistant: answer", "User: next"]
    );
}

#[test]
fn it_begins_with_the_contact_and_leaves_out_what_came_after_the_turn() {
    let messages = [
        message(1, Role::Operator, 5, "hello"),
        message(2, Role::User, 10, "hi"),
        message(3, Role::User, 20, "not yet mine"),
    ];
    assert_eq!(said(&messages, 0, 2), ["User: hi"]);
}

#[test]
fn a_reply_that_was_cancelled_was_never_said() {
    let mut cancelled = message(2, Role::Assistant, 20, "oops");
    let to = ContactAddress::parse("123456").unwrap();
    let mut out = Outbox::queued(to, Author::Ai, 0, Ordinal(1), instant(20));
    out.cancel(instant(21), Reason::TakenOver).unwrap();
    cancelled.out = Some(out);
    let messages = [
        message(1, Role::User, 10, "hi"),
        cancelled,
        message(3, Role::User, 30, "hello?"),
    ];
    assert_eq!(said(&messages, 1, 3), ["User: hi\nhello?"]);
}
