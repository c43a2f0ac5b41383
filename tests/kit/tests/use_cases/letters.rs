//! Dead letters, the copies in the dead-letter queues, and what becomes of both.

use crate::bucket;
use crate::world::Stage;
use recado_domain::dead_letter::QueueName;
use recado_domain::reason::Reason;
use recado_pipeline::operate::dead_letters;
use recado_pipeline::ports::{DeadLetterFilter, DeadLetterQueues, DeadLetters, Queues, SendOutcome};
use recado_pipeline::reconcile::reconcile;
use recado_testkit::builders::Scene;
use std::sync::atomic::Ordering;

async fn copies(stage: &Stage) -> usize {
    let copies = stage.world.queues.receive_dead_messages(QueueName::Inbound).await;
    copies.unwrap().len()
}

#[tokio::test]
async fn a_copy_without_a_letter_stays_for_as_long_as_the_letter_may_still_come() {
    for comes in [true, false] {
        let stage = Stage::set(Scene::new()).await;
        let mut letter = stage.scene.dead_letter();
        letter.at = stage.now();
        // Whoever gives an event up sends the copy first, then writes the letter.
        stage.world.queues.enqueue_dead_copy(&letter).await.unwrap();
        stage.pass(60);
        assert_eq!(reconcile(&stage.world).await.unwrap().collected, 0);
        if comes {
            stage.world.store.put_dead_letter(&letter).await.unwrap();
        }
        for _ in 0..3 {
            stage.pass(60);
            reconcile(&stage.world).await.unwrap();
        }
        stage.pass(60);
        assert_eq!(copies(&stage).await, usize::from(comes));
    }
}

#[tokio::test]
async fn what_stands_behind_a_message_that_could_not_be_redriven_is_left_too() {
    let stage = Stage::set(Scene::new()).await;
    let mut messages = Vec::new();
    for _ in 0..2 {
        stage.answers(SendOutcome::Permanent {
            reason: Reason::WhatsappPermanentError,
            why: "no such number".to_owned(),
        });
        messages.push(stage.client_writes("5511900000077").await);
    }
    let conversation = messages[0].conversation.as_ref().unwrap();
    stage.send(conversation).await;
    let world = bucket::world(&stage, 3);
    world.queues.redrives_fail.store(1, Ordering::SeqCst);
    let all = dead_letters::DeadLetterSelection {
        filter: DeadLetterFilter::default(),
        ids: Vec::new(),
        limit: 100,
    };
    let done = dead_letters::redrive_dead_letters(&world, &all).await.unwrap();
    assert_eq!((done.selected, done.redriven, done.failed), (2, 0, 2));
    for message in &messages {
        let letter = world.store.find_dead_letter(message.id.as_str()).await.unwrap();
        assert!(letter.is_some());
    }
    let done = dead_letters::redrive_dead_letters(&world, &all).await.unwrap();
    assert_eq!((done.selected, done.redriven, done.failed), (2, 2, 0));
    stage.send(conversation).await;
    assert_eq!(stage.world.providers.sent(), 4);
}

#[tokio::test]
async fn what_is_redriven_has_all_its_attempts_again() {
    let stage = Stage::set(Scene::new()).await;
    let message = stage.client_writes("5511900000077").await;
    let conversation = message.conversation.unwrap();
    let fails = |times: usize| {
        for _ in 0..times {
            stage.answers(SendOutcome::Retryable {
                why: "busy".to_owned(),
                after: None,
            });
        }
    };
    let letter = async || {
        let letter = stage.world.store.find_dead_letter(message.id.as_str()).await;
        letter.unwrap()
    };
    for attempts in [5, 10] {
        fails(5);
        stage.send(&conversation).await;
        assert_eq!(stage.world.providers.sent(), attempts);
        assert_eq!(letter().await.unwrap().attempts, 5);
        let again = dead_letters::redrive_dead_letter(&stage.world, message.id.as_str()).await;
        assert!(again.unwrap());
    }
    fails(4);
    stage.send(&conversation).await;
    assert_eq!(stage.world.providers.sent(), 15);
    assert_eq!(letter().await, None);
}
