//! Dead-letter queues: what is copied there is found, with the death that it names, and removed.

use super::patience::{INDEX, eventually};
use crate::builders::Fixture;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName, RedrivenLetter};
use recado_domain::event::InboundJob;
use recado_domain::ids::Ordinal;
use recado_domain::wake_up::{OutboundJob, Redrive};
use recado_ports::ports::{DeadLetterQueues, DeadQueueLook, DeadQueueMessage, Queues};

/// A dead letter on each FIFO queue.
fn dead_letters() -> [DeadLetter; 2] {
    let fixture = Fixture::new();
    let message = fixture.conversation(1).id.message_id(Ordinal(3));
    let outgoing = DeadLetter {
        id: message.to_string(),
        queue: QueueName::Outbound,
        what: DeadLetterContent::Message { message },
        ..fixture.dead_letter()
    };
    [fixture.dead_letter(), outgoing]
}

fn mark(dead_letter: &DeadLetter) -> RedrivenLetter {
    RedrivenLetter {
        dead_letter: dead_letter.id.clone(),
        failed_at: dead_letter.at,
    }
}

/// The copy of `dead_letter`, once its queue hands it out. Others may lie there, too.
async fn found<Q: DeadLetterQueues>(queues: &Q, dead_letter: &DeadLetter) -> DeadQueueMessage {
    let wanted = mark(dead_letter);
    let read = async || {
        let batch = queues.receive_dead_messages(dead_letter.queue).await.unwrap();
        assert!(batch.len() <= 10);
        batch
            .into_iter()
            .find(|copy| copy.copy_of.as_ref() == Some(&wanted))
    };
    eventually(INDEX, read, Option::is_some)
        .await
        .expect("the copy is there")
}

pub async fn a_copy_is_received_with_the_death_it_names<Q: Queues + DeadLetterQueues>(queues: &Q) {
    for dead_letter in dead_letters() {
        queues.enqueue_dead_copy(&dead_letter).await.unwrap();
        let copy = found(queues, &dead_letter).await;
        assert_eq!(copy.queue, dead_letter.queue);
        if let DeadLetterContent::Message { message } = &dead_letter.what {
            let OutboundJob::Send(job) = serde_json::from_str(&copy.body).unwrap() else {
                panic!("no send job: {}", copy.body)
            };
            let redrive = Redrive {
                message: message.clone(),
                failed_at: dead_letter.at,
                by: None,
            };
            assert_eq!(job.redrive, Some(redrive));
        } else {
            let job: InboundJob = serde_json::from_str(&copy.body).unwrap();
            assert_eq!(job.redrive, Some(dead_letter.at));
        }
        queues.remove_dead_message(&copy).await.unwrap();
    }
}

pub async fn a_queue_that_holds_a_copy_is_looked_through<Q: Queues + DeadLetterQueues>(queues: &Q) {
    let [dead_letter, _] = dead_letters();
    queues.enqueue_dead_copy(&dead_letter).await.unwrap();
    let copy = found(queues, &dead_letter).await;
    let look = queues.plan_dead_look(dead_letter.queue).await.unwrap();
    assert_ne!(look, DeadQueueLook::Skip);
    queues.note_dead_look(dead_letter.queue, 1, 1);
    queues.remove_dead_message(&copy).await.unwrap();
}

pub async fn what_was_received_is_not_handed_out_at_once_and_what_is_removed_never<
    Q: Queues + DeadLetterQueues,
>(
    queues: &Q,
) {
    let [dead_letter, _] = dead_letters();
    queues.enqueue_dead_copy(&dead_letter).await.unwrap();
    let copy = found(queues, &dead_letter).await;
    let next = queues.receive_dead_messages(dead_letter.queue).await.unwrap();
    assert!(next.iter().all(|other| other.copy_of != copy.copy_of));
    queues.remove_dead_message(&copy).await.unwrap();
    queues.remove_dead_message(&copy).await.unwrap();
}
