//! How things die, for the tests of dead letters.

use crate::tests::{Answered, Site};
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::{EventKind, EventPayload, EventState, InboundJob, derive_event_id};
use recado_domain::ids::{ConversationId, CorrelationId, ExternalId, MessageId};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::{Author, Outbox, OutboxState};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_domain::wake_up::{OutboundJob, SendJob};
use recado_embedded::Clock;
use recado_pipeline::ports::{CommitOutcome, Conversations, Inbox, OutboxStore, Queues, WriteOutcome};
use recado_pipeline::process;
use recado_pipeline::records::dead_letters::put_dead_letter;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) const CONTACT: &str = "5511900000001@s.whatsapp.net";

pub(super) fn now() -> Timestamp {
    Clock::from_system().now()
}

pub(super) async fn get(site: &Site, path: &str) -> Value {
    let answered = site.operate("GET", path, &Value::Null).await;
    assert_eq!(answered.status, StatusCode::OK, "{path}: {}", answered.text);
    answered.body
}

pub(super) async fn post(site: &Site, path: &str, body: Value) -> Answered {
    site.operate("POST", path, &body).await
}

/// Commits a person's reply to all that is in the conversation.
pub(super) async fn reply(site: &Site, id: &ConversationId) -> Message {
    let mut conversation = site.store.find_conversation(id).await.unwrap().unwrap();
    let at = now();
    let ordinal = conversation.record_operator_answer(conversation.last, false, at);
    conversation.rev += 1;
    let message = outgoing(&conversation, ordinal, at);
    let committed = succeed(
        site.store
            .commit_messages(&conversation, std::slice::from_ref(&message), &[]),
    )
    .await;
    assert_eq!(committed, CommitOutcome::Committed);
    message
}

fn outgoing(conversation: &Conversation, ordinal: recado_domain::ids::Ordinal, at: Timestamp) -> Message {
    let out = Outbox::new_queued(
        conversation.address.clone(),
        Author::Person,
        conversation.epoch,
        conversation.answered,
        at,
    );
    Message {
        conversation: conversation.id.clone(),
        ordinal,
        tenant: conversation.tenant.clone(),
        instance: conversation.instance.clone(),
        role: Role::Operator,
        content: recado_domain::content::Content::from_text("Até logo"),
        context: recado_domain::context::MessageContext::default(),
        provider_message_id: None,
        written_at: at,
        told_at: None,
        stored_at: at,
        correlation: CorrelationId::parse("c-2").unwrap(),
        event: None,
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        changes: recado_domain::message::MessageChanges::default(),
        file: None,
        rev: 0,
        out: Some(out),
    }
}

/// Gives a message up as the sender does: the record, the copy, the dead letter, the mark.
pub(super) async fn dies(site: &Site, message: &Message, at: Timestamp) -> DeadLetter {
    let mut message = message.clone();
    let out = message.out.as_mut().unwrap();
    out.mark_dead(at, Reason::MaxRetriesExceeded, Some("500".to_owned()))
        .unwrap();
    assert_eq!(
        site.store.save_open_message(&message, None).await.unwrap(),
        WriteOutcome::Written
    );
    let dead_letter = DeadLetter {
        id: message.message_id().to_string(),
        queue: QueueName::Outbound,
        reason: Reason::MaxRetriesExceeded,
        at,
        attempts: 5,
        last_error: Some("500".to_owned()),
        correlation: message.correlation.clone(),
        tenant: Some(message.tenant.clone()),
        instance: Some(message.instance.clone()),
        what: DeadLetterContent::Message {
            message: message.message_id(),
        },
    };
    site.store.enqueue_dead_copy(&dead_letter).await.unwrap();
    put_dead_letter(&site.store, &dead_letter).await.unwrap();
    message.out.as_mut().unwrap().mark_dead_lettered();
    let settled = succeed(site.store.settle_message(&message, None, None, None)).await;
    assert_eq!(settled, WriteOutcome::Written);
    dead_letter
}

/// A conversation with a reply that died.
pub(super) async fn with_dead_reply(site: &Site) -> (ConversationId, Message, DeadLetter) {
    let id = site.conversation(CONTACT).await;
    let message = reply(site, &id).await;
    let dead_letter = dies(site, &message, now()).await;
    (id, message, dead_letter)
}

pub(super) async fn state(site: &Site, id: &MessageId) -> OutboxState {
    let message = site.store.find_message(id).await.unwrap().unwrap();
    message.out.unwrap().state
}

/// The send jobs that lie on `outbound`, which they leave.
pub(super) async fn jobs(site: &Site) -> Vec<SendJob> {
    let mut all = Vec::new();
    loop {
        let batch = succeed(
            site.store
                .receive_messages(QueueName::Outbound, 10, Duration::from_secs(60)),
        )
        .await;
        if batch.is_empty() {
            return all;
        }
        for received in batch {
            match serde_json::from_str(&received.body).unwrap() {
                OutboundJob::Send(job) => all.push(job),
                OutboundJob::Email(other) => panic!("no send job: {other:?}"),
            }
            assert!(site.store.delete_received(&received.receipt).await.unwrap());
        }
    }
}

pub(super) fn job(external: &str, name: &str) -> InboundJob {
    let external = ExternalId::parse(external).unwrap();
    InboundJob {
        event: derive_event_id(Provider::Evolution, &external, EventKind::Message, name),
        provider: Provider::Evolution,
        group: "group".to_owned(),
        external,
        kind: EventKind::Message,
        correlation: CorrelationId::parse("c-3").unwrap(),
        parent: None,
        received_at: now(),
        payload: EventPayload::Inline(json!({"text": "segredo"})),
        lookalike: false,
        has_file: false,
        redrive: None,
    }
}

/// An event of an instance that is not configured: recorded, and given up by the processor.
pub(super) async fn dead_event(site: &Site, name: &str) -> InboundJob {
    let job = job("desconhecida", name);
    let _ = site.store.record_event(&job).await.unwrap();
    let body = serde_json::to_string(&job).unwrap();
    let _ = process::process(&site.deps(), &body, 1).await;
    let record = site.store.find_event(&job.event).await.unwrap().unwrap();
    assert_eq!(record.state, EventState::Dead);
    job
}

pub(super) async fn dead_depth(site: &Site, queue: QueueName) -> u64 {
    site.store.queue_depth(queue).await.unwrap().dead
}
