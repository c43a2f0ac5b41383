use super::*;
use crate::contact::ContactAddress;
use crate::content::{Content, SystemNote};
use crate::context::MessageContext;
use crate::conversation::Handover;
use crate::debounce::DebounceBounds;
use crate::identity::IdentityKey;
use crate::ids::{ConversationId, CorrelationId, Nonce};
use crate::millis::from_unix_millis;
use jiff::SignedDuration;
use serde_json::json;

fn bound(extra: &serde_json::Value) -> InstanceConfig {
    let mut bound = json!({
        "instance": {"id": "i", "tenant": "t", "agent": "a", "provider": "evolution"},
        "tenant": {"id": "t"},
        "agent": {"id": "a", "tenant": "t", "model": "m", "system_prompt": "p"},
    });
    for (name, value) in extra.as_object().unwrap() {
        bound["instance"][name] = value.clone();
    }
    serde_json::from_value(bound).unwrap()
}

fn conversation() -> Conversation {
    let (bound, address) = (
        bound(&json!({})),
        ContactAddress::parse("5511999998888@s.whatsapp.net").unwrap(),
    );
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(&bound.instance.id, address.as_str());
    Conversation::start_new(
        ConversationId::new(thread, 1),
        &bound,
        address,
        None,
        from_unix_millis(0),
    )
}

pub(crate) fn message(ordinal: u64, role: Role) -> Message {
    let (conversation, bound) = (conversation(), bound(&json!({})));
    Message {
        conversation: conversation.id,
        ordinal: Ordinal(ordinal),
        tenant: bound.tenant.id,
        instance: bound.instance.id,
        role,
        content: Content::from_text("oi"),
        context: MessageContext::default(),
        provider_message_id: None,
        written_at: from_unix_millis(5),
        told_at: None,
        stored_at: from_unix_millis(5),
        correlation: CorrelationId::parse("c").unwrap(),
        event: None,
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        changes: crate::message::MessageChanges::default(),
        file: None,
        rev: 0,
        out: None,
    }
}

fn reply(ordinal: u64, covers: u64, author: Author, state: OutboxState) -> Message {
    let (to, at) = (conversation().address, from_unix_millis(6));
    let mut out = Outbox::new_queued(to, author, 0, Ordinal(covers), at);
    out.state = state;
    Message {
        out: Some(out),
        ..message(
            ordinal,
            if author == Author::Ai {
                Role::Assistant
            } else {
                Role::Operator
            },
        )
    }
}

fn at(milliseconds: i64) -> Timestamp {
    from_unix_millis(milliseconds)
}

/// A conversation in which the contact wrote once, and wants an answer.
fn asked() -> Conversation {
    let mut conversation = conversation();
    conversation.receive_message(true, at(5)).unwrap();
    conversation
}

/// The answer to the first message, at time 1,000 at an instance that is always open.
fn explain(conversation: &Conversation, later: &[Message]) -> ExplainedAnswer {
    explain_at(conversation, later, Some(&bound(&json!({}))), false)
}

fn explain_at(
    conversation: &Conversation,
    later: &[Message],
    bound: Option<&InstanceConfig>,
    lacks_model_key: bool,
) -> ExplainedAnswer {
    let situation = AnswerSituation {
        now: at(1_000),
        bound,
        lacks_model_key,
        debounce: None,
        debounce_max: SignedDuration::from_secs(20),
        turn_obstacle: None,
        send_obstacle: None,
    };
    let answer = explain_answer(&message(1, Role::User), conversation, later, &situation);
    let owed = explain_owed_answer(conversation, &situation);
    assert!(
        owed.is_none_or(|owed| !later.is_empty() || owed == answer),
        "the conversation tells the same as its message"
    );
    answer
}

#[test]
fn what_is_in_work_says_by_whom_and_until_when() {
    let mut conversation = asked();
    let answer = explain(&conversation, &[]);
    assert_eq!(
        (answer.reason, answer.since),
        (AnswerReason::Debounce, Some(at(5)))
    );
    let nonce = Nonce::parse("n").unwrap();
    conversation.acquire_lease(nonce, Ordinal(1), at(900), at(9_000));
    let answer = explain(&conversation, &[]);
    assert_eq!(answer.reason, AnswerReason::Drafting);
    assert_eq!((answer.since, answer.until), (Some(at(900)), Some(at(9_000))));
    conversation.answered = Ordinal(1);
    let mut queued = reply(2, 1, Author::Ai, OutboxState::Queued);
    queued.out.as_mut().unwrap().not_before = Some(at(2_000));
    let answer = explain(&conversation, std::slice::from_ref(&queued));
    assert_eq!(answer.reason, AnswerReason::Sending);
    assert_eq!(
        (answer.reply, answer.until),
        (Some(queued.message_id()), Some(at(2_000)))
    );
    assert_eq!(answer.reason.state(), AnswerState::InWork);
}

#[test]
fn what_waits_says_for_whom_since_when_and_until_when() {
    let mut conversation = asked();
    let hours = bound(&json!({"opening_hours": {"fri": ["09:00-10:00"]}}));
    // The epoch was a Thursday.
    let opening = at(86_400_000 + 9 * 3_600_000);
    let answer = explain_at(&conversation, &[], Some(&hours), false);
    assert_eq!(
        (answer.reason, answer.until),
        (AnswerReason::OutOfHours, Some(opening))
    );
    // The instance has opened, and others are answered first.
    conversation.opening.scheduled_for = Some(at(1_001));
    let answer = explain(&conversation, &[]);
    assert_eq!(
        (answer.reason, answer.until),
        (AnswerReason::OutOfHours, Some(at(1_001)))
    );
    conversation.opening.scheduled_for = Some(at(1_000));
    assert_eq!(
        explain(&conversation, &[]).reason,
        AnswerReason::Debounce,
        "it is its turn"
    );
    conversation.opening.scheduled_for = None;
    let mut no_agent = bound(&json!({}));
    no_agent.agent.disabled = true;
    let answer = explain_at(&conversation, &[], Some(&no_agent), false);
    assert_eq!(
        (answer.reason, answer.reason.state()),
        (AnswerReason::AgentDisabled, AnswerState::Waiting)
    );
    let answer = explain_at(&conversation, &[], Some(&bound(&json!({}))), true);
    assert_eq!(answer.reason, AnswerReason::ModelKey);
    let disabled = bound(&json!({"disabled": true}));
    for nobody in [None, Some(&disabled)] {
        assert_eq!(
            explain_at(&conversation, &[], nobody, false).reason,
            AnswerReason::NoInstance
        );
    }
    conversation.needs_person = Some(Reason::TooMuchToRead);
    let answer = explain(&conversation, &[]);
    assert_eq!(
        (answer.reason, answer.cause),
        (AnswerReason::NeedsPerson, Some(Reason::TooMuchToRead))
    );
    conversation.take_over();
    assert_eq!(
        explain(&conversation, &[]).since,
        Some(at(0)),
        "people had it from the beginning"
    );
    conversation.sign_handover(&TokenName::phone(), at(70));
    let answer = explain(&conversation, &[]);
    assert_eq!(
        (answer.reason, answer.since),
        (AnswerReason::Manual, Some(at(70)))
    );
    assert_eq!(
        (answer.by, answer.reason.state(), answer.until),
        (Some(TokenName::phone()), AnswerState::Waiting, None)
    );
    conversation.agent_returns_at = Some(at(900));
    assert_eq!(explain(&conversation, &[]).until, Some(at(900)));
}

#[test]
fn what_asks_for_nothing_says_so_whatever_follows() {
    let conversation = asked();
    let situation = AnswerSituation {
        now: at(1_000),
        bound: None,
        lacks_model_key: false,
        debounce: None,
        debounce_max: SignedDuration::from_secs(20),
        turn_obstacle: None,
        send_obstacle: None,
    };
    let reason = |message: &Message| explain_answer(message, &conversation, &[], &situation).reason;
    let mut stale = message(1, Role::User);
    stale.unanswered = Some(Reason::Stale);
    assert_eq!(reason(&stale), AnswerReason::Stale);
    for content in [
        Content::Deletion { target: None },
        Content::Reaction {
            emoji: None,
            target: None,
        },
        Content::System {
            what: SystemNote::Other,
            text: None,
        },
    ] {
        let note = Message {
            content,
            ..message(1, Role::User)
        };
        assert_eq!(reason(&note), AnswerReason::NothingToAnswer);
    }
    assert_eq!(AnswerReason::NothingToAnswer.state(), AnswerState::NotOwed);
}

#[test]
fn the_first_message_that_answers_counts_and_one_that_was_given_up_only_without_another() {
    let mut conversation = asked();
    conversation.answered = Ordinal(1);
    let sent = |ordinal, author| reply(ordinal, 1, author, OutboxState::Sent { at: at(8) });
    let dead = reply(
        2,
        1,
        Author::Ai,
        OutboxState::Dead {
            at: at(7),
            reason: Reason::WindowClosed,
        },
    );
    let cancelled = reply(
        3,
        1,
        Author::Ai,
        OutboxState::Cancelled {
            at: at(7),
            reason: Reason::TakenOver,
        },
    );
    let answer = explain(&conversation, &[dead.clone(), cancelled.clone()]);
    assert_eq!(
        (answer.reason, answer.cause),
        (AnswerReason::DeadLetter, Some(Reason::WindowClosed))
    );
    let answer = explain(&conversation, std::slice::from_ref(&cancelled));
    assert_eq!(
        (answer.reason, answer.cause),
        (AnswerReason::Cancelled, Some(Reason::TakenOver))
    );
    let mut maybe = cancelled.clone();
    maybe.out.as_mut().unwrap().maybe_sent = true;
    assert_eq!(
        explain(&conversation, &[maybe]).reason,
        AnswerReason::MaybeReplied
    );
    conversation.take_over();
    let answer = explain(&conversation, std::slice::from_ref(&cancelled));
    assert_eq!(
        answer.reason,
        AnswerReason::Manual,
        "a give-back makes it owed again"
    );
    let answer = explain(
        &conversation,
        &[dead, cancelled, sent(4, Author::Person), sent(5, Author::Ai)],
    );
    assert_eq!((answer.reason, answer.since), (AnswerReason::Person, Some(at(8))));
    let mut error = sent(2, Author::Ai);
    error.unanswered = Some(Reason::ModelFailed);
    assert_eq!(
        explain(&conversation, &[error]).reason,
        AnswerReason::ErrorMessage
    );
    let other = reply(2, 0, Author::Person, OutboxState::Sent { at: at(8) });
    let answer = explain(&conversation, &[other, sent(3, Author::Ai)]);
    assert_eq!(
        answer.reason,
        AnswerReason::Replied,
        "what a client sends answers nothing"
    );
    assert_eq!(explain(&conversation, &[]).reason, AnswerReason::NotKept);
}

#[test]
fn a_debounce_says_until_when_it_runs_from_the_newest_message_on() {
    let (bound, second) = (bound(&json!({})), SignedDuration::from_secs(1));
    let until = |conversation: &Conversation, others: &[Message], now| {
        let situation = AnswerSituation {
            now: at(now),
            bound: Some(&bound),
            lacks_model_key: false,
            debounce: Some(Debounce::Adaptive(DebounceBounds {
                short: second,
                long: second * 8,
            })),
            debounce_max: second * 20,
            turn_obstacle: None,
            send_obstacle: None,
        };
        let mut asked = message(1, Role::User);
        asked.content = Content::from_text("Vocês abrem hoje?");
        let answer = explain_answer(&asked, conversation, others, &situation);
        assert_eq!(answer.reason, AnswerReason::Debounce);
        answer.until
    };
    let mut conversation = asked();
    assert_eq!(
        until(&conversation, &[], 10),
        Some(at(1_005)),
        "a complete question"
    );
    assert_eq!(until(&conversation, &[], 1_005), None, "the turn begins");
    conversation.receive_message(true, at(700)).unwrap();
    assert_eq!(until(&conversation, &[], 800), None, "the newest is not known");
    let mut newest = message(2, Role::User);
    (newest.stored_at, newest.content) = (at(700), Content::from_text("E amanhã?"));
    let goes_on = until(&conversation, &[newest], 800);
    assert_eq!(
        goes_on,
        Some(at(2_750)),
        "who wrote two is likely to write a third"
    );
    let mut day = message(2, Role::User);
    (day.stored_at, day.content) = (at(700), Content::from_text("terça"));
    let unasked = until(&conversation, std::slice::from_ref(&day), 800);
    conversation.questions.asked = true;
    assert_eq!(until(&conversation, &[day], 800), Some(at(2_750)), "an answer");
    assert!(unasked > Some(at(2_750)), "a fragment");
    conversation.receive_message(true, at(19_900)).unwrap();
    let mut last = message(3, Role::User);
    (last.stored_at, last.content) = (at(19_900), Content::from_text("e"));
    assert_eq!(
        until(&conversation, &[last], 19_950),
        Some(at(20_005)),
        "no burst puts it off for longer"
    );
}

#[test]
fn words_typed_on_the_phone_answer_what_their_author_had_seen() {
    let (mut conversation, typed) = (asked(), message(2, Role::Operator));
    assert_eq!(
        explain(&conversation, std::slice::from_ref(&typed)).reason,
        AnswerReason::Debounce
    );
    (conversation.answered, conversation.human) = (Ordinal(1), Ordinal(1));
    let answer = explain(&conversation, std::slice::from_ref(&typed));
    assert_eq!(
        (answer.reason, answer.by),
        (AnswerReason::Person, Some(TokenName::phone()))
    );
    assert_eq!(explain(&conversation, &[]).reason, AnswerReason::Person);
}

#[test]
fn a_resolved_conversation_owes_nothing_and_says_who_resolved_it() {
    let mut conversation = asked();
    conversation.resolve_if_seen(Ordinal(1)).unwrap();
    conversation.people.handover = Some(Handover {
        by: TokenName::phone(),
        at: at(40),
    });
    let answer = explain(&conversation, &[]);
    assert_eq!(
        (answer.reason, answer.since),
        (AnswerReason::Resolved, Some(at(40)))
    );
    let open = asked();
    let situation = AnswerSituation {
        now: at(1),
        bound: None,
        lacks_model_key: false,
        debounce: None,
        debounce_max: SignedDuration::from_secs(20),
        turn_obstacle: None,
        send_obstacle: None,
    };
    assert!(explain_owed_answer(&conversation, &situation).is_none());
    assert!(explain_owed_answer(&open, &situation).is_some());
}
