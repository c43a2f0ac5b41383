//! Connecting tries the webhook's URL before it changes anything, and puts back what it found if a check fails.

use super::*;
use recado_http_client::RequestFailure;

const RECADO: [Does; 2] = [Does::RefusesProof, Does::Answers(200, r#"{"ignored": 1}"#)];

/// A webhook that goes to `ours`.
fn webhook_to(ours: &StandIn) -> InstanceWebhook {
    let url = format!("{}/webhooks/x/k/s3cret", ours.url);
    webhook(&json!({"webhook_url": url, "secret": "s3cret", "secret_header": "x-secret"}))
}

fn lines(scene: &Scene) -> Vec<String> {
    scene
        .server
        .requests()
        .into_iter()
        .map(|request| request.line)
        .collect()
}

#[tokio::test]
async fn a_number_of_360dialog_is_tried_connected_and_read_back() {
    let ours = StandIn::start(RECADO.to_vec()).await;
    let told = webhook_to(&ours);
    let said: &'static str = Box::leak(json!({ "url": told.url }).to_string().into_boxed_str());
    let scene = Scene::set("360dialog", vec![Does::Answers(200, said)]).await;
    let (steps, connected) = scene.connect(&told, false).await;
    assert_eq!(connected, Ok(()));
    assert_eq!(
        steps,
        [
            "a webhook with this proof is taken",
            "webhook set at 360dialog",
            "read back as it should be"
        ]
    );
    let shown = |number: usize| {
        let headers = &ours.requests()[number].headers;
        headers.contains(&"x-secret: s3cret".to_owned())
    };
    assert!(!shown(0) && shown(1), "the secret is shown to Recado only");
    let found = scene.examine(Some(&told)).await;
    assert_eq!(
        checks(&found)[..2],
        [("credential", Severity::Good), ("webhook", Severity::Good)]
    );

    let elsewhere = webhook(&json!({"secret": "s3cret", "secret_header": "x-secret"}));
    let asked = scene.server.requests().len();
    let (steps, connected) = scene.connect(&elsewhere, true).await;
    assert!(
        matches!(connected, Err(ConnectError::Differs(_))),
        "{connected:?}"
    );
    assert!(steps.is_empty(), "{steps:?}");
    assert_eq!(scene.server.requests().len(), asked + 1, "a check sets nothing");
    let found = scene.examine(Some(&elsewhere)).await;
    assert_eq!(checks(&found)[1], ("webhook", Severity::Broken));
}

#[tokio::test]
async fn a_url_that_is_not_this_installations_changes_nothing_at_the_provider() {
    let cases = [
        (vec![Does::Answers(200, "{}")], ConnectError::NotRecado),
        (vec![Does::Answers(401, "{}")], ConnectError::NotRecado),
        (
            vec![Does::RefusesProof, Does::RefusesProof],
            ConnectError::Unauthorized,
        ),
        (
            vec![Does::RefusesProof, Does::Answers(503, r#"{"detail": "wait"}"#)],
            ConnectError::UnexpectedStatus {
                status: 503,
                said: "wait".to_owned(),
            },
        ),
    ];
    for provider in ["evolution", "360dialog"] {
        for (script, expected) in &cases {
            let ours = StandIn::start(script.clone()).await;
            let scene = Scene::set(provider, vec![Does::Answers(200, "{}")]).await;
            let (steps, connected) = scene.connect(&webhook_to(&ours), false).await;
            let error = connected.unwrap_err();
            assert!(
                matches!(&error, ConnectError::NothingChanged { why, .. } if **why == *expected),
                "{error:?}"
            );
            assert!(
                steps.is_empty() && lines(&scene).is_empty(),
                "{:?}",
                lines(&scene)
            );
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_url_that_does_not_answer_is_named_without_its_secret_and_force_sets_it_all_the_same() {
    let ours = StandIn::start(vec![Does::Breaks]).await;
    let told = webhook_to(&ours);
    let scene = Scene::set(
        "evolution",
        vec![Does::Answers(404, "{}"), Does::Answers(201, "{}")],
    )
    .await;
    let (_, connected) = scene.connect(&told, false).await;
    let error = connected.unwrap_err();
    let expected = ConnectError::Unreachable {
        url: format!("{}/webhooks/x", ours.url),
        why: RequestFailure::Broken,
    };
    assert!(
        matches!(&error, ConnectError::NothingChanged { why, .. } if **why == expected),
        "{error:?}"
    );
    assert!(!error.to_string().contains("s3cret"), "{error}");
    let force = ConnectOptions {
        force: true,
        ..ConnectOptions::default()
    };
    let (steps, _) = scene.connect_with(&told, force).await;
    assert!(steps[0].starts_with("not checked: "), "{steps:?}");
    assert_eq!(steps[1], "webhook set at Evolution");
}

#[tokio::test]
async fn what_was_set_before_is_put_back_when_the_check_after_setting_fails() {
    const BEFORE: &str = r#"{"enabled": true, "url": "https://old.example/hook", "events": ["MESSAGES_UPSERT"],
        "webhookByEvents": false, "webhookBase64": true, "headers": {"x": "y"}}"#;
    let ours = StandIn::start(RECADO.to_vec()).await;
    let script = vec![
        Does::Answers(200, BEFORE),
        Does::Answers(201, "{}"),
        // Evolution took the webhook and shows the old one.
        Does::Answers(200, BEFORE),
        Does::Answers(201, "{}"),
    ];
    let scene = Scene::set("evolution", script).await;
    let (_, connected) = scene.connect(&webhook_to(&ours), false).await;
    let error = connected.unwrap_err();
    assert!(matches!(error, ConnectError::PutBack { .. }), "{error:?}");
    let requests = scene.server.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(
        requests[3].body,
        json!({"webhook": {"enabled": true, "url": "https://old.example/hook", "headers": {"x": "y"},
            "byEvents": false, "base64": true, "events": ["MESSAGES_UPSERT"]}})
    );
}

#[tokio::test]
async fn connecting_again_keeps_the_events_that_were_chosen_for_recado() {
    let ours = StandIn::start([RECADO, RECADO].concat()).await;
    let told = webhook_to(&ours);
    let row = |events: &[&str]| -> &'static str {
        let row =
            json!({"enabled": true, "url": told.url, "headers": {"apikey": "s3cret"}, "events": events});
        Box::leak(row.to_string().into_boxed_str())
    };
    let script = vec![
        Does::Answers(200, row(&["MESSAGES_UPSERT", "PRESENCE_UPDATE"])),
        Does::Answers(201, "{}"),
        // Evolution leaves the chosen event out: that is told.
        Does::Answers(
            200,
            row(&["MESSAGES_UPSERT", "MESSAGES_UPDATE", "CONNECTION_UPDATE"]),
        ),
        Does::Answers(201, "{}"),
    ];
    let scene = Scene::set("evolution", script).await;
    let (_, connected) = scene.connect(&told, false).await;
    let error = connected.unwrap_err().to_string();
    assert!(error.contains("events are missing: PRESENCE_UPDATE"), "{error}");
    let set = &scene.server.requests()[1].body["webhook"]["events"];
    let set: Vec<&str> = set
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| event.as_str())
        .collect();
    assert!(
        set.contains(&"PRESENCE_UPDATE") && set.contains(&"MESSAGES_EDITED"),
        "{set:?}"
    );
}

#[tokio::test]
async fn an_instance_that_had_no_webhook_has_none_that_works_after_a_failed_check() {
    let ours = StandIn::start(RECADO.to_vec()).await;
    let script = vec![
        Does::Answers(404, "{}"),
        Does::Answers(201, "{}"),
        Does::Answers(404, "{}"),
        Does::Answers(500, "{}"),
    ];
    let scene = Scene::set("evolution", script).await;
    let (_, connected) = scene.connect(&webhook_to(&ours), false).await;
    let error = connected.unwrap_err();
    assert!(matches!(error, ConnectError::NotPutBack { .. }), "{error:?}");
    assert_eq!(scene.server.requests()[3].body["webhook"]["enabled"], false);
}

#[tokio::test]
async fn the_address_of_evolutions_page_is_told_apart_from_a_missing_instance() {
    let server = StandIn::start(vec![Does::Answers(
        404,
        r#"{"response": {"message": "no instance"}}"#,
    )])
    .await;
    let mut scene = Scene::set("evolution", vec![Does::Hangs]).await;
    scene.instance.base_url = Some(format!("{}/manager", server.url));
    let found = scene.examine(None).await;
    assert!(found[0].found.contains("leave that out"), "{found:?}");
}
