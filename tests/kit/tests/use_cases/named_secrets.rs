//! Secrets that entries of the configuration name: whoever applies, whoever looks and whoever watches is told that one is missing.

use crate::world::Setup;
use recado_alerts::{KnownState, evaluate_alerts};
use recado_checks::self_check::check_installation;
use recado_configuration::{ApplyOptions, AskedParties, apply_configuration};
use recado_domain::access::Caller;
use recado_domain::alert::{AlertKind, AlertState};
use recado_domain::config::{ConfigDocument, CredentialRef};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::alerts::list_live_alerts;
use recado_testkit::alert_story::ToldDepth;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde_json::json;

/// Lets minutes pass until secrets were looked for, and returns the summaries of the alerts about them.
async fn told(setup: &Setup) -> Vec<String> {
    for _ in 0..6 {
        setup.pass(60);
        let report = succeed(Box::pin(reconcile(&setup.world))).await;
        let known = KnownState {
            disk_free: None,
            reading: report.reading.as_ref(),
            missing_secrets: report.missing_secrets.as_deref(),
        };
        let (store, system) = (&setup.world.store, &setup.world.system);
        succeed(evaluate_alerts(store, &ToldDepth::default(), system, known)).await;
        if report.missing_secrets.is_some() {
            break;
        }
    }
    let live = succeed(list_live_alerts(&setup.world.store, None, 100)).await;
    let firing = live
        .into_iter()
        .map(|found| found.record)
        .filter(|alert| alert.kind == AlertKind::MissingKey && alert.state() == AlertState::Firing);
    firing.map(|alert| alert.summary).collect()
}

#[tokio::test]
async fn a_secret_that_is_missing_is_told_at_apply_by_a_check_and_as_an_alert_until_it_is_there() {
    const PLACE: &str = "alert destination `pager`: webhook.secret";
    let setup = Setup::set(Fixture::new()).await;
    assert_eq!(told(&setup).await, [""; 0]);
    let reference = CredentialRef::try_from("env:RECADO_ALERT_PAGER".to_owned()).unwrap();
    setup.world.providers.lacks.lock().unwrap().push(reference);
    let webhook = json!({"url": "https://pager.example/in", "secret": "env:RECADO_ALERT_PAGER"});
    let document = ConfigDocument {
        alerts: serde_json::from_value(json!({"destinations": [{"id": "pager", "webhook": webhook}]}))
            .unwrap(),
        ..ConfigDocument::default()
    };
    let (caller, options) = (
        Caller::installation(),
        ApplyOptions {
            asks: AskedParties::Providers,
            ..ApplyOptions::default()
        },
    );
    let applies = || {
        Box::pin(apply_configuration(
            &setup.world,
            &caller,
            document.clone(),
            options,
        ))
    };
    let warning = format!("{PLACE}: RECADO_ALERT_PAGER is not set: what needs it fails until it is there");
    assert_eq!(applies().await.unwrap().warnings, [warning]);
    assert_eq!(applies().await.unwrap().warnings, [""; 0], "nothing changed");
    let checked = async || {
        let checks = check_installation(&setup.world, &caller, None, false)
            .await
            .unwrap();
        let missing = checks.unwrap().missing_secrets.into_iter();
        missing.map(|one| one.entry).collect::<Vec<_>>()
    };
    assert_eq!(checked().await, [PLACE]);
    let summary = format!("{PLACE}: RECADO_ALERT_PAGER is not set");
    for _ in 0..2 {
        assert_eq!(told(&setup).await, [summary.as_str()]);
    }
    setup.world.providers.lacks.lock().unwrap().clear();
    assert_eq!(checked().await, [""; 0]);
    assert_eq!(told(&setup).await, [""; 0]);
}
