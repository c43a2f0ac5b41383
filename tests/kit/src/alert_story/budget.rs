//! A tenant whose budget of the month is used up.

use super::{AlertStory, CRITICAL, ENDED, FIRING, WARNING};
use crate::builders::{accepted, claimed, out};
use crate::ports::succeed;
use recado_domain::alert::AlertKind;
use recado_domain::config::ConfigDocument;
use recado_domain::message::TokenUsage;
use recado_domain::turn::TurnRecord;
use recado_ports::ports::{ClaimOutcome, CommitOutcome, Store, System, WriteOutcome};
use recado_ports::records::configuration::put_configuration;
use serde_json::json;

/// A tenant has a budget from now on.
async fn set_budget<S: Store>(scene: &AlertStory<'_, S>, tokens: u64) {
    let mut tenant = scene.fixture.bound.tenant.clone();
    tenant.budget = Some(serde_json::from_value(json!({ "tokens": tokens })).unwrap());
    let change = ConfigDocument {
        tenants: vec![tenant],
        ..ConfigDocument::default()
    };
    succeed(put_configuration(scene.store, &change)).await;
}

/// The agent replies to a new contact, with so many tokens.
async fn reply_with_tokens<S: Store>(scene: &AlertStory<'_, S>, output_tokens: u64) {
    let (contact, now) = (scene.fixture.other_contact(), scene.clock.now());
    let mut conversation = contact.conversation(1);
    conversation.receive_message(true, now).unwrap();
    let mut reply = contact.reply(&mut conversation);
    reply.stored_at = now;
    reply.model = Some("model-1".to_owned());
    reply.usage = Some(TokenUsage {
        output_tokens,
        ..TokenUsage::default()
    });
    out(&mut reply).turn = Some(TurnRecord {
        began_at: now,
        attempt: 1,
        asked_at: None,
        opening: None,
        steps: Vec::new(),
        effects_upto: None,
        knowledge: None,
        tools: Vec::new(),
        agent: Some(contact.bound.agent.id.clone()),
        rewriting: None,
        unused_answers: Vec::new(),
        usage_kept: None,
    });
    conversation.rev = 1;
    let (sending, flight) = claimed(&reply);
    let written = succeed(scene.store.commit_messages(&conversation, &[reply], &[])).await;
    assert_eq!(written, CommitOutcome::Committed);
    // It is sent at once: nothing waits.
    let claim = succeed(scene.store.claim_message(&sending, None, &flight)).await;
    assert_eq!(claim, ClaimOutcome::Claimed);
    let sent = accepted(&sending);
    let settled = scene.store.settle_message(&sent, Some(&flight), None, None);
    assert_eq!(succeed(settled).await, WriteOutcome::Written);
}

/// A budget is told at 80 and at 100 per cent, each once, and is over when there is more of it.
pub(super) async fn used_up_budget<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::Budget;
    set_budget(scene, 1_000).await;
    reply_with_tokens(scene, 799).await;
    scene.quiet_minutes(1).await;
    reply_with_tokens(scene, 1).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    reply_with_tokens(scene, 100).await;
    scene.quiet_minutes(2).await;
    reply_with_tokens(scene, 100).await;
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, FIRING)]);
    reply_with_tokens(scene, 5_000).await;
    scene.quiet_minutes(2).await;
    set_budget(scene, 1_000_000).await;
    assert_eq!(
        scene.next_minute().await,
        [(kind, WARNING, ENDED), (kind, CRITICAL, ENDED)]
    );
}
