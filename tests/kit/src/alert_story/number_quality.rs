//! A number that WhatsApp judges.

use super::{AlertStory, CRITICAL, ENDED, FIRING, WARNING, change_instance};
use recado_domain::alert::AlertKind;
use recado_domain::instance::{InstanceChange, MessagingLimit, NumberQuality, SeenStanding};
use recado_ports::ports::{Store, System};

/// WhatsApp judges the number as worse and worse, lowers its limit, and is content again.
pub(super) async fn judged_number<S: Store>(scene: &AlertStory<'_, S>) {
    let kind = AlertKind::NumberQuality;
    let told = async |quality: &str, limit: &str| {
        let seen = SeenStanding {
            quality: NumberQuality::parse(quality),
            limit: MessagingLimit::parse(limit),
        };
        let now = scene.clock.now();
        change_instance(
            scene.store,
            scene.fixture.instance(),
            InstanceChange::Standing { seen, now },
        )
        .await;
    };
    told("GREEN", "TIER_10K").await;
    scene.quiet_minutes(1).await;
    told("YELLOW", "TIER_10K").await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    told("RED", "TIER_10K").await;
    assert_eq!(
        scene.next_minute().await,
        [(kind, WARNING, ENDED), (kind, CRITICAL, FIRING)]
    );
    told("GREEN", "TIER_10K").await;
    assert_eq!(scene.next_minute().await, [(kind, CRITICAL, ENDED)]);
    told("GREEN", "TIER_1K").await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, FIRING)]);
    scene.quiet_minutes(2).await;
    told("GREEN", "TIER_10K").await;
    assert_eq!(scene.next_minute().await, [(kind, WARNING, ENDED)]);
}
