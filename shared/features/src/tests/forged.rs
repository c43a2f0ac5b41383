//! One customer's proof against another's messages: what its statuses, failures and notices may say.

use crate::tests::test_providers::{TestProviders, TestSecrets};
use crate::tests::{Site, secret_at, signature};
use axum::http::StatusCode;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_embedded::Embedded;
use recado_pipeline::Deps;
use recado_pipeline::records::configuration::{load_configuration, put_configuration};
use recado_pipeline::{handle_outbound_message, process};
use recado_testkit::idle::Idle;
use recado_testkit::ports::succeed;
use recado_whatsapp::{ProviderConfig, SimulatedOutbox, Simulation};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

/// The attacker's number, of tenant `ta`.
const ATTACKER: &str = "100000000000011";
/// Numbers of tenant `tb`.
const PARTNERS: &str = "100000000000012";
const METAS: &str = "100000000000013";
/// The account of [`PARTNERS`].
const ACCOUNT: &str = "200000000000012";
const CONTACT: &str = "5511900000001";

/// Two tenants whose numbers are at two providers.
struct Town {
    site: Site,
    deps: Arc<Deps>,
}

impl Town {
    /// Sends of tenant `tb` are simulated; those to `nowhere`, if given, break after the provider has read them.
    async fn of(nowhere: Option<&str>) -> Self {
        let mut site = Site::in_memory();
        let numbers = [
            ("d-a", "ta", "360dialog", ATTACKER),
            ("d-b", "tb", "360dialog", PARTNERS),
            ("m-b", "tb", "meta", METAS),
        ];
        let instances = numbers.map(|(id, tenant, provider, external)| {
            let lost = nowhere.filter(|_| id == "d-b");
            let credential = lost.map(|_| "env:RECADO_CREDENTIAL_TB_LOST");
            json!({"id": id, "tenant": tenant, "agent": tenant, "provider": provider, "external_id": external,
                "starts_with_ai": false, "base_url": lost, "credential": credential,
                "account_id": (id == "d-b").then_some(ACCOUNT)})
        });
        let agents = ["ta", "tb"]
            .map(|id| json!({"id": id, "tenant": id, "model": "claude-sonnet-4-5", "system_prompt": "x"}));
        let document =
            json!({"tenants": [{"id": "ta"}, {"id": "tb"}], "agents": agents, "instances": instances});
        succeed(put_configuration(
            &site.store,
            &serde_json::from_value(document).unwrap(),
        ))
        .await;
        let config = ProviderConfig {
            simulation: Simulation::WithoutCredentials(SimulatedOutbox::default()),
            ..ProviderConfig::default()
        };
        site.providers = TestProviders::real(TestSecrets::Lost, config);
        let deps = site.deps();
        Self { site, deps }
    }

    /// Posts a body to a number of 360dialog with that number's own secret.
    async fn post_dialog360(&self, number: &str, body: &Value) -> Value {
        let secret = secret_at(Provider::Dialog360, "master", number);
        let proof = [("x-recado-webhook-secret", secret.as_str())];
        let answered = self
            .site
            .ask("POST", "/webhooks/360dialog", &proof, body.to_string())
            .await;
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
        answered.body
    }

    async fn post_meta(&self, body: &Value) {
        let body = body.to_string();
        let signed = signature(body.as_bytes());
        let proof = [("x-hub-signature-256", signed.as_str())];
        let answered = self.site.ask("POST", "/webhooks/meta", &proof, body).await;
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    }

    async fn work(&self) -> Vec<String> {
        work(&self.site.store, &self.deps).await
    }

    /// A message to a contact who has just written; its id.
    async fn sent_by(&self, instance: &str, number: &str) -> (String, Vec<String>) {
        let wrote = json!({"contacts": [{"profile": {"name": "Bia"}, "wa_id": CONTACT}],
            "messages": [{"from": CONTACT, "id": "wamid.IN", "timestamp": seconds(0), "type": "text",
                "text": {"body": "oi"}}]});
        match instance {
            "m-b" => self.post_meta(&body_of(number, &wrote)).await,
            _ => {
                self.post_dialog360(number, &body_of(number, &wrote)).await;
            }
        }
        self.work().await;
        let path = format!("/v1/instances/{instance}/messages");
        let text = json!({"to": format!("+{CONTACT}"), "text": "Seu exame está pronto."});
        let answered = self.site.operate("POST", &path, &text).await;
        assert_eq!(answered.status, StatusCode::ACCEPTED, "{}", answered.text);
        let unfinished = self.work().await;
        (answered.body["id"].as_str().unwrap().to_owned(), unfinished)
    }

    async fn message(&self, id: &str) -> Value {
        let answered = self
            .site
            .operate("GET", &format!("/v1/messages/{id}"), &Value::Null)
            .await;
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
        answered.body
    }

    async fn dead_letters(&self) -> Value {
        let answered = self.site.operate("GET", "/v1/dead-letters", &Value::Null).await;
        answered.body["items"].clone()
    }
}

/// Does what lies in the queues `inbound` and `outbound`, once; what of `outbound` is not finished.
pub(super) async fn work(store: &Embedded, deps: &recado_pipeline::Deps) -> Vec<String> {
    for queue in [QueueName::Inbound, QueueName::Outbound] {
        loop {
            let received = succeed(store.receive_messages(queue, 10, Duration::from_secs(60))).await;
            if received.is_empty() {
                break;
            }
            for one in received {
                let verdict = match queue {
                    QueueName::Inbound => process::process(deps, &one.body, 1).await,
                    _ => handle_outbound_message(deps, &Idle, &one.body, 1, None).await,
                };
                if verdict == recado_pipeline::Verdict::Done {
                    assert!(store.delete_received(&one.receipt).await.unwrap());
                } else {
                    assert_eq!(queue, QueueName::Outbound, "{verdict:?}");
                    return vec![one.body];
                }
            }
        }
    }
    Vec::new()
}

/// Seconds since 1970, so many from now.
fn seconds(ahead: i64) -> String {
    (crate::tests::dying::now().as_second() + ahead).to_string()
}

fn body_of(number: &str, value: &Value) -> Value {
    let mut value = value.clone();
    value["messaging_product"] = json!("whatsapp");
    value["metadata"] = json!({"phone_number_id": number});
    json!({"object": "whatsapp_business_account",
        "entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]})
}

fn status(word: &str, of: &str, id: Option<&str>) -> Value {
    json!({"statuses": [{"id": id, "status": word, "timestamp": seconds(2), "recipient_id": CONTACT,
        "biz_opaque_callback_data": of, "errors": [{"code": 131_026, "title": "Message undeliverable"}]}]})
}

/// What may change nothing: every status under another number's proof, with and without a provider's id.
async fn forge(town: &Town, message: &str) {
    for word in ["sent", "delivered", "read", "failed"] {
        for id in [None, Some("wamid.forged")] {
            let forged = body_of(ATTACKER, &status(word, message, id));
            town.post_dialog360(ATTACKER, &forged).await;
        }
    }
    town.work().await;
}

/// A status counts only for the provider and instance that its webhook's proof is for.
#[tokio::test]
async fn a_status_of_one_tenants_number_changes_nothing_of_anothers() {
    let town = Town::of(None).await;
    let (message, unfinished) = town.sent_by("d-b", PARTNERS).await;
    assert!(unfinished.is_empty());
    let before = town.message(&message).await;
    assert_eq!(before["status"], "sent", "{before}");
    forge(&town, &message).await;
    assert_eq!(town.message(&message).await, before);
    assert_eq!(town.dead_letters().await, json!([]));
    // Its own number is believed.
    town.post_dialog360(PARTNERS, &body_of(PARTNERS, &status("failed", &message, None)))
        .await;
    town.work().await;
    assert_eq!(town.message(&message).await["status"], "failed");
}

#[tokio::test]
async fn a_status_of_one_provider_changes_nothing_at_another() {
    let town = Town::of(None).await;
    let (message, _) = town.sent_by("m-b", METAS).await;
    let before = town.message(&message).await;
    assert_eq!(before["status"], "sent", "{before}");
    forge(&town, &message).await;
    // The attacker's number with 360dialog has the name of the victim's with Meta.
    let same = body_of(METAS, &status("failed", &message, None));
    town.post_dialog360(METAS, &same).await;
    town.work().await;
    assert_eq!(town.message(&message).await, before);
    // That one is an event of a number that nobody has; it says nothing of the message.
    let dead_letters = town.dead_letters().await;
    let reasons: Vec<&Value> = dead_letters
        .as_array()
        .unwrap()
        .iter()
        .map(|dead_letter| &dead_letter["reason"])
        .collect();
    assert_eq!(reasons, ["unknown_instance"], "{dead_letters}");
    town.post_meta(&body_of(METAS, &status("failed", &message, None)))
        .await;
    town.work().await;
    assert_eq!(town.message(&message).await["status"], "failed");
}

/// Reads requests and breaks their connections.
async fn breaking() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
        }
    });
    url
}

#[tokio::test]
async fn a_forged_status_is_no_evidence_for_an_unknown_send() {
    let town = Town::of(Some(&breaking().await)).await;
    let (message, unfinished) = town.sent_by("d-b", PARTNERS).await;
    let before = town.message(&message).await;
    assert_eq!(before["status"], "pending", "{before}");
    forge(&town, &message).await;
    for job in &unfinished {
        let _verdict = handle_outbound_message(&town.deps, &Idle, job, 2, None).await;
    }
    let after = town.message(&message).await;
    assert_eq!(after["status"], before["status"], "{after}");
    assert!(after["provider_message_id"].is_null(), "{after}");
    let genuine = body_of(PARTNERS, &status("sent", &message, Some("wamid.genuine")));
    town.post_dialog360(PARTNERS, &genuine).await;
    for job in &unfinished {
        let _verdict = handle_outbound_message(&town.deps, &Idle, job, 3, None).await;
    }
    let after = town.message(&message).await;
    assert_eq!(
        (&after["status"], &after["provider_message_id"]),
        (&json!("sent"), &json!("wamid.genuine")),
        "{after}"
    );
}

/// Gives the victim's number to the attacker's tenant.
async fn hand_over(town: &Town) {
    let mut document = load_configuration(&town.site.store, None).await.unwrap();
    for instance in &mut document.instances {
        let number = match instance.id.as_str() {
            "d-a" => PARTNERS,
            "d-b" => "100000000000019",
            _ => continue,
        };
        instance.external_id = Some(ExternalId::parse(number).unwrap());
    }
    put_configuration(&town.site.store, &document).await.unwrap();
}

#[tokio::test]
async fn whoever_gets_a_number_gets_no_say_over_the_messages_of_who_had_it() {
    let town = Town::of(None).await;
    let (message, _) = town.sent_by("d-b", PARTNERS).await;
    hand_over(&town).await;
    town.post_dialog360(PARTNERS, &body_of(PARTNERS, &status("failed", &message, None)))
        .await;
    town.work().await;
    assert_eq!(town.message(&message).await["status"], "sent");
    assert_eq!(town.dead_letters().await, json!([]));
}

/// Meta's word that an account is disabled, as a customer of 360dialog may write it.
fn disabled(account: &str, number: &str) -> Value {
    json!({"object": "whatsapp_business_account", "entry": [{"id": account, "time": 1_760_000_000,
        "changes": [{"field": "account_update", "value": {"event": "DISABLED_UPDATE",
            "metadata": {"phone_number_id": number}}}]}]})
}

#[tokio::test]
async fn a_numbers_secret_tells_of_its_own_account_only() {
    let town = Town::of(None).await;
    let notices = || {
        town.site
            .operate("GET", "/v1/instances/d-b/notices", &Value::Null)
    };
    let mut partner = disabled("x", ATTACKER);
    partner["entry"][0]["changes"][0]["value"]["waba_info"] = json!({"waba_id": ACCOUNT});
    for forged in [disabled(ACCOUNT, ATTACKER), partner] {
        let answered = town.post_dialog360(ATTACKER, &forged).await;
        assert_eq!(
            (&answered["notices"], &answered["ignored"]),
            (&json!(0), &json!(1))
        );
    }
    assert_eq!(notices().await.body, json!({"items": []}));
    let answered = town.post_dialog360(PARTNERS, &disabled(ACCOUNT, PARTNERS)).await;
    assert_eq!(answered["notices"], 1);
    assert_eq!(notices().await.body["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_partners_signature_tells_of_every_account() {
    let town = Town::of(None).await;
    let body = disabled(ACCOUNT, ATTACKER).to_string();
    let mac = hex::encode(recado_domain::secret::hmac_sha256(
        b"platform-secret",
        body.as_bytes(),
    ));
    let proof = [("x-360dialog-signature", mac.as_str())];
    let answered = town.site.ask("POST", "/webhooks/360dialog", &proof, body).await;
    assert_eq!(answered.body["notices"], 1, "{}", answered.text);
}
