use crate::contact::ContactAddress;
use crate::conversation::tests::conversation;
use crate::conversation::{Conversation, ConversationMode, ConversationStatus};
use crate::identity::IdentityKey;
use crate::ids::{ConversationId, CorrelationId, Ordinal, StepId};
use crate::message::{Message, NewOutgoing, PreparedContent};
use crate::millis::from_unix_millis;
use crate::outbox::Author;

fn under(address: &str) -> Conversation {
    let mut c = conversation();
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(&c.instance, address);
    c.id = ConversationId::new(thread, 1);
    c
}

/// The conversation under an identity, in which something was written, left for the one under the number.
fn left_for_another() -> (Conversation, Conversation) {
    let (mut left, mut taken_up) = (under("1@lid"), under("5511999998888@s.whatsapp.net"));
    left.receive_message(true, from_unix_millis(1)).unwrap();
    left.mark_moved_to(&taken_up.id);
    taken_up.absorb_conversation(&left);
    (left, taken_up)
}

fn made(c: &mut Conversation, at: i64) -> Message {
    let ordinal = c.append_message(from_unix_millis(at));
    let correlation = CorrelationId::parse("0123456789abcdef0123456789abcdef").unwrap();
    let new = NewOutgoing {
        author: Author::Person,
        to: c.address.clone(),
        ordinal,
        covers: Ordinal(0),
        ready: PreparedContent::from_text("oi".to_owned()),
        pair_rate: None,
        key: None,
        correlation: &correlation,
    };
    new.queue_in(c, from_unix_millis(at)).into_record()
}

#[test]
fn one_in_which_nobody_wrote_is_in_no_list_and_one_that_was_left_is_over_once_nothing_is_owed() {
    let (mut left, taken_up) = left_for_another();
    let mut leading = under("2@lid");
    leading.redirect_to(&taken_up.id);
    assert_eq!(leading.listed_status(), None);
    assert_eq!(
        left.listed_status(),
        Some(ConversationStatus::Active),
        "an answer is owed"
    );
    left.answered = left.turn_upto;
    assert_eq!(left.listed_status(), Some(ConversationStatus::Resolved));
    assert!(left.is_finished() && !taken_up.is_finished());
    assert_eq!(taken_up.listed_status(), Some(ConversationStatus::Active));
}

#[test]
fn what_a_give_back_may_owe_again_is_not_quiet() {
    let mut c = conversation();
    c.receive_message(true, from_unix_millis(1)).unwrap();
    assert!(!c.is_settled());
    c.answered = Ordinal(1);
    assert!(c.is_settled());
    c.take_over();
    assert!(!c.is_settled(), "a reply may have been cancelled");
    c.record_operator_answer(Ordinal(1), true, from_unix_millis(2));
    assert!(c.is_settled(), "a person answered it");
    c.receive_message(true, from_unix_millis(3)).unwrap();
    assert!(!c.is_settled());
    c.resolve_if_seen(c.last).unwrap();
    assert!(c.is_settled());
}

#[test]
fn what_is_the_contacts_is_as_both_conversations_know_it() {
    let (mut left, mut taken_up) = (under("1@lid"), conversation());
    left.record_contact_activity(from_unix_millis(5));
    left.contact.pair_arrival = Some(from_unix_millis(7));
    taken_up.contact.pair_arrival = Some(from_unix_millis(6));
    taken_up.contact.marketing_stopped_at = Some(from_unix_millis(3));
    left.record_reengagement(&left.id.message_id(Ordinal(1)), from_unix_millis(9));
    left.update_contact_details(Some("Ana"), None);
    taken_up.absorb_conversation(&left);
    taken_up.absorb_conversation(&left);
    assert_eq!(taken_up.contact.last_inbound_at, Some(from_unix_millis(5)));
    assert_eq!(taken_up.contact.pair_arrival, Some(from_unix_millis(7)));
    assert_eq!(taken_up.contact.marketing_stopped_at, Some(from_unix_millis(3)));
    assert_eq!(taken_up.features.reengaged, left.features.reengaged);
    assert_eq!(taken_up.contact.name.as_deref(), Some("Ana"));
    assert_eq!(taken_up.linked.beside, [left.id]);
    assert_eq!(taken_up.mode, ConversationMode::Ai);
}

#[test]
fn what_the_contact_was_told_and_asked_and_the_agents_step_go_on() {
    let (mut left, mut taken_up) = (under("1@lid"), conversation());
    let step = |id| Some(StepId::parse(id).unwrap());
    left.opening.closed_told_at = Some(from_unix_millis(5));
    (left.questions.open_question, left.features.step) = (Ordinal(3), step("pay"));
    let asked = left.id.message_id(Ordinal(3));
    for _ in 0..2 {
        taken_up.absorb_conversation(&left);
        assert_eq!(taken_up.opening.closed_told_at, left.opening.closed_told_at);
        assert_eq!(taken_up.newest_question(), Some(asked.clone()));
        assert_eq!(taken_up.features.step, left.features.step);
    }
    let mut own = conversation();
    (
        own.opening.closed_told_at,
        own.features.step,
        own.questions.open_question,
    ) = (Some(from_unix_millis(6)), step("ask"), Ordinal(2));
    own.absorb_conversation(&left);
    assert_eq!(own.opening.closed_told_at, Some(from_unix_millis(6)));
    assert_eq!(own.features.step, step("ask"));
    assert_eq!(own.newest_question(), Some(own.id.message_id(Ordinal(2))));
    own.close_questions();
    assert_eq!(own.newest_question(), None);
}

#[test]
fn an_identity_is_another_persons_once_another_one_was_learnt() {
    let known = |raw| ContactAddress::parse(raw).unwrap();
    let mut c = conversation();
    assert!(c.may_have_identity(&known("1@lid")));
    c.contact.known_as = Some(known("1@lid"));
    assert!(c.may_have_identity(&known("1@lid")) && !c.may_have_identity(&known("2@lid")));
}

#[test]
fn messages_of_both_leave_as_they_were_made_from_when_they_are_known_to_be_one_persons() {
    let (mut left, mut taken_up) = (under("1@lid"), conversation());
    let unknown = made(&mut taken_up, 1);
    let first = made(&mut left, 2);
    left.mark_moved_to(&taken_up.id);
    taken_up.absorb_conversation(&left);
    let (second, third) = (made(&mut taken_up, 3), made(&mut left, 4));
    assert!(first.is_sent_before(&second) && !second.is_sent_before(&first));
    assert!(second.is_sent_before(&third) && !third.is_sent_before(&second));
    assert!(
        unknown.is_sent_before(&second) && first.is_sent_before(&third),
        "in one thread"
    );
    assert!(!unknown.is_sent_before(&first), "nobody knew");
    let stranger = made(&mut under("3@lid"), 0);
    assert!(!stranger.is_sent_before(&third));
}
