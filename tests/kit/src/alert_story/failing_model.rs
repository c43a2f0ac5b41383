//! A model that fails, whoever writes.

use super::{AlertStory, CRITICAL, ENDED, FIRING, change_instance};
use recado_domain::alert::AlertKind;
use recado_domain::instance::InstanceChange;
use recado_ports::ports::{Store, System};

/// The model fails for one contact, then for another, and answers again.
pub(super) async fn failing_model<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::ModelFails;
    let instance = scene.fixture.instance();
    for (fixture, told) in [
        (scene.fixture.other_contact(), false),
        (scene.fixture.other_contact(), true),
    ] {
        let conversation = fixture.conversation(1).id;
        let at = scene.clock.now();
        let failed = InstanceChange::ModelFailed { conversation, at };
        change_instance(scene.store, instance, failed).await;
        let expected = told.then_some((kind, CRITICAL, FIRING));
        assert_eq!(scene.next_minute().await, Vec::from_iter(expected));
    }
    scene.quiet_minutes(2).await;
    change_instance(scene.store, instance, InstanceChange::ModelAnswered).await;
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, ENDED)]);
}
