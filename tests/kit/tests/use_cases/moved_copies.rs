//! Copies of dead letters that a person moves to their source queue by SQS's own means: beside redrives and purges by the API, and
//! beside jobs of the contact's own FIFO group.

use crate::world::{Setup, beside};
use futures::future::join;
use recado_dead_letters::{delete_dead_letter, redrive_dead_letter};
use recado_domain::access::Caller;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::{EventKind, EventPayload, InboundJob};
use recado_domain::reason::Reason;
use recado_domain::wake_up::{OutboundJob, SendJob, TurnsJob};
use recado_operators::OperateError;
use recado_pipeline::ports::{
    Conversations, DeadLetterQueues, Inbox, PageRequest, Queues, RecordEventOutcome, SendOutcome, System,
};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::records::dead_letters::{DeadLetterFilter, list_dead_letters, put_dead_letter};
use recado_pipeline::steps::give_up::dead_letter_unreadable;
use recado_pipeline::{Verdict, handle_outbound_message, handle_turns_message, process};
use recado_testkit::builders::{Fixture, correlation, fresh};
use recado_testkit::idle::Idle;
use recado_testkit::ports::succeed;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CONTACT: &str = "5511900000077";

/// Something that happens to a dead letter.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Its copy arrives on the source queue.
    Moved,
    /// It is redriven by the API.
    Redriven,
    /// It is deleted by the API.
    Purged,
}

/// What happens to a dead letter, and whether its event or message is dead no more.
const STORIES: [(&[Step], bool); 6] = [
    (&[Step::Moved], true),
    (&[Step::Moved, Step::Moved], true),
    (&[Step::Redriven, Step::Moved], true),
    (&[Step::Moved, Step::Redriven], true),
    (&[Step::Moved, Step::Purged], true),
    (&[Step::Purged, Step::Moved], false),
];

async fn list_letters(setup: &Setup) -> Vec<DeadLetter> {
    let (page, all) = (PageRequest::first(10), DeadLetterFilter::default());
    succeed(list_dead_letters(&setup.world.store, &all, &page))
        .await
        .items
}

/// The one dead letter that there is.
async fn only_letter(setup: &Setup) -> DeadLetter {
    let mut letters = list_letters(setup).await;
    assert_eq!(letters.len(), 1, "{letters:?}");
    letters.remove(0)
}

/// Takes the one copy out of a dead-letter queue. Returns its body.
async fn take_copy(setup: &Setup, queue: QueueName) -> String {
    let mut copies = succeed(setup.world.queues.receive_dead_messages(queue)).await;
    assert_eq!(copies.len(), 1, "{copies:?}");
    let copy = copies.remove(0);
    succeed(setup.world.queues.remove_dead_message(&copy)).await;
    copy.body
}

/// Handles a message of `queue` as often as it comes back.
async fn handle(setup: &Setup, queue: QueueName, body: &str) {
    let world = &setup.world;
    for receives in 1..=20 {
        let verdict = match queue {
            QueueName::Inbound => process::process(world, body, receives).await,
            QueueName::Turns => handle_turns_message(world, body, receives, None).await,
            QueueName::Outbound => handle_outbound_message(world, &Idle, body, receives, None).await,
        };
        match verdict {
            Verdict::Done => return,
            Verdict::Retry { after } => world.system.sleep(after.unsigned_abs()).await,
        }
    }
    panic!("a message of {queue:?} comes back without end");
}

/// Handles what `queue` hands out, until it hands out nothing.
async fn work_off(setup: &Setup, queue: QueueName) {
    let (queues, hidden) = (&setup.world.queues, Duration::from_secs(3_600));
    loop {
        let due = succeed(queues.receive_messages(queue, 10, hidden)).await;
        if due.is_empty() {
            return;
        }
        for message in due {
            handle(setup, queue, &message.body).await;
            succeed(queues.delete_received(&message.receipt)).await;
        }
    }
}

/// Plays a story of a dead letter and some minutes after it. In the end nothing of the dead letter is left.
async fn play(setup: &Setup, letter: &DeadLetter, story: &[Step]) {
    let (world, caller) = (&setup.world, Caller::installation());
    let copy = take_copy(setup, letter.queue).await;
    for step in story {
        let asked = match step {
            Step::Moved => {
                handle(setup, letter.queue, &copy).await;
                Ok(())
            }
            Step::Redriven => redrive_dead_letter(world, &caller, &letter.id).await.map(drop),
            Step::Purged => delete_dead_letter(world, &caller, &letter.id).await,
        };
        assert!(
            matches!(asked, Ok(()) | Err(OperateError::NotFound(_))),
            "{story:?}: {asked:?}"
        );
        work_off(setup, letter.queue).await;
    }
    for _ in 0..3 {
        setup.pass(60);
        succeed(Box::pin(reconcile(world))).await;
        work_off(setup, letter.queue).await;
    }
    assert!(list_letters(setup).await.is_empty(), "{story:?}");
    let copies = succeed(world.queues.list_dead_messages(letter.queue, 10)).await;
    assert!(copies.is_empty(), "{story:?}: {copies:?}");
}

/// A client's message that the provider refused for good.
async fn dead_message(setup: &Setup) -> DeadLetter {
    let message = setup.client_writes(CONTACT).await;
    setup.answers(SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "no such number".to_owned(),
    });
    setup.send(message.conversation.as_ref().unwrap()).await;
    only_letter(setup).await
}

#[tokio::test]
async fn a_dead_message_is_sent_once_however_its_copy_and_the_api_redrive_it() {
    for (story, is_revived) in STORIES {
        let setup = Setup::set(Fixture::new()).await;
        let letter = dead_message(&setup).await;
        play(&setup, &letter, story).await;
        // The first one was refused.
        assert_eq!(
            setup.world.providers.sent(),
            1 + u64::from(is_revived),
            "{story:?}"
        );
    }
}

/// Records an event of `later`, whose instance need not be configured yet.
async fn record_event(setup: &Setup, later: &Fixture, id: &str) -> InboundJob {
    let payload = json!({"address": later.address.as_str(), "id": id, "text": "oi", "from_me": false});
    let job = InboundJob {
        received_at: setup.now(),
        payload: EventPayload::Inline(payload),
        ..later.job()
    };
    let recorded = succeed(setup.world.store.record_event(&job)).await;
    assert_eq!(recorded, RecordEventOutcome::New);
    job
}

/// An event that was given up because its instance was not configured, which it is since.
async fn dead_event(setup: &Setup, later: &Fixture) -> DeadLetter {
    let job = record_event(setup, later, "W1").await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    succeed(put_configuration(&setup.world.store, &later.document())).await;
    let letter = only_letter(setup).await;
    assert_eq!(letter.reason, Reason::UnknownInstance);
    letter
}

/// The number of the contact's messages that are stored.
async fn count_stored(setup: &Setup, fixture: &Fixture) -> u64 {
    let latest = succeed(setup.world.store.find_latest_conversation(&fixture.thread())).await;
    latest.map_or(0, |conversation| conversation.last.0)
}

#[tokio::test]
async fn a_dead_event_is_applied_once_however_its_copy_and_the_api_redrive_it() {
    for (story, is_revived) in STORIES {
        let (setup, later) = (Setup::set(Fixture::new()).await, Fixture::new());
        let letter = dead_event(&setup, &later).await;
        play(&setup, &letter, story).await;
        assert_eq!(
            count_stored(&setup, &later).await,
            u64::from(is_revived),
            "{story:?}"
        );
    }
}

/// No record is dead: a purge of the letter takes nothing back, and the contact is answered.
#[tokio::test]
async fn a_turn_whose_job_was_given_up_is_answered_once_however_its_copy_and_the_api_redrive_it() {
    for (story, _) in STORIES {
        let setup = Setup::set(Fixture::new()).await;
        *setup.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
        setup.message(&setup.fixture, "W1", "oi", false).await;
        setup.pass(5);
        setup.due_turns().await;
        let job = TurnsJob::Turn(setup.turn_job(&setup.fixture, None).await);
        let letter = DeadLetter {
            id: fresh("letter"),
            queue: QueueName::Turns,
            what: DeadLetterContent::Turns(Box::new(job)),
            ..setup.fixture.dead_letter()
        };
        succeed(setup.world.queues.enqueue_dead_copy(&letter)).await;
        succeed(put_dead_letter(&setup.world.store, &letter)).await;
        play(&setup, &letter, story).await;
        let stored = count_stored(&setup, &setup.fixture).await;
        assert_eq!(stored, 2, "{story:?}: the message and one reply");
    }
}

/// SQS leaves a moved copy in the group of copies. So its job runs beside those of the contact's own group.
#[tokio::test]
async fn a_moved_copy_and_a_job_of_the_contacts_own_group_send_each_message_once() {
    for copy_is_first in [true, false] {
        let setup = Setup::set(Fixture::new()).await;
        let letter = dead_message(&setup).await;
        let copy = take_copy(&setup, letter.queue).await;
        let conversation = setup.client_writes(CONTACT).await.conversation.unwrap();
        let own = SendJob::new(conversation, SendJob::ALL_OPEN, correlation());
        let own = serde_json::to_string(&OutboundJob::Send(own)).unwrap();
        let (first, second) = if copy_is_first { (copy, own) } else { (own, copy) };
        let (world, body) = (beside(&setup.world), second.clone());
        let told = Arc::new(Mutex::new(None));
        let tells = Arc::clone(&told);
        setup.world.providers.meanwhile.set(async move {
            let verdict = handle_outbound_message(&world, &Idle, &body, 1, None).await;
            *tells.lock().unwrap() = Some(verdict);
        });
        handle(&setup, QueueName::Outbound, &first).await;
        let verdict = told.lock().unwrap().unwrap();
        if copy_is_first {
            let waits = matches!(verdict, Verdict::Retry { .. });
            assert!(waits, "the later message waits for the redriven one");
        }
        handle(&setup, QueueName::Outbound, &second).await;
        work_off(&setup, QueueName::Outbound).await;
        // The refused one, its redrive and the later message.
        assert_eq!(setup.world.providers.sent(), 3, "{copy_is_first}");
    }
}

#[tokio::test]
async fn a_moved_event_and_a_new_one_of_its_contact_are_both_stored_when_they_run_at_once() {
    let (setup, later) = (Setup::set(Fixture::new()).await, Fixture::new());
    let letter = dead_event(&setup, &later).await;
    let copy = take_copy(&setup, letter.queue).await;
    let new = record_event(&setup, &later, "W2").await;
    let new = serde_json::to_string(&new).unwrap();
    join(
        handle(&setup, letter.queue, &copy),
        handle(&setup, letter.queue, &new),
    )
    .await;
    assert_eq!(count_stored(&setup, &later).await, 2);
}

/// The body does not say of which dead letter it is. Whoever deleted that one after the move lost the contact's message.
#[tokio::test]
async fn a_moved_body_that_an_update_can_read_leaves_its_dead_letter_for_a_redrive_by_the_api() {
    let setup = Setup::set(Fixture::new()).await;
    let address = setup.fixture.address.as_str();
    let payload = json!({"address": address, "id": "W1", "text": "oi", "from_me": false});
    let job = setup.event(EventKind::Message, payload).await;
    let body = serde_json::to_string(&job).unwrap();
    let error = serde_json::from_str::<InboundJob>("{").unwrap_err();
    let gives_up = dead_letter_unreadable(&setup.world, QueueName::Inbound, &body, &error);
    succeed(gives_up).await;
    let letter = only_letter(&setup).await;
    let moved = take_copy(&setup, letter.queue).await;
    assert_eq!((letter.kind_name(), &moved), ("unreadable", &body));
    handle(&setup, letter.queue, &moved).await;
    assert_eq!(count_stored(&setup, &setup.fixture).await, 0);
    assert_eq!(only_letter(&setup).await, letter);
    let caller = Caller::installation();
    let redriven = redrive_dead_letter(&setup.world, &caller, &letter.id).await;
    assert!(redriven.unwrap());
    work_off(&setup, letter.queue).await;
    assert_eq!(count_stored(&setup, &setup.fixture).await, 1);
    assert!(list_letters(&setup).await.is_empty());
}
