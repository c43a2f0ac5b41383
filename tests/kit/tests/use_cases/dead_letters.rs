//! Dead letters, the copies in the dead-letter queues, and what becomes of both.

use crate::bucket;
use crate::erasure::Site;
use crate::world::{Setup, beside};
use futures::future::join_all;
use recado_domain::access::Caller;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::{EventKind, EventState};
use recado_domain::reason::Reason;
use recado_operators::OperateError;
use recado_pipeline::ports::{
    DeadLetterQueues, Inbox, Overviews, PageRequest, Queues, RecordEventOutcome, SendOutcome,
};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::dead_letters::{
    DeadLetterFilter, find_dead_letter, list_dead_letters, put_dead_letter,
};
use recado_pipeline::{Verdict, process};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde_json::json;
use std::sync::atomic::Ordering;

async fn copies(setup: &Setup) -> usize {
    let copies = setup.world.queues.receive_dead_messages(QueueName::Inbound).await;
    copies.unwrap().len()
}

#[tokio::test]
async fn a_copy_without_a_dead_letter_stays_for_as_long_as_one_may_still_come() {
    for comes in [true, false] {
        let setup = Setup::set(Fixture::new()).await;
        let mut dead_letter = setup.fixture.dead_letter();
        dead_letter.at = setup.now();
        // Whoever gives an event up sends the copy first, then writes the dead letter.
        setup.world.queues.enqueue_dead_copy(&dead_letter).await.unwrap();
        setup.pass(60);
        assert_eq!(reconcile(&setup.world).await.unwrap().count_of("collected"), 0);
        if comes {
            put_dead_letter(&setup.world.store, &dead_letter).await.unwrap();
        }
        for _ in 0..3 {
            setup.pass(60);
            reconcile(&setup.world).await.unwrap();
        }
        setup.pass(60);
        assert_eq!(copies(&setup).await, usize::from(comes));
    }
}

#[tokio::test]
async fn a_pending_event_whose_record_tells_nothing_is_given_up_and_its_dead_letter_names_it() {
    let site = Site::open().await;
    let (setup, store) = (&site.setup, &site.setup.world.store);
    let job = setup.event(EventKind::Message, json!({"text": "Olá"})).await;
    let database = rusqlite::Connection::open(site.folder.join("recado.db")).unwrap();
    let spoil = r#"UPDATE events SET body = '{"job":{"event":7' WHERE id = ?1"#;
    assert_eq!(database.execute(spoil, [job.event.as_str()]).unwrap(), 1);
    for _ in 0..2 {
        setup.pass(121);
        reconcile(&setup.world).await.unwrap();
        assert!(succeed(store.list_overdue(setup.now(), 9)).await.is_empty());
        let page = PageRequest::first(9);
        let letters = succeed(list_dead_letters(store, &DeadLetterFilter::default(), &page)).await;
        let [letter] = &letters.items[..] else {
            panic!("{letters:?}")
        };
        assert_eq!(letter.reason, Reason::Poison);
        assert_eq!(letter.unread_event(), Some(job.event.clone()));
    }
    assert_eq!(
        succeed(store.record_event(&job)).await,
        RecordEventOutcome::Settled
    );
}

/// Otherwise the event stays pending for ever, and its repeats are answered with 500.
#[tokio::test]
async fn the_event_of_a_message_that_cannot_be_read_is_given_up_with_it_and_can_be_redriven_or_purged() {
    for purged in [false, true] {
        let setup = Setup::set(Fixture::new()).await;
        let job = setup.event(EventKind::Message, json!({"text": "Olá"})).await;
        let body = serde_json::to_string(&job).unwrap().replace("Olá\"", "Olá");
        assert_eq!(process::process(&setup.world, &body, 1).await, Verdict::Done);
        let store = &setup.world.store;
        let record = succeed(store.find_event(&job.event)).await.unwrap();
        assert_eq!(
            (record.state, record.reason),
            (EventState::Dead, Some(Reason::Poison))
        );
        assert_eq!(
            succeed(store.record_event(&job)).await,
            RecordEventOutcome::Settled
        );
        let page = PageRequest::first(9);
        let letters = succeed(list_dead_letters(store, &DeadLetterFilter::default(), &page)).await;
        let [letter] = &letters.items[..] else {
            panic!("{letters:?}")
        };
        assert_eq!(letter.tenant.as_ref(), Some(&setup.fixture.bound.tenant.id));
        assert_eq!(Some(letter.at), record.failed_at());
        let caller = Caller::installation();
        if purged {
            succeed(recado_dead_letters::delete_dead_letter(
                &setup.world,
                &caller,
                &letter.id,
            ))
            .await;
        } else {
            let revived = recado_dead_letters::redrive_dead_letter(&setup.world, &caller, &letter.id).await;
            assert!(revived.unwrap());
        }
        let state = succeed(store.find_event(&job.event)).await.unwrap().state;
        let expected = if purged {
            EventState::Applied
        } else {
            EventState::Pending
        };
        assert_eq!(state, expected);
    }
}

#[tokio::test]
async fn what_stands_behind_a_message_that_could_not_be_redriven_is_left_too() {
    let setup = Setup::set(Fixture::new()).await;
    let mut messages = Vec::new();
    for _ in 0..2 {
        setup.answers(SendOutcome::Permanent {
            reason: Reason::WhatsappPermanentError,
            why: "no such number".to_owned(),
        });
        messages.push(setup.client_writes("5511900000077").await);
    }
    let conversation = messages[0].conversation.as_ref().unwrap();
    setup.send(conversation).await;
    let world = bucket::world(&setup, 3);
    world.queues.redrives_fail.store(1, Ordering::SeqCst);
    let all = recado_dead_letters::DeadLetterSelection {
        filter: DeadLetterFilter::default(),
        ids: Vec::new(),
        limit: 100,
    };
    let done = recado_dead_letters::redrive_dead_letters(&world, &Caller::installation(), &all)
        .await
        .unwrap();
    assert_eq!((done.selected, done.redriven, done.failed), (2, 0, 2));
    for message in &messages {
        let dead_letter = find_dead_letter(&world.store, message.id.as_str()).await.unwrap();
        assert!(dead_letter.is_some());
    }
    let done = recado_dead_letters::redrive_dead_letters(&world, &Caller::installation(), &all)
        .await
        .unwrap();
    assert_eq!((done.selected, done.redriven, done.failed), (2, 2, 0));
    setup.send(conversation).await;
    assert_eq!(setup.world.providers.sent(), 4);
}

#[tokio::test]
async fn what_is_redriven_has_all_its_attempts_again() {
    let setup = Setup::set(Fixture::new()).await;
    let message = setup.client_writes("5511900000077").await;
    let conversation = message.conversation.unwrap();
    let fails = |times: usize| {
        for _ in 0..times {
            setup.answers(SendOutcome::Retryable {
                why: "busy".to_owned(),
                after: None,
            });
        }
    };
    let dead_letter = async || {
        let dead_letter = find_dead_letter(&setup.world.store, message.id.as_str()).await;
        dead_letter.unwrap()
    };
    for attempts in [5, 10] {
        fails(5);
        setup.send(&conversation).await;
        assert_eq!(setup.world.providers.sent(), attempts);
        assert_eq!(dead_letter().await.unwrap().attempts, 5);
        let again = recado_dead_letters::redrive_dead_letter(
            &setup.world,
            &Caller::installation(),
            message.id.as_str(),
        )
        .await;
        assert!(again.unwrap());
    }
    fails(4);
    setup.send(&conversation).await;
    assert_eq!(setup.world.providers.sent(), 15);
    assert_eq!(dead_letter().await, None);
}

/// A request enqueues the send job and then revives the message itself, so the job often is at work meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_redrive_that_others_carry_out_at_the_same_moment_does_not_fail() {
    let setup = Setup::set(Fixture::new()).await;
    let message = setup.client_writes("5511900000077").await;
    let conversation = message.conversation.unwrap();
    for _ in 0..20 {
        for _ in 0..5 {
            setup.answers(SendOutcome::Retryable {
                why: "busy".to_owned(),
                after: None,
            });
        }
        setup.send(&conversation).await;
        let redrives = (0..8).map(|_| {
            let (world, id) = (beside(&setup.world), message.id.clone());
            tokio::spawn(async move {
                recado_dead_letters::redrive_dead_letter(&world, &Caller::installation(), id.as_str()).await
            })
        });
        for done in join_all(redrives).await {
            match done.unwrap() {
                Ok(_) | Err(OperateError::NotFound(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}
