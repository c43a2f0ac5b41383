//! The channels against stand-ins: a URL that fails first, a mail server, and an instance of Recado itself.

#![expect(clippy::unwrap_used, reason = "this is test code")]

mod endpoints;
mod stand_ins;

use recado_ai::{
    DocumentSettings, EmbeddingSettings, GoogleCalendarConfig, Model, ModelSettings, TranscriptionSettings,
};
use recado_alerts::{DeliveryReport, add_test_notifications, deliver_notifications, redrive_notification};
use recado_domain::access::Caller;
use recado_domain::alert::{AlertKind, AlertSeverity, AlertState, Notification, NotificationState};
use recado_domain::config::{AlertConfig, ConfigDocument, CredentialRef};
use recado_domain::secret::Secret;
use recado_embedded::{Clock, Embedded};
use recado_features::FEATURES;
use recado_http_client::build_http_client;
use recado_notify::Notifier;
use recado_pipeline::ports::{ConversationFilter, Conversations, PageRequest, PortResult, Secrets, System};
use recado_pipeline::records::alerts::commit_alerts;
use recado_pipeline::records::configuration::{load_configuration, put_configuration};
use recado_pipeline::records::dead_letters::{put_dead_letter, remove_dead_letter};
use recado_pipeline::records::notifications;
use recado_pipeline::{Components, Settings};
use recado_testkit::alert_story::{AlertStory, StoryClock};
use recado_testkit::ports::succeed;
use recado_whatsapp::{ProviderConfig, SimulatedOutbox, Simulation, WhatsApp};
use serde_json::{Value, json};
use stand_ins::{Does, MailServer, Receiver};
use std::time::Duration;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The secrets of these tests: one is missing, all others are the same.
#[derive(Debug, Clone, Copy)]
struct TestSecrets;

impl Secrets for TestSecrets {
    async fn resolve_secret(&self, reference: &CredentialRef) -> PortResult<Option<Secret>> {
        let missing = *reference == CredentialRef::Env("RECADO_ALERT_MISSING".to_owned());
        Ok(Secret::new(SECRET).filter(|_| !missing))
    }

    async fn forget_secret(&self, _: &CredentialRef) {}
}

type TestDeps = Components<
    Embedded,
    Embedded,
    WhatsApp<TestSecrets, StoryClock>,
    Model<TestSecrets, StoryClock>,
    StoryClock,
>;

fn deps(store: &Embedded, clock: &StoryClock) -> TestDeps {
    let http = build_http_client().unwrap();
    let providers = ProviderConfig {
        simulation: Simulation::WithoutCredentials(SimulatedOutbox::default()),
        ..ProviderConfig::default()
    };
    let system = clock.clone();
    let settings = ModelSettings {
        base_url: "http://127.0.0.1:9".to_owned(),
        other_base_urls: std::array::from_fn(|_| "http://127.0.0.1:9".to_owned()),
        simulated_latency: Duration::ZERO,
        transcription: TranscriptionSettings::default(),
        embeddings: EmbeddingSettings::default(),
        calendar: GoogleCalendarConfig::default(),
        documents: DocumentSettings::default(),
        knowledge_kept_bytes: 0,
    };
    let llm = Model::new(http.clone(), &settings, TestSecrets, system.clone());
    Components::new(
        store.clone(),
        store.clone(),
        WhatsApp::new(http, TestSecrets, system.clone(), providers),
        llm.unwrap(),
        system,
        &FEATURES,
        Settings::default(),
    )
}

fn store() -> Embedded {
    Embedded::in_memory(Clock::from_system()).unwrap()
}

async fn configure(store: &Embedded, destination: &Value) {
    let mut named = destination.clone();
    named["id"] = json!("pager");
    let alerts: AlertConfig = serde_json::from_value(json!({ "destinations": [named] })).unwrap();
    let document = ConfigDocument {
        alerts: Some(alerts),
        ..ConfigDocument::default()
    };
    let known = succeed(load_configuration(store, None)).await;
    document.validate_against(&known).unwrap();
    succeed(put_configuration(store, &document)).await;
}

async fn list_notifications(store: &Embedded, state: NotificationState) -> Vec<Notification> {
    let found = succeed(notifications::list_notifications(store, None, state, 10)).await;
    found.into_iter().map(|found| found.record).collect()
}

/// Runs one pass of deliveries, as each minute does.
async fn deliver(deps: &TestDeps) -> DeliveryReport {
    let notifier = Notifier::new(deps, build_http_client().unwrap(), TestSecrets);
    let notifier = notifier.with_timeout(Duration::from_millis(500));
    succeed(deliver_notifications(&deps.store, &deps.system, &notifier)).await
}

const DELIVERED: DeliveryReport = DeliveryReport {
    delivered: 1,
    failed: 0,
    given_up: 0,
};
const FAILED: DeliveryReport = DeliveryReport {
    delivered: 0,
    failed: 1,
    given_up: 0,
};
const NOTHING: DeliveryReport = DeliveryReport {
    delivered: 0,
    failed: 0,
    given_up: 0,
};

/// What a receiver gets of each alert that a body tells.
fn alerts_of(body: &str) -> Vec<(String, AlertKind, AlertSeverity, AlertState)> {
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["type"], "alerts.changed");
    let read = |alert: &Value| {
        let word = |name: &str| alert[name].clone();
        (
            alert["id"].as_str().unwrap().to_owned(),
            serde_json::from_value(word("kind")).unwrap(),
            serde_json::from_value(word("severity")).unwrap(),
            serde_json::from_value(word("state")).unwrap(),
        )
    };
    body["data"]["alerts"]
        .as_array()
        .unwrap()
        .iter()
        .map(read)
        .collect()
}

#[tokio::test]
async fn two_alerts_reach_a_receiver_that_fails_first_each_once_and_once_when_it_is_over() {
    let receiver = Receiver::start(vec![Does::Answers(500), Does::Hangs, Does::Answers(204)]).await;
    let store = store();
    let scene = AlertStory::begin(&store).await;
    configure(
        &store,
        &json!({"webhook": {"url": receiver.url, "secret": "env:RECADO_ALERT_A"}}),
    )
    .await;
    let deps = deps(&store, &scene.clock);
    succeed(scene.evaluate()).await;
    scene.queue_holds(101);
    let dead: Vec<_> = (0..11).map(|_| scene.fixture.dead_letter()).collect();
    for one in &dead {
        succeed(put_dead_letter(&store, one)).await;
    }
    for expected in [FAILED, FAILED, NOTHING, DELIVERED] {
        scene.clock.pass_minutes(1);
        succeed(scene.evaluate()).await;
        assert_eq!(deliver(&deps).await, expected);
    }
    let tries = receiver.requests();
    assert_eq!(tries.len(), 3);
    for tried in &tries {
        tried.check_signature(SECRET);
        assert_eq!(
            (tried.header("webhook-id"), &tried.body),
            (tries[0].header("webhook-id"), &tries[0].body)
        );
    }
    let first = alerts_of(&tries[2].body);
    assert_eq!(
        first.len(),
        2,
        "the installation's and the instance's; the depth must hold for longer"
    );
    let dead_letters = (AlertKind::DeadLetters, AlertState::Firing);
    assert!(first.iter().all(|alert| (alert.1, alert.3) == dead_letters));
    for expected in [NOTHING, DELIVERED] {
        scene.clock.pass_minutes(1);
        succeed(scene.evaluate()).await;
        assert_eq!(deliver(&deps).await, expected);
    }
    scene.queue_holds(0);
    for one in &dead {
        let removed = remove_dead_letter(&store, &one.id, one.at);
        assert!(succeed(removed).await);
    }
    for expected in [DELIVERED, NOTHING] {
        scene.clock.pass_minutes(1);
        succeed(scene.evaluate()).await;
        assert_eq!(deliver(&deps).await, expected);
    }
    let told = receiver.requests();
    assert_eq!(told.len(), 5);
    let (depth, over) = (alerts_of(&told[3].body), alerts_of(&told[4].body));
    assert_eq!(
        (depth[0].1, depth[0].3),
        (AlertKind::QueueDepth, AlertState::Firing)
    );
    assert_eq!(over.len(), 3);
    assert!(over.iter().all(|alert| alert.3 == AlertState::Ended));
    let is_over = |id: &String| over.iter().any(|alert| alert.0 == *id);
    assert!(is_over(&depth[0].0) && first.iter().all(|alert| is_over(&alert.0)));
}

#[tokio::test]
async fn nobody_is_told_that_an_alert_is_over_before_it_is_told_that_it_began() {
    let receiver = Receiver::start(vec![Does::Answers(500), Does::Answers(500), Does::Answers(200)]).await;
    let store = store();
    let scene = AlertStory::begin(&store).await;
    configure(
        &store,
        &json!({"webhook": {"url": receiver.url, "secret": "env:RECADO_ALERT_A"}}),
    )
    .await;
    let deps = deps(&store, &scene.clock);
    succeed(scene.evaluate()).await;
    let dead: Vec<_> = (0..11).map(|_| scene.fixture.dead_letter()).collect();
    for one in &dead {
        succeed(put_dead_letter(&store, one)).await;
    }
    scene.clock.pass_minutes(1);
    succeed(scene.evaluate()).await;
    assert_eq!(deliver(&deps).await, FAILED);
    for one in &dead {
        let removed = remove_dead_letter(&store, &one.id, one.at);
        assert!(succeed(removed).await);
    }
    for expected in [FAILED, NOTHING, DELIVERED, DELIVERED, NOTHING] {
        scene.clock.pass_minutes(1);
        succeed(scene.evaluate()).await;
        assert_eq!(deliver(&deps).await, expected);
    }
    let told = receiver.requests();
    let states: Vec<AlertState> = told
        .iter()
        .flat_map(|request| alerts_of(&request.body))
        .map(|alert| alert.3)
        .collect();
    let (firing, ended) = (AlertState::Firing, AlertState::Ended);
    // Each time the installation's and the instance's.
    assert_eq!(
        states,
        [firing, firing, firing, firing, firing, firing, ended, ended]
    );
}

#[tokio::test]
async fn what_is_never_taken_is_a_dead_letter_that_can_be_redriven() {
    let receiver = Receiver::start(vec![Does::Answers(500)]).await;
    let store = store();
    let scene = AlertStory::begin(&store).await;
    configure(
        &store,
        &json!({"webhook": {"url": receiver.url, "secret": "env:RECADO_ALERT_A"}}),
    )
    .await;
    let deps = deps(&store, &scene.clock);
    succeed(add_test_notifications(&deps, &Caller::installation(), None)).await;
    for _ in 0..11 {
        assert_eq!(deliver(&deps).await, FAILED);
        scene.clock.pass_minutes(120);
    }
    let given_up = DeliveryReport {
        given_up: 1,
        ..NOTHING
    };
    assert_eq!(deliver(&deps).await, given_up);
    scene.clock.pass_minutes(10_000);
    assert_eq!(deliver(&deps).await, NOTHING);
    let dead = list_notifications(&store, NotificationState::Dead).await;
    assert_eq!(
        (dead.len(), dead[0].last_error.as_deref()),
        (1, Some("it answered 500"))
    );
    receiver.now_does(Does::Answers(200));
    assert!(
        redrive_notification(&deps, &Caller::installation(), "no-such")
            .await
            .is_err()
    );
    succeed(redrive_notification(&deps, &Caller::installation(), &dead[0].id)).await;
    assert_eq!(deliver(&deps).await, DELIVERED);
    assert_eq!(receiver.requests().len(), 13);
    assert!(
        redrive_notification(&deps, &Caller::installation(), &dead[0].id)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_missing_secret_is_named_and_its_absence_can_be_mended() {
    let receiver = Receiver::start(vec![Does::Answers(200)]).await;
    let store = store();
    let scene = AlertStory::begin(&store).await;
    configure(
        &store,
        &json!({"webhook": {"url": receiver.url, "secret": "env:RECADO_ALERT_MISSING"}}),
    )
    .await;
    let deps = deps(&store, &scene.clock);
    succeed(add_test_notifications(
        &deps,
        &Caller::installation(),
        Some("pager"),
    ))
    .await;
    assert!(
        add_test_notifications(&deps, &Caller::installation(), Some("other"))
            .await
            .is_err()
    );
    assert_eq!(deliver(&deps).await, FAILED);
    let pending = list_notifications(&store, NotificationState::Pending).await;
    let why = pending[0].last_error.as_deref();
    assert_eq!(why, Some("the secret env:RECADO_ALERT_MISSING is not set"));
    configure(
        &store,
        &json!({"webhook": {"url": receiver.url, "secret": "env:RECADO_ALERT_A"}}),
    )
    .await;
    scene.clock.pass_minutes(1);
    assert_eq!(deliver(&deps).await, DELIVERED);
    let told = receiver.requests();
    assert!(
        told[0].body.contains("\"type\":\"alerts.test\""),
        "{}",
        told[0].body
    );
}

#[tokio::test]
async fn a_url_that_redirects_gets_nothing_sent_on() {
    let elsewhere = Receiver::start(vec![Does::Answers(200)]).await;
    let receiver = Receiver::start(vec![Does::Redirects(elsewhere.url.clone())]).await;
    let store = store();
    let scene = AlertStory::begin(&store).await;
    configure(
        &store,
        &json!({"webhook": {"url": receiver.url, "secret": "env:RECADO_ALERT_A"}}),
    )
    .await;
    let deps = deps(&store, &scene.clock);
    succeed(add_test_notifications(&deps, &Caller::installation(), None)).await;
    assert_eq!(deliver(&deps).await, FAILED);
    assert_eq!((receiver.requests().len(), elsewhere.requests().len()), (1, 0));
}

#[tokio::test]
async fn an_e_mail_is_taken_by_a_mail_server_that_is_busy_first() {
    let server = MailServer::start(1).await;
    let store = store();
    let scene = AlertStory::begin(&store).await;
    let email = json!({"server": server.url, "from": "recado@clinic.example", "to": ["ana@clinic.example", "bia@clinic.example"]});
    configure(&store, &json!({ "email": email })).await;
    let deps = deps(&store, &scene.clock);
    let made = succeed(add_test_notifications(&deps, &Caller::installation(), None)).await;
    assert_eq!(deliver(&deps).await, FAILED);
    let pending = list_notifications(&store, NotificationState::Pending).await;
    assert_eq!(
        pending[0].last_error.as_deref(),
        Some("the mail server answered 451")
    );
    scene.clock.pass_minutes(1);
    assert_eq!(deliver(&deps).await, DELIVERED);
    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].from, "<recado@clinic.example>");
    assert_eq!(mails[0].to, ["<ana@clinic.example>", "<bia@clinic.example>"]);
    let data = &mails[0].data;
    assert!(
        data.contains(&format!("Message-ID: <{}@clinic.example>", made[0].id)),
        "{data}"
    );
    assert!(
        data.contains("Subject: [Recado] TEST") && data.contains("nothing is wrong"),
        "{data}"
    );
}

#[tokio::test]
async fn a_whatsapp_message_is_stored_once_however_often_it_is_delivered() {
    let store = store();
    let scene = AlertStory::begin(&store).await;
    let instance = scene.fixture.instance().as_str().to_owned();
    configure(
        &store,
        &json!({"whatsapp": {"instance": instance, "to": "+55 11 91234-5678"}}),
    )
    .await;
    let deps = deps(&store, &scene.clock);
    succeed(add_test_notifications(&deps, &Caller::installation(), None)).await;
    let pending = list_notifications(&store, NotificationState::Pending).await;
    assert_eq!(deliver(&deps).await, DELIVERED);
    // The process died after the message was stored and before that was noted.
    let _ = succeed(commit_alerts(&store, &[], &[], &pending)).await;
    assert_eq!(deliver(&deps).await, DELIVERED);
    let page = PageRequest::first(10);
    let found = succeed(store.search_conversations(&ConversationFilter::default(), &page)).await;
    assert_eq!(found.items.len(), 1);
    let messages = succeed(store.list_messages(&found.items[0].id, &page)).await;
    assert_eq!(messages.items.len(), 1);
    let text = messages.items[0].content.render_text();
    assert!(
        text.contains("TEST") && text.contains("nothing is wrong"),
        "{text}"
    );
    assert!(deps.system.now() > recado_testkit::builders::BASE);
}
