use super::*;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::ids::{MessageId, TokenName};
use recado_domain::wake_up::Redrive;
use recado_ports::settings::VisibilityTimeouts;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

/// Returns the dead letter of an outgoing message.
fn dead_letter_of(message: &MessageId) -> DeadLetter {
    DeadLetter {
        id: message.to_string(),
        queue: QueueName::Outbound,
        what: DeadLetterContent::Message {
            message: message.clone(),
        },
        ..Fixture::new().dead_letter()
    }
}

#[test]
fn what_was_handed_out_too_often_is_dead_and_the_next_of_its_group_comes() {
    let bench = Bench::new();
    block_on(async {
        bench.send("a", "a1").await;
        bench.send("a", "a2").await;
        for receives in 1..=VisibilityTimeouts::RECEIVES_MAX {
            let received = bench.receive(QueueName::Inbound, 1).await.remove(0);
            assert_eq!((id_of(&received).as_str(), received.receives), ("a1", receives));
            succeed(bench.queues.change_visibility(&received.receipt, Duration::ZERO)).await;
        }
        assert!(bench.ids(1).await.is_empty());
        assert_eq!(bench.ids(1).await, ["a2"]);
        let dead = succeed(bench.queues.list_dead_messages(QueueName::Inbound, 10)).await;
        assert_eq!(
            (dead.len(), dead[0].receives, &dead[0].dead_letter),
            (1, 1000, &None)
        );
        assert_eq!(
            bench.queues.queue_depth(QueueName::Inbound).await.unwrap().dead,
            1
        );
        assert!(
            !bench
                .queues
                .redrive_dead_message(QueueName::Turns, dead[0].id)
                .await
                .unwrap(),
            "not on that queue"
        );
        assert!(succeed(bench.queues.redrive_dead_message(QueueName::Inbound, dead[0].id)).await);
        assert!(
            !bench
                .queues
                .redrive_dead_message(QueueName::Inbound, dead[0].id)
                .await
                .unwrap()
        );
        bench.pass(30);
        let next = bench.receive(QueueName::Inbound, 1).await.remove(0);
        assert_eq!(id_of(&next), "a2", "what is redriven stands at the end");
        bench.queues.delete_received(&next.receipt).await.unwrap();
        assert_eq!(bench.receive(QueueName::Inbound, 1).await[0].receives, 1);
    });
}

#[test]
fn a_dead_letters_copy_is_single_and_a_redrive_of_it_says_so() {
    let bench = Bench::new();
    block_on(async {
        let message = conversation().message_id(Ordinal(5));
        let dead_letter = dead_letter_of(&message);
        bench.queues.enqueue_dead_copy(&dead_letter).await.unwrap();
        bench.queues.enqueue_dead_copy(&dead_letter).await.unwrap();
        let dead = succeed(bench.queues.list_dead_messages(QueueName::Outbound, 10)).await;
        assert_eq!(
            (dead.len(), dead[0].dead_letter.as_ref()),
            (1, Some(&dead_letter))
        );
        assert!(bench.receive(QueueName::Outbound, 10).await.is_empty());
        assert!(succeed(bench.queues.redrive_dead_message(QueueName::Outbound, dead[0].id)).await);
        let job = send_job_in(&bench.receive(QueueName::Outbound, 10).await.remove(0));
        let redrive = Redrive {
            message,
            failed_at: dead_letter.at,
            by: None,
        };
        assert_eq!((job.upto, job.redrive), (Ordinal(5), Some(redrive)));
        bench.queues.enqueue_dead_copy(&dead_letter).await.unwrap();
        bench.pass(14 * 86_400);
        assert_eq!(
            succeed(bench.queues.delete_expired(bench.queues.current_time()))
                .await
                .copies,
            1
        );
    });
}

#[test]
fn a_copy_that_is_redriven_is_gone() {
    let bench = Bench::new();
    block_on(async {
        let dead_letter = DeadLetter {
            queue: QueueName::Turns,
            what: DeadLetterContent::Unreadable { body: "{".to_owned() },
            ..Fixture::new().dead_letter()
        };
        bench.queues.enqueue_dead_copy(&dead_letter).await.unwrap();
        let list = || bench.queues.list_dead_messages(QueueName::Turns, 10);
        let dead = list().await.unwrap().remove(0);
        assert_eq!((dead.body.as_str(), dead.dead_letter), ("{", Some(dead_letter)));
        let redrive = || bench.queues.redrive_dead_message(QueueName::Turns, dead.id);
        assert!(redrive().await.unwrap());
        assert!(list().await.unwrap().is_empty());
        assert!(!redrive().await.unwrap());
    });
}

#[test]
fn what_is_redriven_lies_on_its_own_queue_with_the_death_that_it_undoes() {
    use recado_ports::ports::DeadLetterQueues;
    let bench = Bench::new();
    block_on(async {
        let dead_letter = dead_letter_of(&conversation().message_id(Ordinal(5)));
        for deduplication in ["one", "one", "two"] {
            succeed(
                bench
                    .queues
                    .enqueue_redrive(&dead_letter, &TokenName::installation(), deduplication),
            )
            .await;
        }
        let mut jobs = Vec::new();
        while let Some(received) = bench.receive(QueueName::Outbound, 1).await.pop() {
            jobs.push(send_job_in(&received).redrive.unwrap().failed_at);
            bench.queues.delete_received(&received.receipt).await.unwrap();
        }
        assert_eq!(jobs, [dead_letter.at; 2], "the second was a repetition");
    });
}
