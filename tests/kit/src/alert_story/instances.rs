//! The alerts on the load of one of two instances.

use super::{AlertStory, ENDED, FIRING, WARNING};
use crate::builders::{Fixture, far_ahead};
use crate::ports::succeed;
use recado_domain::alert::AlertKind;
use recado_domain::event::InboundJob;
use recado_domain::ids::InstanceId;
use recado_ports::ports::{EventChange, Store, System};
use recado_ports::records::alerts::list_live_alerts;
use recado_ports::records::configuration::put_configuration;
use recado_ports::records::dead_letters::{put_dead_letter, remove_dead_letter};
use serde_json::json;

impl<S: Store> AlertStory<'_, S> {
    /// The instances of the live alerts of a kind; `None` for the installation.
    async fn owners_of(&self, kind: AlertKind) -> Vec<Option<InstanceId>> {
        let live = succeed(list_live_alerts(self.store, None, 100)).await;
        let live = live.into_iter().map(|found| found.record);
        let of_kind = live.filter(|alert| alert.kind == kind);
        of_kind.map(|alert| alert.subject.instance).collect()
    }

    async fn record_events(&self, fixture: &Fixture, count: usize) -> Vec<InboundJob> {
        let mut jobs: Vec<InboundJob> = (0..count).map(|_| fixture.job()).collect();
        for job in &mut jobs {
            job.received_at = self.clock.now();
            let _ = succeed(self.store.record_event(job)).await;
        }
        jobs
    }

    async fn settle_events(&self, jobs: &[InboundJob]) {
        for job in jobs {
            let now = self.clock.now();
            succeed(self.store.change_event(
                &job.event,
                EventChange::Apply {
                    at: now,
                    expires: far_ahead(),
                },
            ))
            .await;
        }
    }
}

/// Lets one of two instances have too much, and the installation too.
///
/// # Panics
/// If an instance is told of that has not too much, or one is not told of that has.
pub async fn an_instance_is_judged_by_itself<S: Store>(store: &S) {
    let thresholds = json!({"depth_warning": 2, "dead_letters_warning": 2, "off": ["slow_processing"]});
    let scene = AlertStory::begin_with(store, thresholds).await;
    let other = Fixture::new();
    succeed(put_configuration(store, &other.document())).await;
    scene.quiet_minutes(1).await;
    one_waits(&scene, &other).await;
    one_gives_up(&scene, &other).await;
    scene.quiet_minutes(2).await;
}

async fn one_waits<S: Store>(scene: &AlertStory<'_, S>, other: &Fixture) {
    let kind = AlertKind::QueueDepth;
    let own = scene.record_events(&scene.fixture, 3).await;
    let others = scene.record_events(other, 2).await;
    scene.quiet_minutes(5).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    assert_eq!(
        scene.owners_of(kind).await,
        [Some(scene.fixture.instance().clone())]
    );
    scene.settle_events(&own[..1]).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED)]);
    scene.settle_events(&own).await;
    scene.settle_events(&others).await;
}

async fn one_gives_up<S: Store>(scene: &AlertStory<'_, S>, other: &Fixture) {
    let kind = AlertKind::DeadLetters;
    let dead: Vec<_> = [&scene.fixture, other, &scene.fixture, other, &scene.fixture]
        .map(Fixture::dead_letter)
        .into();
    for one in &dead[..4] {
        succeed(put_dead_letter(scene.store, one)).await;
    }
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    assert_eq!(scene.owners_of(kind).await, [None], "each instance has two");
    succeed(put_dead_letter(scene.store, &dead[4])).await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    let owners = scene.owners_of(kind).await;
    assert!(
        owners.contains(&Some(scene.fixture.instance().clone())),
        "{owners:?}"
    );
    for one in &dead {
        assert!(succeed(remove_dead_letter(scene.store, &one.id, one.at)).await);
    }
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED); 2]);
}
