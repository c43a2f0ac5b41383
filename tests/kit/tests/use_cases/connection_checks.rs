//! Providers that are gone are noticed while nothing is sent.

use crate::waiting::state;
use crate::world::Setup;
use recado_alerts::health::{InstanceHealth, assess_health};
use recado_alerts::{KnownState, evaluate_alerts};
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::alert::{AlertKind, AlertState};
use recado_domain::health::HealthStatus;
use recado_domain::instance::ConnectionStatus;
use recado_domain::millis::add_millis;
use recado_domain::provider::Provider;
use recado_pipeline::ports::ConnectionAnswer;
use recado_pipeline::reconcile::{ReconcileReport, reconcile};
use recado_pipeline::records::alerts::list_live_alerts;
use recado_testkit::alert_story::ToldDepth;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

/// Lets a minute pass, and runs what runs every minute.
async fn pass_minute(setup: &Setup) -> ReconcileReport {
    // A pass takes time of its own.
    let minute = 60_000 - setup.now().as_millisecond().rem_euclid(60_000);
    setup.world.system.pass(minute);
    let report = reconcile(&setup.world).await.unwrap();
    let known = KnownState {
        disk_free: None,
        reading: report.reading.as_ref(),
        missing_secrets: report.missing_secrets.as_deref(),
    };
    let (store, system) = (&setup.world.store, &setup.world.system);
    succeed(evaluate_alerts(store, &ToldDepth::default(), system, known)).await;
    report
}

async fn is_told(setup: &Setup) -> bool {
    let live = succeed(list_live_alerts(&setup.world.store, None, 100)).await;
    let mut live = live.iter().map(|found| &found.record);
    live.any(|alert| alert.kind == AlertKind::Disconnected && alert.state() == AlertState::Firing)
}

/// The health, and the time at which the instance was looked at.
async fn health(setup: &Setup) -> (HealthStatus, Option<Timestamp>) {
    let mut looked_at = None;
    let mut show = |one: &InstanceHealth| looked_at = one.looked_at;
    let (depths, caller) = (ToldDepth::default(), Caller::installation());
    let found = succeed(assess_health(&setup.world, &depths, &caller, None, &mut show)).await;
    (found.unwrap().status, looked_at)
}

#[tokio::test]
async fn a_provider_that_is_gone_is_told_within_four_minutes_while_nothing_is_sent() {
    let setup = Setup::set(Fixture::new()).await;
    let before = state(&setup).await;
    assert_eq!(health(&setup).await, (HealthStatus::Healthy, None));
    for minute in 1..=3 {
        assert_eq!(pass_minute(&setup).await.count_of("asked"), 1);
        assert_eq!(setup.world.providers.asked(), minute);
    }
    assert_eq!(state(&setup).await, before, "a good answer writes nothing");
    let (status, good_at) = health(&setup).await;
    assert_eq!(status, HealthStatus::Healthy);
    let good_at = good_at.unwrap();
    assert!(add_millis(good_at, 5_000) > setup.now(), "{good_at}");

    setup.world.providers.is(ConnectionAnswer::Unreachable);
    pass_minute(&setup).await;
    assert_eq!(setup.world.providers.asked(), 5, "it was asked twice");
    let gone = state(&setup).await;
    assert_eq!(gone.connection, ConnectionStatus::Unreachable);
    assert_eq!(health(&setup).await.0, HealthStatus::Degraded);
    while !is_told(&setup).await {
        pass_minute(&setup).await;
        let age = setup.now().as_millisecond() - good_at.as_millisecond();
        assert!(age <= 240_000, "nobody was told for {age} ms");
    }

    setup.world.providers.is(ConnectionAnswer::Open);
    for _ in 0..12 {
        pass_minute(&setup).await;
    }
    let back = state(&setup).await;
    assert_eq!(back.connection, ConnectionStatus::Open);
    assert_eq!(back.catch_up_from, None, "what was missed was fetched");
    let (span, _) = setup.world.providers.memory.asked()[0];
    assert!(span.since <= gone.since.unwrap());
    assert!(!is_told(&setup).await);
}

#[tokio::test]
async fn a_provider_that_did_not_answer_once_is_as_it_was() {
    let setup = Setup::set(Fixture::new()).await;
    setup.world.providers.answers_once(ConnectionAnswer::Unreachable);
    pass_minute(&setup).await;
    assert_eq!(setup.world.providers.asked(), 2);
    assert_eq!(state(&setup).await.connection, ConnectionStatus::Open);
}

#[tokio::test]
async fn what_a_provider_says_of_itself_counts_at_once() {
    for (answer, connection) in [
        (ConnectionAnswer::Closed, ConnectionStatus::Closed),
        (
            ConnectionAnswer::NeedsCredentials,
            ConnectionStatus::NeedsCredentials,
        ),
        (ConnectionAnswer::Unclear, ConnectionStatus::Open),
    ] {
        let setup = Setup::set(Fixture::new()).await;
        setup.world.providers.is(answer);
        let report = pass_minute(&setup).await;
        assert_eq!(setup.world.providers.asked(), 1);
        assert_eq!(state(&setup).await.connection, connection);
        let reading = report.reading.unwrap();
        assert_eq!(
            reading.instances[0].connection, connection,
            "the reading shows it"
        );
    }
}

#[tokio::test]
async fn numbers_without_a_connection_of_their_own_are_not_asked() {
    let setup = Setup::set(Fixture::on(Provider::Meta)).await;
    assert_eq!(pass_minute(&setup).await.count_of("asked"), 0);
    assert_eq!(setup.world.providers.asked(), 0);
}
