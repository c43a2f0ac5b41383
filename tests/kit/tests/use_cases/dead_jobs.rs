//! Jobs that cannot be read, and jobs of the queue `turns` that the queue gave up: each dead letter says what it is, and a redrive
//! does its work.

use crate::agent_return::{half_an_hour, latest};
use crate::batches::{order, request, run, stored, take, with_guests};
use crate::media::{PNG, picture, setup as setup_for_files};
use crate::world::{FileAnswer, Setup};
use recado_contacts::{ContactQuery, erase_contact};
use recado_dead_letters::{DeadLetterSelection, RedriveForecast, forecast_redrive, redrive_dead_letter};
use recado_domain::access::Caller;
use recado_domain::conversation::ConversationMode;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::invitations::BatchOrder;
use recado_domain::wake_up::TurnsJob;
use recado_pipeline::ports::{PageRequest, Queues};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::dead_letters::{DeadLetterFilter, list_dead_letters, put_dead_letter};
use recado_pipeline::settings::VisibilityTimeouts;
use recado_pipeline::{Verdict, handle_outbound_message, handle_turns_message};
use recado_testkit::builders::{Fixture, fresh};
use recado_testkit::idle::Idle;
use recado_testkit::ports::succeed;
use serde_json::json;
use std::time::Duration;

async fn list_letters(setup: &Setup) -> Vec<DeadLetter> {
    let page = PageRequest::first(10);
    let all = DeadLetterFilter::default();
    succeed(list_dead_letters(&setup.world.store, &all, &page))
        .await
        .items
}

/// Has the queue `turns` hand out its one job until it gives it up. Returns the dead letter that `reconcile` makes of it.
async fn give_up_job(setup: &Setup) -> DeadLetter {
    let queues = &setup.world.queues;
    for _ in 0..=VisibilityTimeouts::RECEIVES_MAX {
        let received = queues.receive_messages(QueueName::Turns, 1, Duration::from_secs(1));
        for message in succeed(received).await {
            let put_back = queues.change_visibility(&message.receipt, Duration::ZERO);
            assert!(succeed(put_back).await);
        }
    }
    succeed(Box::pin(reconcile(&setup.world))).await;
    // What `reconcile` asks for beside it is not looked at.
    setup.due_turns().await;
    let mut letters = list_letters(setup).await;
    assert_eq!(letters.len(), 1, "{letters:?}");
    letters.remove(0)
}

async fn forecast(setup: &Setup) -> RedriveForecast {
    let selection = DeadLetterSelection {
        filter: DeadLetterFilter::default(),
        ids: Vec::new(),
        limit: 10,
    };
    let found = forecast_redrive(&setup.world, &Caller::installation(), &selection).await;
    found.unwrap()
}

async fn redrive(setup: &Setup, letter: &DeadLetter) -> bool {
    let redriven = redrive_dead_letter(&setup.world, &Caller::installation(), &letter.id).await;
    redriven.unwrap()
}

#[tokio::test]
async fn a_batch_whose_job_was_given_up_is_expanded_by_a_redrive() {
    let setup = with_guests(3).await;
    let batch = take(&setup, request(0..3, None)).await.unwrap().batch;
    let first = setup.due_turns().await.remove(0);
    assert_eq!(run(&setup, &first, 1).await, Verdict::Done);
    setup.pass(5);
    let letter = give_up_job(&setup).await;
    assert_eq!(
        (letter.kind_name(), &letter.tenant),
        ("batch", &Some(batch.tenant.clone()))
    );
    let found = forecast(&setup).await;
    assert_eq!((found.recipients_left, found.no_longer_dead), (2, 0));
    assert!(redrive(&setup, &letter).await);
    for _ in 0..5 {
        setup.pass(5);
        for job in setup.due_turns().await {
            assert_eq!(run(&setup, &job, 1).await, Verdict::Done);
        }
    }
    assert_eq!(stored(&setup, &batch.id).await.expanded, 3);
}

#[tokio::test]
async fn the_job_of_a_batch_that_was_cancelled_is_not_redriven() {
    let setup = with_guests(3).await;
    let batch = take(&setup, request(0..3, None)).await.unwrap().batch;
    let letter = give_up_job(&setup).await;
    order(&setup, &batch.id, BatchOrder::Cancel).await.unwrap();
    let found = forecast(&setup).await;
    assert_eq!((found.recipients_left, found.no_longer_dead), (0, 1));
    assert!(!redrive(&setup, &letter).await);
    assert!(setup.due_turns().await.is_empty());
    assert!(list_letters(&setup).await.is_empty());
}

#[tokio::test]
async fn a_file_whose_job_was_given_up_is_fetched_by_a_redrive_unless_it_was_fetched_meanwhile() {
    for is_fetched in [false, true] {
        let setup = setup_for_files().await;
        setup.sends(&setup.fixture, "A", &picture()).await;
        setup.file_comes(FileAnswer::Fails);
        setup.turn(&setup.fixture).await;
        setup.pass(300);
        setup.due_turns().await;
        assert_eq!(
            succeed(Box::pin(reconcile(&setup.world))).await.count_of("files"),
            1
        );
        let letter = give_up_job(&setup).await;
        assert_eq!(letter.kind_name(), "file");
        setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
        if is_fetched {
            setup.reconciles().await;
        }
        assert_eq!(forecast(&setup).await.no_longer_dead, usize::from(is_fetched));
        assert_eq!(redrive(&setup, &letter).await, !is_fetched);
        let jobs = setup.due_turns().await;
        assert_eq!(jobs.len(), usize::from(!is_fetched));
        for job in jobs {
            assert!(matches!(job, TurnsJob::File(_)), "{job:?}");
            assert_eq!(run(&setup, &job, 1).await, Verdict::Done);
        }
        let file = setup.newest().await.file.unwrap();
        assert!(file.stored().is_some(), "{file:?}");
    }
}

#[tokio::test]
async fn a_timer_of_the_agents_return_that_was_given_up_is_set_again_by_a_redrive() {
    let setup = half_an_hour().await;
    setup
        .message(&setup.fixture, "P1", "Olá, aqui é a Bia da clínica", true)
        .await;
    setup.pass(60);
    setup.due_turns().await;
    setup.pass(14 * 60);
    let letter = give_up_job(&setup).await;
    assert_eq!(letter.kind_name(), "agent_return");
    assert_eq!(letter.instance.as_ref(), Some(setup.fixture.instance()));
    assert_eq!(forecast(&setup).await.no_longer_dead, 0, "people have it");
    assert!(redrive(&setup, &letter).await);
    setup.pass(16 * 60);
    for job in setup.due_turns().await {
        assert_eq!(run(&setup, &job, 1).await, Verdict::Done);
    }
    assert_eq!(latest(&setup).await.mode, ConversationMode::Ai);
}

#[tokio::test]
async fn an_erasure_takes_the_dead_letters_of_a_contacts_jobs_with_their_copies_and_no_others() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let (id, tenant) = (latest(&setup).await.id, setup.fixture.bound.tenant.id.clone());
    let job = |kind: &str| json!({"job": kind, "conversation": id, "tenant": tenant, "ordinal": 1, "correlation": "k"});
    let batch = json!({"job": "batch", "tenant": tenant, "batch": "b", "from": 0, "correlation": "k"});
    for job in [job("turn"), job("agent_return"), job("file"), batch] {
        let letter = DeadLetter {
            id: fresh("letter"),
            queue: QueueName::Turns,
            what: DeadLetterContent::Turns(Box::new(serde_json::from_value(job).unwrap())),
            ..setup.fixture.dead_letter()
        };
        succeed(setup.world.queues.enqueue_dead_copy(&letter)).await;
        succeed(put_dead_letter(&setup.world.store, &letter)).await;
    }
    let query = ContactQuery {
        tenant,
        instance: None,
        contact: setup.fixture.address.as_str().to_owned(),
    };
    erase_contact(&setup.world, &Caller::installation(), &query)
        .await
        .unwrap();
    let left = list_letters(&setup).await;
    let kinds: Vec<&str> = left.iter().map(DeadLetter::kind_name).collect();
    assert_eq!(kinds, ["batch"]);
    let copies = succeed(setup.world.queues.list_dead_messages(QueueName::Turns, 10)).await;
    assert_eq!(copies.len(), 1, "{copies:?}");
}

#[tokio::test]
async fn a_job_of_an_unknown_kind_is_kept_as_it_came() {
    let setup = Setup::set(Fixture::new()).await;
    let body = json!({"job": "unknown", "tenant": "clinic", "correlation": "k"}).to_string();
    let of_turns = handle_turns_message(&setup.world, &body, 1, None).await;
    let of_outbound = handle_outbound_message(&setup.world, &Idle, &body, 1, None).await;
    assert_eq!((of_turns, of_outbound), (Verdict::Done, Verdict::Done));
    let letters = list_letters(&setup).await;
    assert_eq!(letters.len(), 2);
    assert!(letters.iter().all(|letter| letter.kind_name() == "unreadable"));
}
