//! A message that WhatsApp acknowledges late.

use super::{AlertStory, ENDED, FIRING, WARNING};
use crate::builders::{accepted, claimed, fresh};
use crate::ports::succeed;
use recado_domain::alert::AlertKind;
use recado_domain::delivery::{AwaitedAcknowledgement, DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::millis::add_millis;
use recado_domain::provider::Provider;
use recado_ports::ports::{ClaimOutcome, CommitOutcome, DeliveryLink, Store, System, WriteOutcome};

/// WhatsApp does not acknowledge a message that the provider accepted, and does it late.
pub(super) async fn missing_acknowledgement<S: Store>(scene: &AlertStory<'_, S>) {
    let (store, contact) = (scene.store, scene.fixture.other_contact());
    let mut conversation = contact.conversation(1);
    let reply = contact.reply(&mut conversation);
    let committed = succeed(store.commit_messages(&conversation, std::slice::from_ref(&reply), &[])).await;
    assert_eq!(committed, CommitOutcome::Committed);
    let (sending, flight) = claimed(&reply);
    let claim = succeed(store.claim_message(&sending, None, &flight)).await;
    assert_eq!(claim, ClaimOutcome::Claimed);
    let (sent, now) = (accepted(&sending), scene.clock.now());
    let key = DeliveryKey::from_provider_id(Provider::Evolution, &contact.external(), &fresh("P"));
    let link = DeliveryLink {
        key: key.clone(),
        provider_key: None,
        provider_message_id: sent.provider_message_id.clone(),
        expires: add_millis(now, 86_400_000),
        acknowledgement: Some(AwaitedAcknowledgement {
            tenant: sent.tenant.clone(),
            instance: sent.instance.clone(),
            accepted_at: now,
            due: add_millis(now, 600_000),
        }),
    };
    let settled = succeed(store.settle_message(&sent, Some(&flight), Some(&link), None)).await;
    assert_eq!(settled, WriteOutcome::Written);
    let kind = AlertKind::NotAcknowledged;
    scene.quiet_minutes(9).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    scene.quiet_minutes(2).await;
    let update = StatusUpdate {
        key,
        status: DeliveryStatus::Delivered,
        at: scene.clock.now(),
        provider_message_id: None,
        detail: None,
    };
    succeed(store.record_status(&update, link.expires, None)).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED)]);
}
