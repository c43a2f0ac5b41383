//! `/v1/contacts`: a person is found, copied and erased; the contact stands in no path.

use crate::tests::Site;
use crate::tests::webhooks::evolution_message;
use axum::http::StatusCode;
use serde_json::{Value, json};

const TENANT: &str = "clinic";
const CONTACT: &str = "5511900000001@s.whatsapp.net";

async fn written_to() -> Site {
    let site = Site::in_memory().configured().await;
    let secret = crate::tests::secret_of("master", "suporte-01");
    let body = evolution_message().to_string();
    let answer = site
        .ask("POST", "/webhooks/evolution", &[("apikey", &secret)], body)
        .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    site.conversation(CONTACT).await;
    site
}

#[tokio::test]
async fn a_contact_is_found_exported_and_erased() {
    let site = written_to().await;
    let who = json!({"tenant": TENANT, "contact": "+55 11 90000-0001"});
    let found = site.operate("POST", "/v1/contacts/find", &who).await;
    assert_eq!(found.status, StatusCode::OK, "{}", found.text);
    let conversation = &found.body["items"][0]["conversations"][0];
    assert_eq!(conversation["erased_at"], Value::Null);
    let id = conversation["id"].as_str().unwrap().to_owned();
    let export = site.operate("POST", "/v1/contacts/export", &who).await;
    assert_eq!(export.status, StatusCode::OK);
    assert!(export.text.contains("5511900000001"), "{}", export.text);
    for _ in 0..2 {
        let erased = site.operate("POST", "/v1/contacts/erase", &who).await;
        assert_eq!(
            (erased.status, &erased.body["done"]),
            (StatusCode::OK, &json!(true))
        );
    }
    let path = format!("/v1/conversations/{id}");
    for path in [path.clone(), format!("{path}/messages")] {
        let gone = site.operate("GET", &path, &Value::Null).await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND, "{}", gone.text);
    }
    let taken = site.operate("PATCH", &path, &json!({"mode": "manual"})).await;
    assert_eq!(taken.status, StatusCode::NOT_FOUND);
    let listed = site.operate("GET", "/v1/conversations", &Value::Null).await;
    assert_eq!(listed.body["items"], json!([]));
    let found = site.operate("POST", "/v1/contacts/find", &who).await;
    assert!(
        found.body["items"][0]["conversations"][0]["erased_at"].is_string(),
        "{}",
        found.text
    );
    assert!(!found.text.contains("Bia"), "{}", found.text);
}

#[tokio::test]
async fn nobody_is_an_answer_and_what_names_nobody_is_refused() {
    let site = written_to().await;
    for (body, status) in [
        (
            json!({"tenant": TENANT, "contact": "+55 11 91111-1111"}),
            StatusCode::OK,
        ),
        (
            json!({"tenant": "nobody", "contact": "+55 11 90000-0001"}),
            StatusCode::NOT_FOUND,
        ),
        (
            json!({"tenant": TENANT, "contact": "+55 11 90000-0001", "instance": "other"}),
            StatusCode::NOT_FOUND,
        ),
        (
            json!({"tenant": TENANT, "contact": "Bia"}),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (json!({"tenant": TENANT}), StatusCode::BAD_REQUEST),
        (
            json!({"tenant": TENANT, "contact": "+55 11 90000-0001", "all": true}),
            StatusCode::BAD_REQUEST,
        ),
    ] {
        for what in ["find", "export", "erase"] {
            let path = format!("/v1/contacts/{what}");
            let answer = site.operate("POST", &path, &body).await;
            if status == StatusCode::OK && what != "find" {
                assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
                continue;
            }
            assert_eq!(answer.status, status, "{what} {body}: {}", answer.text);
            assert!(!answer.text.contains("90000"), "{}", answer.text);
        }
        if status == StatusCode::NOT_FOUND || status == StatusCode::UNPROCESSABLE_ENTITY {
            let listed = site.operate("GET", "/v1/conversations", &Value::Null).await;
            assert_eq!(
                listed.body["items"].as_array().unwrap().len(),
                1,
                "nothing was erased"
            );
        }
    }
}
