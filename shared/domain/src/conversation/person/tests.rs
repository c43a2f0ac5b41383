use crate::contact::ContactAddress;
use crate::content::Content;
use crate::conversation::tests::conversation;
use crate::conversation::{Conversation, Mode, Status};
use crate::identity::IdentityKey;
use crate::ids::{ConversationId, CorrelationId, Ordinal};
use crate::message::{Message, Role};
use crate::millis::instant;
use crate::outbox::{Author, Outbox};

fn under(address: &str) -> Conversation {
    let mut c = conversation();
    let thread = IdentityKey::new([7; 32]).thread(&c.instance, address);
    c.id = ConversationId::new(thread, 1);
    c
}

/// The conversation under an identity, in which something was written, left for the one under the number.
fn left_for_another() -> (Conversation, Conversation) {
    let (mut left, mut taken_up) = (under("1@lid"), under("5511999998888@s.whatsapp.net"));
    left.receive(true, instant(1)).unwrap();
    left.move_to(&taken_up.id);
    taken_up.take_the_place_of(&left);
    (left, taken_up)
}

fn made(c: &mut Conversation, at: i64) -> Message {
    let ordinal = c.append(instant(at));
    let to = c.address.clone();
    let out = Outbox::queued(to, Author::Person, c.epoch, Ordinal(0), instant(at));
    let content = Content::text("oi");
    let correlation = CorrelationId::parse("0123456789abcdef0123456789abcdef").unwrap();
    Message::outgoing(
        c,
        ordinal,
        Role::Operator,
        content,
        out,
        instant(at),
        &correlation,
    )
}

#[test]
fn one_in_which_nobody_wrote_is_in_no_list_and_one_that_was_left_is_over_once_nothing_is_owed() {
    let (mut left, taken_up) = left_for_another();
    let mut leading = under("2@lid");
    leading.lead_to(&taken_up.id);
    assert_eq!(leading.listed_as(), None);
    assert_eq!(left.listed_as(), Some(Status::Active), "an answer is owed");
    left.answered = left.turn_upto;
    assert_eq!(left.listed_as(), Some(Status::Resolved));
    assert!(left.is_over() && !taken_up.is_over());
    assert_eq!(taken_up.listed_as(), Some(Status::Active));
}

#[test]
fn what_a_give_back_may_owe_again_is_not_quiet() {
    let mut c = conversation();
    c.receive(true, instant(1)).unwrap();
    assert!(!c.is_quiet());
    c.answered = Ordinal(1);
    assert!(c.is_quiet());
    c.take_over();
    assert!(!c.is_quiet(), "a reply may have been cancelled");
    c.answer(Ordinal(1), true, instant(2));
    assert!(c.is_quiet(), "a person answered it");
    c.receive(true, instant(3)).unwrap();
    assert!(!c.is_quiet());
    c.resolve(c.last).unwrap();
    assert!(c.is_quiet());
}

#[test]
fn what_is_the_contacts_is_as_both_conversations_know_it() {
    let (mut left, mut taken_up) = (under("1@lid"), conversation());
    left.heard(instant(5));
    left.pair_arrival = Some(instant(7));
    taken_up.pair_arrival = Some(instant(6));
    taken_up.marketing_stopped_at = Some(instant(3));
    left.reengage_instead(&left.id.message(Ordinal(1)), instant(9));
    left.learn(Some("Ana"), None);
    taken_up.take_the_place_of(&left);
    taken_up.take_the_place_of(&left);
    assert_eq!(taken_up.last_inbound_at, Some(instant(5)));
    assert_eq!(taken_up.pair_arrival, Some(instant(7)));
    assert_eq!(taken_up.marketing_stopped_at, Some(instant(3)));
    assert_eq!(taken_up.reengaged, left.reengaged);
    assert_eq!(taken_up.name.as_deref(), Some("Ana"));
    assert_eq!(taken_up.beside, [left.id]);
    assert_eq!(taken_up.mode, Mode::Ai);
}

#[test]
fn an_identity_is_another_persons_once_another_one_was_learnt() {
    let known = |raw| ContactAddress::parse(raw).unwrap();
    let mut c = conversation();
    assert!(c.may_be_of(&known("1@lid")));
    c.known_as = Some(known("1@lid"));
    assert!(c.may_be_of(&known("1@lid")) && !c.may_be_of(&known("2@lid")));
}

#[test]
fn messages_of_both_leave_as_they_were_made_from_when_they_are_known_to_be_one_persons() {
    let (mut left, mut taken_up) = (under("1@lid"), conversation());
    let unknown = made(&mut taken_up, 1);
    let first = made(&mut left, 2);
    left.move_to(&taken_up.id);
    taken_up.take_the_place_of(&left);
    let (second, third) = (made(&mut taken_up, 3), made(&mut left, 4));
    assert!(first.leaves_before(&second) && !second.leaves_before(&first));
    assert!(second.leaves_before(&third) && !third.leaves_before(&second));
    assert!(
        unknown.leaves_before(&second) && first.leaves_before(&third),
        "in one thread"
    );
    assert!(!unknown.leaves_before(&first), "nobody knew");
    let stranger = made(&mut under("3@lid"), 0);
    assert!(!stranger.leaves_before(&third));
}
