//! 360dialog's webhooks.

use crate::tests::webhooks::meta_body;
use crate::tests::{Answered, Site, secret_at, signature};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::config::ConfigDocument;
use recado_domain::provider::Provider;
use recado_domain::secret::hmac_sha256;
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::Instant;
use tower::ServiceExt;

const NUMBER: &str = "100000000000001";
const OTHER: &str = "100000000000002";
const PLAIN: &str = "/webhooks/360dialog";
const NAMED: &str = "/webhooks/360dialog/100000000000001";

fn secret(number: &str) -> String {
    secret_at(Provider::Dialog360, "master", number)
}

fn basic(password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("recado:{password}")))
}

fn value() -> Value {
    json!({
        "contacts": [{"profile": {"name": "Bia"}, "wa_id": "5511900000001"}],
        "messages": [{"from": "5511900000001", "id": "wamid.HBgNAAAA", "timestamp": "1760000000", "type": "text",
                      "text": {"body": "bom dia"}}],
    })
}

async fn post(path: &str, headers: &[(&str, &str)], body: &Value) -> Answered {
    Site::in_memory()
        .ask("POST", path, headers, body.to_string())
        .await
}

fn taken(answered: &Answered) {
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    assert_eq!(answered.body["events"], 1, "{}", answered.text);
}

#[tokio::test]
async fn a_cloud_number_is_proven_by_header_or_basic_on_either_route() {
    let (secret, basic) = (secret(NUMBER), basic(&secret(NUMBER)));
    for path in [
        PLAIN,
        NAMED,
        "/deliver/webhook",
        "/deliver/webhook/100000000000001",
        "/wa/webhook",
        "/wa/webhook/100000000000001",
    ] {
        for proof in [
            ("x-recado-webhook-secret", secret.as_str()),
            ("authorization", basic.as_str()),
        ] {
            taken(&post(path, &[proof], &meta_body(&value())).await);
        }
    }
}

#[tokio::test]
async fn a_delivery_apis_plain_words_are_taken_at_its_own_path() {
    let body = json!({"messages": [{"id": "msg_123", "from": "+5215550000000", "text": "confirm"}]});
    let proof = ("x-recado-webhook-secret", secret(NUMBER));
    let proof = [(proof.0, proof.1.as_str())];
    taken(&post("/deliver/webhook/100000000000001", &proof, &body).await);
    let nameless = post("/deliver/webhook", &proof, &body).await;
    assert_eq!(nameless.status, StatusCode::BAD_REQUEST, "{}", nameless.text);
}

/// A site with these numbers of 360dialog from before there were salts, the first of which has a secret of this version.
async fn configured(numbers: &[&str], version: u8) -> Site {
    let site = Site::in_memory();
    let instances: Vec<Value> = numbers
        .iter()
        .enumerate()
        .map(|(place, external)| {
            json!({"id": format!("n-{place}"), "tenant": "t", "agent": "a", "provider": "360dialog",
                "external_id": external, "secret_version": if place == 0 { version } else { 1 }})
        })
        .collect();
    let document = json!({"tenants": [{"id": "t"}], "instances": instances,
        "agents": [{"id": "a", "tenant": "t", "model": "m", "system_prompt": "p"}]});
    let document: ConfigDocument = serde_json::from_value(document).unwrap();
    succeed(put_configuration(&site.store, &document)).await;
    site
}

#[tokio::test]
async fn a_body_without_a_number_speaks_for_the_number_whose_secret_proves_it() {
    let site = configured(&[NUMBER, OTHER], 1).await;
    let mut contact = 0;
    for path in [PLAIN, "/deliver/webhook", "/wa/webhook"] {
        for number in [NUMBER, OTHER] {
            let (secret, basic) = (secret(number), basic(&secret(number)));
            for proof in [
                ("x-recado-webhook-secret", secret.as_str()),
                ("authorization", basic.as_str()),
            ] {
                let mut body = value();
                body["messages"][0]["id"] = json!(format!("wamid.{path}{}", proof.0));
                // Each of another contact: a contact's next job waits for the one before.
                contact += 1;
                body["messages"][0]["from"] = json!(format!("55119000001{contact:02}"));
                let answered = site.ask("POST", path, &[proof], body.to_string()).await;
                taken(&answered);
                assert_eq!(site.jobs().await, [number], "{path}");
            }
        }
        for wrong in [secret("100000000000003"), "x".to_owned()] {
            let proof = [("x-recado-webhook-secret", wrong.as_str())];
            let refused = site.ask("POST", path, &proof, value().to_string()).await;
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
        }
        let refused = site.ask("POST", path, &[], value().to_string()).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
    }
}

#[tokio::test]
async fn a_replaced_secret_proves_no_body_without_a_number() {
    let site = configured(&[NUMBER], 3).await;
    let header = secret(NUMBER);
    let proof = [("x-recado-webhook-secret", header.as_str())];
    let refused = site.ask("POST", PLAIN, &proof, value().to_string()).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{}", refused.text);
}

#[tokio::test]
async fn a_partners_body_without_a_number_speaks_for_the_only_one() {
    let body = value().to_string();
    let mac = hex::encode(hmac_sha256(b"platform-secret", body.as_bytes()));
    let proof = [("x-360dialog-signature", mac.as_str())];
    let one = configured(&[NUMBER], 1).await;
    taken(&one.ask("POST", PLAIN, &proof, body.clone()).await);
    let two = configured(&[NUMBER, OTHER], 1).await;
    let refused = two.ask("POST", PLAIN, &proof, body).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
}

#[tokio::test(start_paused = true)]
async fn it_is_answered_before_it_hangs_up_also_when_that_is_a_refusal() {
    let never = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, Infallible>>());
    let request = Request::post(PLAIN).body(never).unwrap();
    let begun = Instant::now();
    let answer = Site::in_memory().sides().0.oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers().contains_key("retry-after"));
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(5),
        "360dialog's own patience: {took:?}"
    );
}

#[tokio::test]
async fn the_secret_of_the_master_before_still_opens() {
    let old = secret_at(Provider::Dialog360, "old-master", NUMBER);
    taken(&post(PLAIN, &[("x-recado-webhook-secret", &old)], &meta_body(&value())).await);
}

#[tokio::test]
async fn a_rotation_makes_another_secret_for_one_number_alone() {
    let site = Site::in_memory();
    let number = |id: &str, external: &str, version: u8| {
        json!({"id": id, "tenant": "t", "agent": "a", "provider": "360dialog", "external_id": external,
            "secret_version": version})
    };
    let document = |version| {
        json!({"tenants": [{"id": "t"}], "agents": [{"id": "a", "tenant": "t", "model": "m", "system_prompt": "p"}],
            "instances": [number("first", NUMBER, version), number("second", OTHER, 1)]})
    };
    let told = async |version| {
        let answered = site.operate("PUT", "/v1/config", &document(version)).await;
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
        [0, 1].map(|at| {
            answered.body["instances"][at]["secret"]
                .as_str()
                .unwrap()
                .to_owned()
        })
    };
    let before = told(1).await;
    assert_eq!(told(2).await, before, "a document makes no version");
    let rotated = site
        .operate("POST", "/v1/instances/first/secret/rotate", &Value::Null)
        .await;
    let after = told(1).await;
    assert_eq!(rotated.body["secret"], after[0]);
    assert!(after[0] != before[0] && after[1] == before[1]);
    for proof in [&after[0], &before[0]] {
        let headers = [("x-recado-webhook-secret", proof.as_str())];
        let body = meta_body(&value()).to_string();
        let answered = site.ask("POST", PLAIN, &headers, body).await;
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    }
    let shown = site.operate("GET", "/v1/config", &Value::Null).await;
    assert_eq!(shown.body["document"]["instances"][0]["secret_version"], 2);
    let refused = site.operate("PUT", "/v1/config", &document(10)).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
}

#[tokio::test]
async fn without_a_proof_or_with_a_wrong_one_nothing_is_taken() {
    let body = meta_body(&value());
    let (other, evolution) = (secret(OTHER), secret_at(Provider::Evolution, "master", NUMBER));
    let (wrong, bearer) = (basic(&other), format!("Bearer {}", secret(NUMBER)));
    let hub = signature(body.to_string().as_bytes());
    for path in [PLAIN, NAMED] {
        for headers in [
            &[][..],
            &[("x-recado-webhook-secret", other.as_str())],
            &[("x-recado-webhook-secret", evolution.as_str())],
            &[("x-recado-webhook-secret", "")],
            &[("authorization", wrong.as_str())],
            &[("authorization", bearer.as_str())],
            &[("x-360dialog-signature", hub.as_str())],
            // Meta's, under its own app's secret: 360dialog's is another's.
            &[("x-hub-signature-256", hub.as_str())],
        ] {
            let answered = post(path, headers, &body).await;
            assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "{path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn one_numbers_secret_does_not_write_in_anothers_name() {
    let mut body = meta_body(&value());
    let mut change = body["entry"][0]["changes"][0].clone();
    change["value"]["metadata"]["phone_number_id"] = json!(OTHER);
    body["entry"][0]["changes"].as_array_mut().unwrap().push(change);
    let answered = post(PLAIN, &[("x-recado-webhook-secret", &secret(NUMBER))], &body).await;
    assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "{}", answered.text);
}

#[tokio::test]
async fn an_on_premise_body_needs_its_number_in_the_url() {
    let header = secret(NUMBER);
    let proof = [("x-recado-webhook-secret", header.as_str())];
    taken(&post(NAMED, &proof, &value()).await);
    let nameless = post(PLAIN, &proof, &value()).await;
    assert_eq!(nameless.status, StatusCode::BAD_REQUEST);
    assert!(
        nameless.body["detail"]
            .as_str()
            .unwrap()
            .contains("/webhooks/360dialog/{number}")
    );
    let another = post("/webhooks/360dialog/100000000000002", &proof, &value()).await;
    assert_eq!(another.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_repeated_webhook_is_answered_200_again() {
    let site = Site::in_memory();
    let header = secret(NUMBER);
    for _ in 0..2 {
        let answered = site
            .ask(
                "POST",
                NAMED,
                &[("x-recado-webhook-secret", &header)],
                value().to_string(),
            )
            .await;
        taken(&answered);
    }
}

#[tokio::test]
async fn a_partners_signature_opens_too() {
    let body = meta_body(&value());
    let mac = hex::encode(hmac_sha256(b"platform-secret", body.to_string().as_bytes()));
    taken(&post(PLAIN, &[("x-360dialog-signature", &mac)], &body).await);
}

#[tokio::test]
async fn what_is_no_webhook_is_400_and_what_is_of_no_use_is_acknowledged() {
    let header = secret(NUMBER);
    let proof = [("x-recado-webhook-secret", header.as_str())];
    for path in [PLAIN, NAMED] {
        for rubbish in ["", "hello", "{\"messages\":"] {
            let answered = Site::in_memory()
                .ask("POST", path, &proof, rubbish.to_owned())
                .await;
            assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{path} {rubbish}");
        }
    }
    for useless in [json!({"event": "channel_created"}), json!([]), json!("x")] {
        let answered = post(NAMED, &proof, &useless).await;
        let found = (answered.status, &answered.body["ignored"]);
        assert_eq!(found, (StatusCode::OK, &json!(1)), "{useless}");
        // No number is named, neither there nor here.
        let nowhere = post(PLAIN, &proof, &useless).await;
        assert_eq!(nowhere.status, StatusCode::BAD_REQUEST, "{useless}");
    }
    let bad = Site::in_memory()
        .ask("POST", "/webhooks/360dialog/a%00b", &proof, value().to_string())
        .await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn without_the_master_secret_it_is_not_set_up() {
    let answered = Site::in_memory()
        .without_keys()
        .ask("POST", NAMED, &[], value().to_string())
        .await;
    assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE);
}
