//! A webhook endpoint of a tenant that fails, and is switched off.

use super::{AlertStory, CRITICAL, ENDED, FIRING, WARNING};
use crate::builders::nonce;
use crate::ports::succeed;
use recado_domain::alert::AlertKind;
use recado_domain::ids::WebhookEndpointId;
use recado_domain::millis::add_millis;
use recado_domain::published_event::EventCursor;
use recado_domain::webhook_endpoint::{EndpointState, PostError, PostResult};
use recado_ports::ports::{Store, System, WriteOutcome};
use recado_ports::records::endpoints::save_endpoint_state;
use recado_ports::table::Versioned;

async fn save<S: Store>(scene: &AlertStory<'_, S>, state: &mut Versioned<EndpointState>) {
    let written = succeed(save_endpoint_state(scene.store, state, &[])).await;
    assert_eq!(written, WriteOutcome::Written);
}

/// An endpoint fails for more than an hour, says that it is gone, and is replayed.
pub(super) async fn failing_endpoint<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::WebhookFails;
    let tenant = &scene.fixture.bound.tenant.id;
    let endpoint = WebhookEndpointId::parse("crm").unwrap();
    let state = EndpointState::start_at(tenant, &endpoint, EventCursor(0), nonce());
    let mut state = Versioned::new(state);
    let fail = |state: &mut Versioned<EndpointState>, error: PostError, minutes_ago: i64| {
        let result = PostResult {
            cursor: EventCursor(1),
            error: Some(error),
        };
        state
            .record
            .note_results(&[result], add_millis(scene.clock.now(), -minutes_ago * 60_000));
    };
    fail(&mut state, PostError::Failed("it answered 500".to_owned()), 57);
    save(scene, &mut state).await;
    scene.quiet_minutes(2).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    scene.quiet_minutes(2).await;
    fail(&mut state, PostError::Gone, 0);
    save(scene, &mut state).await;
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, FIRING)]);
    scene.quiet_minutes(2).await;
    state.record.resume_posts(None);
    save(scene, &mut state).await;
    assert_eq!(
        scene.next_minute().await,
        [(kind, WARNING, ENDED), (kind, CRITICAL, ENDED)]
    );
}
