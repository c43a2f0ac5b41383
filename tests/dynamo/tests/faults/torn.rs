//! Transactions that are done item by item, as plain reads see them: what is read in the middle of one is as it was before,
//! as it became, or an error that passes, and never a bit of each.

use crate::world::World;
use futures::FutureExt;
use futures::executor::block_on;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::ids::Ordinal;
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::outbox::ReplyPart;
use recado_dynamo_simulation::{Fault, Verb};
use recado_pipeline::ports::{
    ClaimOutcome, CommitOutcome, Conversations, DeliveryLink, InboundWrite, Inbox, OutboxStore, PageRequest,
    PortResult, StoreInboundOutcome, WriteOutcome,
};
use recado_testkit::builders::{Fixture, accepted, claimed, far_ahead, is, out};
use std::fmt::Debug;
use std::future::Future;

/// Does `write`, whose transaction has so many records, in many orders on a new world each, and lets `look` look before
/// each record appears, and when all have.
pub(crate) fn in_the_middle<G, F: Future<Output = ()>>(
    records: u32,
    given: impl Fn(&World) -> G,
    write: impl Fn(World, G) -> F,
    mut look: impl FnMut(&World, &G),
) where
    G: Clone,
{
    for order in 0..u64::from((1..=records).product::<u32>()) {
        for appeared in 0..=records {
            let world = World::new();
            let given = given(&world);
            world.fails(move |operation| match operation.verb {
                Verb::Transact => Fault::Torn(order),
                _ => Fault::None,
            });
            world.appear(i64::from(appeared));
            let mut writing = Box::pin(write(world.clone(), given.clone()));
            let done = writing.as_mut().now_or_never().is_some();
            assert_eq!(done, appeared == records, "the answer comes when all is done");
            look(&world, &given);
        }
    }
}

/// What was read, unless it could not be read for now.
pub(crate) fn for_now<T: Debug>(read: PortResult<T>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) => {
            assert!(error.is_retryable(), "{error:?}");
            None
        }
    }
}

/// A conversation with one message of the contact.
fn begun(world: &World, fixture: &Fixture) -> Conversation {
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    let _ = block_on(world.store.record_event(&job)).unwrap();
    let message = fixture.inbound(&mut conversation, &job);
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    assert_eq!(
        block_on(world.store.store_inbound(write)).unwrap(),
        StoreInboundOutcome::Stored
    );
    conversation
}

/// A conversation with a reply in so many parts, ready to be committed.
fn reply_in_parts(fixture: &Fixture, conversation: &Conversation, of: u32) -> (Conversation, Vec<Message>) {
    let mut after = conversation.clone();
    let first = fixture.reply(&mut after);
    let mut parts = vec![first];
    for _ in 1..of {
        let mut part = parts[0].clone();
        part.ordinal = after.append_message(after.last_message_at);
        parts.push(part);
    }
    for (number, part) in (1..).zip(&mut parts) {
        out(part).part = Some(ReplyPart { number, of });
    }
    (after, parts)
}

/// A claimed reply, its note, and what it becomes when it is accepted.
#[derive(Clone)]
struct Sending {
    fixture: Fixture,
    sent: Message,
    flight: InFlightSend,
    link: DeliveryLink,
}

fn sending(world: &World) -> Sending {
    let fixture = Fixture::new();
    let mut conversation = begun(world, &fixture);
    let reply = fixture.reply(&mut conversation);
    let committed = block_on(
        world
            .store
            .commit_messages(&conversation, std::slice::from_ref(&reply), &[]),
    );
    assert_eq!(committed.unwrap(), CommitOutcome::Committed);
    let (sending, flight) = claimed(&reply);
    assert_eq!(
        block_on(world.store.claim_message(&sending, None, &flight)).unwrap(),
        ClaimOutcome::Claimed
    );
    let sent = accepted(&sending);
    let id = sent.provider_message_id.clone().unwrap();
    let link = DeliveryLink {
        key: DeliveryKey::from_provider_id(fixture.bound.instance.provider, &fixture.external(), &id),
        provider_key: None,
        provider_message_id: Some(id),
        expires: far_ahead(),
        acknowledgement: None,
    };
    Sending {
        fixture,
        sent,
        flight,
        link,
    }
}

async fn settle(world: World, given: Sending) {
    let Sending {
        sent, flight, link, ..
    } = &given;
    let settled = world
        .store
        .settle_message(sent, Some(flight), Some(link), None)
        .await;
    assert_eq!(settled.unwrap(), WriteOutcome::Written);
}

#[test]
fn a_conversation_is_read_with_the_messages_that_it_counts() {
    let mut looks = [0, 0, 0];
    in_the_middle(
        3,
        |world| {
            let fixture = Fixture::new();
            let conversation = begun(world, &fixture);
            let job = fixture.job();
            let _ = block_on(world.store.record_event(&job)).unwrap();
            (fixture, conversation, job)
        },
        |world, (fixture, mut conversation, job)| async move {
            let message = fixture.inbound(&mut conversation, &job);
            let write = InboundWrite {
                event: &job.event,
                conversation: &conversation,
                message: &message,
                finish: None,
            };
            assert_eq!(
                world.store.store_inbound(write).await.unwrap(),
                StoreInboundOutcome::Stored
            );
        },
        |world, (_, before, _)| match for_now(block_on(world.store.find_with_history(&before.id, 20))) {
            None => looks[0] += 1,
            Some(read) => {
                let (conversation, messages) = read.unwrap();
                let newest = messages.last().unwrap().ordinal;
                assert_eq!(conversation.last, newest);
                looks[usize::try_from(newest.0).unwrap()] += 1;
            }
        },
    );
    assert!(looks.iter().all(|looks| *looks > 0), "{looks:?}");
}

#[test]
fn no_part_of_a_reply_is_open_without_those_before_it() {
    let mut longest = 0;
    in_the_middle(
        5,
        |world| {
            let fixture = Fixture::new();
            let conversation = begun(world, &fixture);
            (fixture, conversation)
        },
        |world, (fixture, before)| async move {
            let (conversation, parts) = reply_in_parts(&fixture, &before, 2);
            let committed = world.store.commit_messages(&conversation, &parts, &[]).await;
            assert_eq!(committed.unwrap(), CommitOutcome::Committed);
        },
        |world, (_, before)| {
            let Some(open) = for_now(block_on(world.store.list_open_messages(before.id.thread_id()))) else {
                return;
            };
            let ordinals: Vec<Ordinal> = open.iter().map(|message| message.ordinal).collect();
            assert!([Ordinal(2), Ordinal(3)].starts_with(&ordinals), "{ordinals:?}");
            longest = longest.max(ordinals.len());
        },
    );
    assert_eq!(longest, 2);
}

#[test]
fn a_part_that_has_left_does_not_keep_the_next_one_from_the_list() {
    let (world, fixture) = (World::new(), Fixture::new());
    let before = begun(&world, &fixture);
    let (conversation, parts) = reply_in_parts(&fixture, &before, 2);
    let committed = block_on(world.store.commit_messages(&conversation, &parts, &[]));
    assert_eq!(committed.unwrap(), CommitOutcome::Committed);
    let (sending, flight) = claimed(&parts[0]);
    let _ = block_on(world.store.claim_message(&sending, None, &flight)).unwrap();
    let settled = block_on(
        world
            .store
            .settle_message(&accepted(&sending), Some(&flight), None, None),
    );
    assert_eq!(settled.unwrap(), WriteOutcome::Written);
    assert_eq!(
        block_on(world.store.list_open_messages(conversation.id.thread_id())).unwrap(),
        parts[1..]
    );
}

#[test]
fn an_attempt_whose_note_is_gone_is_known_by_its_link() {
    let mut gone = [0, 0];
    in_the_middle(4, sending, settle, |world, given| {
        if !block_on(world.store.list_in_flight(given.fixture.instance()))
            .unwrap()
            .is_empty()
        {
            return;
        }
        match for_now(block_on(world.store.find_delivery(&given.link.key))) {
            None => gone[0] += 1,
            Some(delivery) => {
                gone[1] += 1;
                assert_eq!(delivery.unwrap().message, Some(given.sent.message_id()));
            }
        }
    });
    assert!(gone.iter().all(|gone| *gone > 0), "{gone:?}");
}

#[test]
fn a_message_that_has_left_the_open_list_is_told_as_it_became() {
    let page = PageRequest::first(10);
    in_the_middle(4, sending, settle, |world, given| {
        let id = &given.sent.conversation;
        let one = for_now(block_on(world.store.find_message(&given.sent.message_id())));
        let listed = for_now(block_on(world.store.list_messages(id, &page)));
        let listed = listed.map(|page| page.items.first().cloned());
        for message in [one, listed].into_iter().flatten().flatten() {
            assert!(is(&message, "sending") || message == given.sent, "{message:?}");
        }
    });
}

#[test]
fn whoever_dies_in_the_middle_leaves_all_of_it_done() {
    let world = World::new();
    let given = sending(&world);
    world.fails(|operation| match operation.verb {
        Verb::Transact => Fault::Torn(0),
        _ => Fault::None,
    });
    world.appear(1);
    assert!(settle(world.clone(), given.clone()).now_or_never().is_none());
    let found = block_on(world.store.find_message(&given.sent.message_id())).unwrap();
    assert_eq!(found, Some(given.sent));
    assert!(
        block_on(world.store.find_delivery(&given.link.key))
            .unwrap()
            .is_some()
    );
}
