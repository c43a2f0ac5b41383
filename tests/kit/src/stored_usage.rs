//! Stores a reply that used a model.

use crate::builders::{Fixture, out};
use crate::ports::succeed;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::message::TokenUsage;
use recado_domain::retention::RetentionPeriod;
use recado_domain::turn::TurnRecord;
use recado_ports::ports::{CommitOutcome, Store};

/// Commits a reply that was written by `model` at `now`. What it used is added to the sums of the day.
pub async fn store_used_reply<S: Store>(
    store: &S,
    fixture: &Fixture,
    conversation: &mut Conversation,
    used: (&str, Timestamp),
) {
    store_kept_use(store, fixture, conversation, used, None).await;
}

/// The same, with the time for which the sums are kept after their day.
pub async fn store_kept_use<S: Store>(
    store: &S,
    fixture: &Fixture,
    conversation: &mut Conversation,
    (model, now): (&str, Timestamp),
    kept: Option<RetentionPeriod>,
) {
    let mut reply = fixture.reply(conversation);
    reply.stored_at = now;
    reply.model = Some(model.to_owned());
    reply.usage = Some(TokenUsage {
        input_tokens: 100,
        output_tokens: 20,
        cache_read_tokens: 3,
        cache_write_tokens: 0,
    });
    out(&mut reply).turn = Some(TurnRecord {
        began_at: now,
        attempt: 1,
        asked_at: None,
        opening: None,
        steps: Vec::new(),
        effects_upto: None,
        knowledge: None,
        agent: Some(fixture.bound.agent.id.clone()),
        rewriting: None,
        unused_answers: Vec::new(),
        usage_kept: kept,
        tools: Vec::new(),
    });
    let written = succeed(store.commit_messages(conversation, &[reply], &[])).await;
    assert_eq!(written, CommitOutcome::Committed);
}
