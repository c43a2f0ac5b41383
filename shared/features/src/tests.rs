//! Requests over HTTP: real routers over the real embedded store, one request at a time.

mod annotations;
mod api;
mod apps;
mod attacks;
mod catching_up;
mod changes;
mod config;
mod console_sessions;
mod contacts;
mod contents;
mod credentials;
mod dead_letters;
mod description;
mod dialog360;
mod dying;
mod effects;
mod entries;
mod events;
mod files;
mod forged;
mod given_up;
mod handed_names;
mod health;
mod invitations;
mod known_answers;
mod message_changes;
mod metrics;
mod notices;
mod opt_outs;
mod outages;
mod privacy;
mod recording;
mod roles;
mod sends;
mod simulator;
mod stand_ins;
mod strangers;
mod test_providers;
mod tokens;
mod traces;
mod trends;
mod unsteady;
mod usage;
mod webhook_endpoints;
mod webhooks;
mod wrong_bodies;
mod wrong_webhooks;

use crate::FEATURES;
use crate::routes::{api_router, api_routes};
use crate::tests::description::{check_agreement, description};
use crate::tests::stand_ins::{FixedKeys, NotCalled, SetDepths};
use crate::tests::test_providers::TestProviders;
use crate::tests::unsteady::Unsteady;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, Request, StatusCode};
use recado_domain::config::ConfigDocument;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::MessageContext;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::InboundJob;
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{ConversationId, CorrelationId, ExternalId};
use recado_domain::message::{Message, Role};
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, SecretParts, SecretVersion, derive_webhook_secret, hmac_sha256};
use recado_embedded::{Clock, Embedded, EmbeddedSystem};
use recado_http::{
    ApiOptions, EventFeed, HealthProbe, Keys, LoopWatchdog, MetricsPage, WebhookKeys, WebhookLimits,
    accept_extra_slashes, webhook_router, webhook_routes, whole_router,
};
use recado_pipeline::ports::{CommitOutcome, Conversations};
use recado_pipeline::records::configuration::{find_config_by_external, put_configuration};
use recado_pipeline::{Components, Deps, Settings};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use recado_whatsapp::SimulatedOutbox;
use recado_whatsapp::list_named_keys;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;

pub(crate) const TOKEN: &str = "operator-token-1-of-32-characters";
pub(crate) const METRICS_TOKEN: &str = "metrics-token-1-of-32-characters";
pub(crate) const BYTES_MAX: usize = 64 * 1024;
const LIMITS: WebhookLimits = WebhookLimits { bytes_max: BYTES_MAX };

/// An installation.
pub(crate) struct Site {
    pub(crate) store: Embedded,
    pub(crate) queues: Unsteady,
    pub(crate) settings: Settings,
    pub(crate) depths: SetDepths,
    pub(crate) providers: TestProviders,
    health_probe: HealthProbe,
    keys: FixedKeys,
    simulator: Option<SimulatedOutbox>,
    public_url: Option<String>,
    metrics: Option<MetricsPage>,
    event_feed: Option<EventFeed>,
    publishes_events: bool,
}

impl Site {
    pub(crate) fn in_memory() -> Self {
        Self::over(Embedded::in_memory(Clock::from_system()).unwrap())
    }

    /// Configures the tenants, agents and instances of these fixtures.
    pub(crate) async fn configure_fixtures(&self, fixtures: impl IntoIterator<Item = &Fixture>) {
        let mut configured = ConfigDocument::default();
        for fixture in fixtures {
            let document = fixture.document();
            configured.tenants.extend(document.tenants);
            configured.agents.extend(document.agents);
            configured.instances.extend(document.instances);
        }
        succeed(put_configuration(&self.store, &configured)).await;
    }

    pub(crate) fn over(store: Embedded) -> Self {
        let secret = |text| Secret::new(text).unwrap();
        let mut webhook = WebhookKeys::default().with_masters(vec![secret("master"), secret("old-master")]);
        for key in list_named_keys() {
            let text = match key.setting {
                "META_APP_SECRET" => "app-secret",
                "META_VERIFY_TOKEN" => "verify-me",
                _ => "platform-secret",
            };
            webhook.set_named_secrets(key, Some(&secret(text)));
        }
        let keys = FixedKeys {
            webhook: Arc::new(webhook),
            token: Some(secret(TOKEN)),
            metrics: Some(secret(METRICS_TOKEN)),
        };
        Self {
            queues: Unsteady::over(store.clone()),
            store,
            settings: Settings::default(),
            depths: SetDepths::default(),
            providers: TestProviders::NotCalled,
            health_probe: HealthProbe::on_request(),
            keys,
            simulator: None,
            public_url: None,
            metrics: None,
            event_feed: None,
            publishes_events: true,
        }
    }

    pub(crate) fn without_keys(mut self) -> Self {
        self.keys = FixedKeys {
            webhook: Arc::default(),
            token: None,
            metrics: None,
        };
        self
    }

    pub(crate) fn simulating(mut self, outbox: SimulatedOutbox) -> Self {
        self.simulator = Some(outbox);
        self
    }

    pub(crate) fn showing_metrics(mut self, page: MetricsPage) -> Self {
        self.metrics = Some(page);
        self
    }

    pub(crate) fn with_event_feed(mut self, feed: EventFeed) -> Self {
        self.event_feed = Some(feed);
        self
    }

    pub(crate) fn publishing_no_events(mut self) -> Self {
        self.publishes_events = false;
        self
    }

    pub(crate) fn at(mut self, public_url: &str) -> Self {
        self.public_url = Some(public_url.to_owned());
        self
    }

    pub(crate) fn with_health_probe(mut self, health_probe: HealthProbe) -> Self {
        self.health_probe = health_probe;
        self
    }

    pub(crate) fn watchdog(&self) -> &LoopWatchdog {
        self.health_probe.watchdog()
    }

    /// Proves a write, as the process does by itself.
    pub(crate) async fn probe_health(&self) {
        self.health_probe.probe_store(&self.deps(), &self.depths).await;
    }

    /// The names of the instances of what was enqueued on `inbound`.
    pub(crate) async fn jobs(&self) -> Vec<String> {
        let batch = self
            .store
            .receive_messages(QueueName::Inbound, 10, Duration::from_secs(30));
        let jobs = batch.await.unwrap().into_iter();
        let jobs = jobs.map(|job| serde_json::from_str::<InboundJob>(&job.body).unwrap());
        jobs.map(|job| job.external.as_str().to_owned()).collect()
    }

    pub(crate) fn deps(&self) -> Arc<Deps> {
        let world = Components::new(
            self.store.clone(),
            self.queues.clone(),
            self.providers.clone(),
            NotCalled,
            EmbeddedSystem,
            &FEATURES,
            self.settings.clone(),
        );
        world.deps
    }

    fn options(&self) -> ApiOptions {
        ApiOptions {
            public_url: self.public_url.clone(),
            listening_url: Some("http://127.0.0.1:8080".to_owned()),
            simulator: self.simulator.clone(),
            metrics: self.metrics.clone(),
            depths: Arc::new(self.depths.clone()),
            health_probe: self.health_probe.clone(),
            asks_models: false,
            provider_setup: Some(stand_ins::set_up_nothing()),
            event_feed: self.event_feed.clone(),
            publishes_events: self.publishes_events,
            push_ticket_issuer: Some(stand_ins::make_push_tickets()),
            endpoint_posts: Some(Arc::new(stand_ins::Accepting)),
            applies_file: true,
        }
    }

    /// The webhook's router and the API's, as on AWS.
    pub(crate) fn sides(&self) -> (Router, Router) {
        let keys: Arc<dyn Keys> = Arc::new(self.keys.clone());
        (
            webhook_router(self.deps(), Arc::clone(&keys), LIMITS),
            api_router(self.deps(), keys, self.options()),
        )
    }

    /// Sends a request to both sides in one.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answered {
        ask_of(self.router_with(LIMITS), method, path, headers, body).await
    }

    pub(crate) fn router_with(&self, limits: WebhookLimits) -> Router {
        accept_extra_slashes(self.routes_with(limits))
    }

    /// The same, which takes no slashes too many: its routes can be seen.
    pub(crate) fn routes_with(&self, limits: WebhookLimits) -> Router {
        let keys: Arc<dyn Keys> = Arc::new(self.keys.clone());
        let webhook = webhook_routes(self.deps(), Arc::clone(&keys), limits);
        whole_router(
            webhook,
            api_routes(self.deps(), keys, self.options()),
            self.deps(),
        )
    }

    /// The same as an operator.
    pub(crate) async fn operate(&self, method: &str, path: &str, body: &Value) -> Answered {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.ask(
            method,
            path,
            &[("authorization", &format!("Bearer {TOKEN}"))],
            body,
        )
        .await
    }

    /// Configures one tenant with an instance at each provider.
    pub(crate) async fn configured(self) -> Self {
        put_configuration(&self.store, &document()).await.unwrap();
        self
    }

    /// A conversation with one message of the contact.
    pub(crate) async fn conversation(&self, contact: &str) -> ConversationId {
        let bound = succeed(find_config_by_external(
            &self.store,
            Provider::Evolution,
            &ExternalId::parse("suporte-01").unwrap(),
        ))
        .await
        .unwrap();
        let address = ContactAddress::parse(contact).unwrap();
        let key = succeed(self.store.keep_identity_key(&|| IdentityKey::from_bytes([7; 32]))).await;
        let id = ConversationId::new(key.derive_thread_id(&bound.instance.id, address.as_str()), 1);
        let now = Clock::from_system().now();
        let mut conversation = Conversation::start_new(id.clone(), &bound, address, None, now);
        conversation.update_contact_details(Some("Bia"), None);
        let ordinal = conversation.receive_message(true, now).unwrap();
        conversation.rev = 1;
        let message = Message {
            conversation: id.clone(),
            ordinal,
            tenant: bound.tenant.id.clone(),
            instance: bound.instance.id.clone(),
            role: Role::User,
            content: Content::from_text("bom dia"),
            context: MessageContext::default(),
            provider_message_id: Some("3EB0A1".to_owned()),
            written_at: now,
            told_at: None,
            stored_at: now,
            correlation: CorrelationId::parse("c-1").unwrap(),
            event: None,
            idempotency_key: None,
            unanswered: None,
            model: None,
            usage: None,
            changes: recado_domain::message::MessageChanges::default(),
            file: None,
            rev: 0,
            out: None,
        };
        assert_eq!(
            succeed(
                self.store
                    .commit_messages(&conversation, std::slice::from_ref(&message), &[])
            )
            .await,
            CommitOutcome::Committed
        );
        id
    }
}

/// Sends a request and checks what holds for every answer.
pub(crate) async fn ask_of(
    router: Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Answered {
    let body: Body = body.into();
    // A body of unknown length is passed on as it is: how it comes is what the test is about.
    let (sent, body) = match HttpBody::size_hint(&body).exact() {
        Some(_) => {
            let sent = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            (sent.clone(), Body::from(sent))
        }
        None => (Bytes::new(), body),
    };
    let answered = send_to(router, method, path, headers, body).await;
    check_agreement(description(), method, path, &sent, &answered);
    answered
}

async fn send_to(
    router: Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Answered {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "recado.example");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = router.oneshot(request.body(body.into()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let answered = Answered {
        status: parts.status,
        headers: parts.headers,
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    };
    assert!(answered.headers.contains_key("x-correlation-id"));
    assert_eq!(
        answered.header("x-content-type-options"),
        Some("nosniff"),
        "{path}"
    );
    assert_eq!(answered.header("cache-control"), Some("no-store"), "{path}");
    if answered.status.is_client_error() || answered.status.is_server_error() {
        answered.check_problem(path);
    }
    answered
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Answered {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    fn check_problem(&self, path: &str) {
        if self.body.get("timestamp").is_some() {
            return;
        }
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{path}: {}",
            self.text
        );
        assert_eq!(self.body["status"], self.status.as_u16(), "{path}");
        assert!(
            self.body["title"].is_string() && self.body["detail"].is_string(),
            "{path}"
        );
    }
}

pub(crate) fn document() -> ConfigDocument {
    serde_json::from_value(json!({
        "tenants": [{"id": "clinic", "time_zone": "America/Sao_Paulo"}],
        "agents": [{"id": "ana", "tenant": "clinic", "model": "claude-sonnet-4-5", "system_prompt": "You are Ana."}],
        "instances": [
            {"id": "suporte-01", "tenant": "clinic", "agent": "ana", "provider": "evolution"},
            {"id": "antiga", "tenant": "clinic", "agent": "ana", "provider": "evolution", "api_version": 1},
            {"id": "oficial", "tenant": "clinic", "agent": "ana", "provider": "meta",
             "external_id": "100000000000001"},
        ],
    }))
    .unwrap()
}

/// The webhook secret of an Evolution instance whose entry is from before there were salts, as those that a test stores.
pub(crate) fn secret_of(master: &str, instance: &str) -> String {
    secret_at(Provider::Evolution, master, instance)
}

pub(crate) fn secret_at(provider: Provider, master: &str, instance: &str) -> String {
    let (master, instance) = (Secret::new(master).unwrap(), ExternalId::parse(instance).unwrap());
    let parts = SecretParts {
        version: SecretVersion::FIRST,
        salt: None,
    };
    derive_webhook_secret(&master, provider, &instance, &parts)
        .expose_secret()
        .to_owned()
}

/// Meta's signature of `body`.
pub(crate) fn signature(body: &[u8]) -> String {
    signature_of("app-secret", body)
}

/// The signature of the app with this secret.
pub(crate) fn signature_of(app: &str, body: &[u8]) -> String {
    format!("sha256={}", hex::encode(hmac_sha256(app.as_bytes(), body)))
}
