use super::*;
use crate::dead_letter::{QueueName, QueuedJob, RedrivenLetter, TurnsMessage};
use crate::millis::from_unix_millis;
use serde_json::{Value, json};
use std::time::Duration;

fn conversation() -> ConversationId {
    ConversationId::parse("c_0123456789abcdef0123456789abcdef-1").unwrap()
}

/// A job of each kind of the queue `turns`, with its JSON.
fn turns_jobs() -> Vec<(TurnsJob, Value)> {
    let (id, tenant) = (conversation(), TenantId::parse("clinic").unwrap());
    let correlation = CorrelationId::parse("k").unwrap();
    let turn = TurnJob {
        conversation: id.clone(),
        tenant: tenant.clone(),
        ordinal: Ordinal(7),
        correlation: correlation.clone(),
        parent: serde_json::from_value(json!("00f067aa0ba902b7-01")).unwrap(),
        due: Some(from_unix_millis(60_000)),
    };
    let timer = AgentReturnJob {
        conversation: id.clone(),
        tenant: tenant.clone(),
        correlation: correlation.clone(),
        parent: None,
    };
    let file = FileJob {
        conversation: id.clone(),
        tenant: tenant.clone(),
        ordinal: Ordinal(3),
        correlation: correlation.clone(),
        parent: None,
    };
    let batch = BatchJob {
        tenant,
        batch: BatchId::parse("b_018f2f5e8c00000000000001").unwrap(),
        from: 40,
        correlation,
    };
    let batch_id = batch.batch.to_string();
    vec![
        (
            TurnsJob::Turn(turn),
            json!({"job": "turn", "conversation": id, "tenant": "clinic", "ordinal": 7, "correlation": "k",
                "parent": "00f067aa0ba902b7-01", "due": 60_000}),
        ),
        (
            TurnsJob::AgentReturn(timer),
            json!({"job": "agent_return", "conversation": id, "tenant": "clinic", "correlation": "k"}),
        ),
        (
            TurnsJob::File(file),
            json!({"job": "file", "conversation": id, "tenant": "clinic", "ordinal": 3, "correlation": "k"}),
        ),
        (
            TurnsJob::Batch(batch),
            json!({"job": "batch", "tenant": "clinic", "batch": batch_id, "from": 40, "correlation": "k"}),
        ),
    ]
}

#[test]
fn each_job_of_turns_says_what_it_is_and_is_read_as_that() {
    for (job, written) in turns_jobs() {
        assert_eq!(serde_json::to_value(&job).unwrap(), written);
        assert_eq!(written["job"], job.kind_name());
        assert_eq!(job.tenant().as_str(), "clinic");
        let read = QueuedJob::parse(QueueName::Turns, &written.to_string()).unwrap();
        let (message, delay) = TurnsMessage::after_delay(job, Duration::ZERO, 900, from_unix_millis(0));
        assert_eq!((message.not_before, delay), (None, 0));
        assert_eq!(read, QueuedJob::Turns(message));
    }
}

#[test]
fn a_job_that_is_redriven_names_its_dead_letter_beside_it() {
    for (job, _) in turns_jobs() {
        let redrive = Some(RedrivenLetter {
            dead_letter: "x".to_owned(),
            failed_at: from_unix_millis(5),
        });
        let not_before = None;
        let message = QueuedJob::Turns(TurnsMessage {
            job,
            redrive,
            not_before,
        });
        let body = serde_json::to_string(&message).unwrap();
        assert_eq!(QueuedJob::parse(QueueName::Turns, &body).unwrap(), message);
    }
}

#[test]
fn a_queue_of_whole_seconds_hands_a_job_out_early_and_the_job_says_when_it_is_due() {
    let (job, _) = turns_jobs().remove(0);
    for (millis, seconds, due) in [
        (0, 0, None),
        (900, 0, Some(1_900)),
        (2_000, 2, None),
        (2_100, 2, Some(3_100)),
        (900_000, 900, None),
        // Longer than the queue keeps any: the job comes too early, and waits once more.
        (900_001, 900, None),
        (5_000_000, 900, None),
    ] {
        let (delay, now) = (Duration::from_millis(millis), from_unix_millis(1_000));
        let (message, delay) = TurnsMessage::after_delay(job.clone(), delay, 900, now);
        assert_eq!(delay, seconds, "{millis}");
        assert_eq!(message.not_before, due.map(from_unix_millis), "{millis}");
        let body = serde_json::to_string(&message).unwrap();
        let read = QueuedJob::parse(QueueName::Turns, &body).unwrap();
        assert_eq!(read, QueuedJob::Turns(message));
    }
}

#[test]
fn each_job_of_outbound_says_what_it_is_and_is_read_as_that() {
    let correlation = CorrelationId::parse("k").unwrap();
    let send = SendJob::new(conversation(), Ordinal(2), correlation.clone());
    let email = EmailJob {
        tenant: TenantId::parse("clinic").unwrap(),
        invitation: InvitationId::parse("i_018f2f5e8c000000").unwrap(),
        correlation,
        parent: None,
        redrive: Some(from_unix_millis(5)),
    };
    for (job, name) in [(OutboundJob::from(send), "send"), (email.into(), "email")] {
        let body = serde_json::to_value(&job).unwrap();
        assert_eq!(body["job"], name);
        let read = QueuedJob::parse(QueueName::Outbound, &body.to_string()).unwrap();
        assert_eq!(read, QueuedJob::Outbound(job));
    }
}

#[test]
fn a_job_of_an_unknown_kind_and_one_without_a_kind_cannot_be_read() {
    for (_, mut body) in turns_jobs() {
        body["job"] = json!("unknown");
        assert!(QueuedJob::parse(QueueName::Turns, &body.to_string()).is_err());
        assert!(QueuedJob::parse(QueueName::Outbound, &body.to_string()).is_err());
        body.as_object_mut().unwrap().remove("job");
        assert!(QueuedJob::parse(QueueName::Turns, &body.to_string()).is_err());
    }
}

#[test]
fn jobs_of_one_kind_about_one_record_share_a_schedule_and_no_others_do() {
    let keys: Vec<String> = turns_jobs().iter().map(|(job, _)| job.schedule_key()).collect();
    assert!(
        keys.iter()
            .enumerate()
            .all(|(place, key)| !keys[..place].contains(key)),
        "{keys:?}"
    );
    let mut later = turns_jobs().remove(0).0;
    if let TurnsJob::Turn(turn) = &mut later {
        (turn.ordinal, turn.due) = (Ordinal(9), None);
    }
    assert_eq!(later.schedule_key(), keys[0]);
}
