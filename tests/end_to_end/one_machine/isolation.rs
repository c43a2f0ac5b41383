//! Whether one tenant's trouble is another's, told by the order of work and not by the clock: `make isolation` measures.

use crate::machine::{MASTER, Machine, PATIENCE, UNTIL_LET_GO, eventually, seconds};
use axum::http::HeaderMap;
use recado_ai::Simulated;
use recado_domain::config::CredentialRef;
use recado_domain::ids::CorrelationId;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_embedded::{Clock, Embedded, EmbeddedSystem};
use recado_features::FEATURES;
use recado_pipeline::ports::{PortResult, Secrets, System};
use recado_pipeline::{Components, Deps, Settings, ingest};
use recado_testkit::servers::{Behaviour, StandIn};
use recado_testkit::webhooks::{derived_secret, evolution_text};
use recado_whatsapp::webhook::{WebhookKeys, WebhookRequest};
use recado_whatsapp::{ProviderConfig, WhatsApp, webhook_handler};
use reqwest::{Method, StatusCode};
use rusqlite::Connection;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

const QUIET: &str = "quieta-01";
const OTHER: &str = "outra-01";

/// How many messages of another tenant lie in front of the quiet one's, each of a contact of its own.
const FLOOD: usize = 600;

/// How many messages the quiet tenant's contacts write.
const ASKED: usize = 20;

/// What of a flood may be done before the last of the quiet tenant's messages: one for each of them, and what workers may have
/// begun already, 60 for one owner at most. As many again end while a turn begins anew, because the picture of its contact was stored
/// after it was read. Ten for each would be 200.
const BETWEEN: usize = ASKED + 2 * HELD_MAX;

/// How many turns or sends of one owner are under way at once, at most: three quarters of 80.
const HELD_MAX: usize = 60;

/// Two tenants with an instance each, whose credentials are those of their own provider.
fn prepared(quiet: &StandIn, other: &StandIn) -> Machine {
    let mut machine = Machine::prepared(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    let mut document = String::new();
    for (instance, provider) in [(QUIET, quiet), (OTHER, other)] {
        let key = format!(
            "RECADO_CREDENTIAL_T_{}_KEY",
            instance.to_uppercase().replace('-', "_")
        );
        machine.set(&key, "customers-key");
        let url = provider.url();
        write!(
            document,
            r#"
            [[tenants]]
            id = "t-{instance}"
            [[agents]]
            id = "a-{instance}"
            tenant = "t-{instance}"
            model = "claude-sonnet-4-5"
            system_prompt = "p"
            [[instances]]
            id = "{instance}"
            tenant = "t-{instance}"
            agent = "a-{instance}"
            provider = "evolution"
            base_url = "{url}"
            credential = "env:{key}"
            rate = {{ per_second = 100.0, burst = 1000 }}
            "#
        )
        .unwrap();
    }
    machine.configure(&document);
    machine
}

#[derive(Debug, Clone, Copy)]
struct NoSecrets;

impl Secrets for NoSecrets {
    async fn resolve_secret(&self, _: &CredentialRef) -> PortResult<Option<Secret>> {
        Ok(None)
    }

    async fn forget_secret(&self, _: &CredentialRef) {}
}

/// What takes webhooks in, and works on nothing.
fn intake(store: &Embedded) -> Arc<Deps> {
    let world = Components::new(
        store.clone(),
        store.clone(),
        WhatsApp::new(
            recado_http_client::build_http_client().unwrap(),
            NoSecrets,
            EmbeddedSystem,
            ProviderConfig::default(),
        ),
        Simulated::new(EmbeddedSystem, Duration::ZERO),
        EmbeddedSystem,
        &FEATURES,
        Settings::default(),
    );
    world.deps
}

/// Takes in a text of a contact, as the webhook does.
async fn take(intake: &Deps, instance: &str, contact: usize) {
    let jid = format!("55119{contact:08}@s.whatsapp.net");
    let body = evolution_text(instance, &jid, &format!("{instance}{contact}"), "Oi", seconds()).to_string();
    let mut headers = HeaderMap::new();
    headers.insert(
        "apikey",
        derived_secret(MASTER, Provider::Evolution, instance)
            .parse()
            .unwrap(),
    );
    let request = WebhookRequest {
        path_params: &BTreeMap::new(),
        headers: &headers,
        body: body.as_bytes(),
    };
    let keys = WebhookKeys::default().with_masters(vec![Secret::new(MASTER).unwrap()]);
    let handler = webhook_handler(Provider::Evolution).unwrap();
    let items = handler
        .authenticate_and_parse(&request, &keys, EmbeddedSystem.now())
        .unwrap()
        .items;
    let correlation = CorrelationId::parse("isolation").unwrap();
    assert_eq!(
        ingest::ingest(intake, items, &correlation).await.unwrap().events,
        1
    );
}

/// How many messages of others were stored before the last of the quiet tenant's, of those in this role.
fn stored_before(machine: &Machine, role: &str) -> usize {
    let database = Connection::open(machine.data().join("recado.db")).unwrap();
    let sql = "SELECT c.instance FROM messages AS m JOIN conversations AS c ON c.id = m.conversation
        WHERE m.body ->> 'role' = ?1 ORDER BY m.rowid";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement
        .query_map([role], |row| row.get::<_, String>(0))
        .unwrap();
    let stored: Vec<String> = rows.map(Result::unwrap).collect();
    assert_eq!(stored.iter().filter(|instance| *instance == QUIET).count(), ASKED);
    let last = stored.iter().rposition(|instance| instance == QUIET).unwrap();
    last + 1 - ASKED
}

#[tokio::test]
async fn a_tenant_behind_anothers_flood_takes_turns_with_it() {
    let provider = StandIn::evolution();
    let mut machine = prepared(&provider, &provider);
    let store = Embedded::open_folder(&machine.data(), Clock::from_system()).unwrap();
    let intake = intake(&store);
    futures::future::join_all((0..FLOOD).map(|contact| take(&intake, OTHER, contact))).await;
    for contact in 0..ASKED {
        take(&intake, QUIET, contact).await;
    }
    drop(intake);
    store.shut_down().await;
    drop(store);
    machine.start("serve");
    let of_quiet = |phone: &[recado_testkit::servers::Delivered]| {
        phone.iter().filter(|message| message.instance == QUIET).count()
    };
    eventually("the quiet tenant's replies", || async {
        (of_quiet(&provider.phone()) == ASKED).then_some(())
    })
    .await;
    let phone = provider.phone();
    let last = phone
        .iter()
        .rposition(|message| message.instance == QUIET)
        .unwrap();
    let before = [
        stored_before(&machine, "user"),
        stored_before(&machine, "assistant"),
        last + 1 - ASKED,
    ];
    println!("of the flood, before the last of {ASKED}: applied, answered, sent {before:?}");
    assert!(before.iter().all(|before| *before <= BETWEEN), "{before:?}");
}

/// Asks the API for a message to a contact of this instance.
async fn send(machine: &Machine, instance: &str, contact: usize) {
    let body = json!({"to": format!("55119{contact:08}"), "text": format!("aviso {contact}")});
    let path = format!("/v1/instances/{instance}/messages");
    let (status, told) = machine.api(Method::POST, &path, Some(body)).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{told}");
}

/// A message that nobody can read lies in the queue of turns, past everything.
fn poison(machine: &Machine) {
    let database = Connection::open(machine.data().join("recado.db")).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let sql =
        "INSERT INTO queue_messages (queue, visible_at, sent_at, body) VALUES ('turns', 0, 0, '{ poison')";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
}

#[tokio::test]
async fn a_hung_provider_and_a_poisoned_queue_hold_no_other_tenant_up() {
    let (mine, hung) = (StandIn::evolution(), StandIn::evolution());
    hung.usually(Behaviour::Hang(UNTIL_LET_GO));
    let mut machine = prepared(&mine, &hung);
    machine.start("serve");
    poison(&machine);
    // More than workers could ever hold.
    futures::future::join_all((0..2 * HELD_MAX).map(|contact| send(&machine, OTHER, contact))).await;
    let held = hung.wait_for_requests(HELD_MAX, PATIENCE).await.len();
    // A send is given up after 20 seconds. Whoever waited for one of these would be answered after that.
    let mut meanwhile = 0;
    for contact in 0..ASKED {
        let jid = format!("55119{contact:08}@s.whatsapp.net");
        let body = evolution_text(QUIET, &jid, &format!("Q{contact}"), "Oi", seconds());
        assert_eq!(machine.evolution(&body).await, StatusCode::OK);
        assert_eq!(
            mine.wait_for_phone(contact + 1, PATIENCE).await.len(),
            contact + 1
        );
        meanwhile += usize::from(hung.given_up() == 0);
    }
    println!("{held} sends held, {meanwhile} of {ASKED} replies meanwhile");
    assert!(held >= HELD_MAX && meanwhile > 0, "{held} {meanwhile}");
    hung.let_go();
}
