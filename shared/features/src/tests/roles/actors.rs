//! The actor of what people and clients do stands on the records, and is the token's name.

use crate::tests::Answered;
use crate::tests::Site;
use crate::tests::dying::{CONTACT, dies, now, with_dead_reply};
use crate::tests::roles::tenants::create_token;
use axum::http::StatusCode;
use recado_domain::access::TokenRole;
use recado_domain::millis::add_millis;
use recado_pipeline::ports::Conversations;
use serde_json::{Value, json};

/// Two people with tokens of their own.
struct Case {
    site: Site,
    ana: String,
    beto: String,
}

impl Case {
    async fn new() -> Self {
        let site = Site::in_memory().configured().await;
        let ana = create_token(&site, "ana", TokenRole::Operator, Some("clinic")).await;
        let beto = create_token(&site, "beto", TokenRole::Admin, None).await;
        Self { site, ana, beto }
    }

    async fn ask(&self, token: &str, method: &str, path: &str, body: Value) -> Answered {
        let bearer = format!("Bearer {token}");
        // A name that the request itself gives counts for nothing.
        let headers = [
            ("authorization", bearer.as_str()),
            ("x-by", "mallory"),
            ("from", "mallory"),
            ("idempotency-key", body["text"].as_str().unwrap_or("none")),
        ];
        let sent = match &body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let answered = self.site.ask(method, path, &headers, sent).await;
        assert!(answered.status.is_success(), "{method} {path}: {}", answered.text);
        assert!(!answered.text.contains("mallory"), "{}", answered.text);
        answered
    }

    async fn read(&self, path: &str) -> Value {
        self.ask(&self.beto, "GET", path, Value::Null).await.body
    }
}

#[tokio::test]
async fn a_conversation_tells_who_took_it_over_gave_it_back_and_resolved_it() {
    let case = Case::new().await;
    let id = case.site.conversation(CONTACT).await;
    let path = format!("/v1/conversations/{id}");
    assert_eq!(case.read(&path).await["handover"], Value::Null);
    let changes = [
        (&case.ana, "ana", json!({"mode": "manual"})),
        (&case.beto, "beto", json!({"mode": "ai"})),
        (&case.ana, "ana", json!({"status": "resolved"})),
    ];
    for (token, name, change) in changes {
        let answered = case.ask(token, "PATCH", &path, change.clone()).await.body;
        assert_eq!(answered["handover"]["by"], name, "{answered}");
        assert_eq!(case.read(&path).await["handover"], answered["handover"]);
        // Who repeats it changes nothing, so the first one stays.
        let again = json!({"mode": answered["mode"]});
        let repeated = case.ask(&case.beto, "PATCH", &path, again).await.body;
        assert_eq!(repeated["handover"], answered["handover"]);
        assert_eq!(repeated["taken_by"], answered["taken_by"]);
        let taken_by = (change["mode"] == "manual").then_some(name);
        assert_eq!(answered["taken_by"], json!(taken_by), "{answered}");
    }
}

#[tokio::test]
async fn an_answer_names_its_author_and_takes_the_conversation_over_for_it() {
    let case = Case::new().await;
    let id = case.site.conversation(CONTACT).await;
    let path = format!("/v1/conversations/{id}/messages");
    let said = |text: &str| json!({"text": text});
    let answered = case.ask(&case.ana, "POST", &path, said("oi")).await.body;
    assert_eq!(answered["by"], "ana", "{answered}");
    let repeated = case.ask(&case.beto, "POST", &path, said("oi")).await.body;
    assert_eq!(
        (&repeated["id"], &repeated["by"]),
        (&answered["id"], &json!("ana"))
    );
    let second = case.ask(&case.beto, "POST", &path, said("e mais")).await.body;
    assert_eq!(second["by"], "beto");
    let conversation = case.read(&format!("/v1/conversations/{id}")).await;
    assert_eq!(conversation["handover"]["by"], "ana", "{conversation}");
    assert_eq!(
        conversation["taken_by"], "beto",
        "who answered last: {conversation}"
    );
    let listed = case.read(&path).await;
    let by: Vec<&Value> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["by"])
        .collect();
    assert_eq!(by, [&json!("beto"), &json!("ana"), &Value::Null]);
    let spoofed = json!({"text": "oi", "by": "mallory"}).to_string();
    let bearer = format!("Bearer {}", case.ana);
    let refused = case
        .site
        .ask("POST", &path, &[("authorization", &bearer)], spoofed)
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
}

#[tokio::test]
async fn sent_and_scheduled_messages_tell_who_ordered_and_who_cancelled_them() {
    let case = Case::new().await;
    let path = "/v1/instances/suporte-01/messages";
    let body = json!({"to": CONTACT, "text": "oi"});
    let sent = case.ask(&case.ana, "POST", path, body).await.body;
    let detail = case
        .read(&format!("/v1/messages/{}", sent["id"].as_str().unwrap()))
        .await;
    assert_eq!(
        (&detail["by"], &detail["history"][0]["by"]),
        (&json!("ana"), &json!("ana"))
    );
    assert_eq!(detail["way"][0]["detail"]["by"], "ana", "{detail}");
    let later = add_millis(now(), 3_600_000);
    let body = json!({"to": CONTACT, "text": "later", "send_at": later});
    let scheduled = case.ask(&case.ana, "POST", path, body).await.body;
    let path = format!("/v1/messages/{}", scheduled["id"].as_str().unwrap());
    assert_eq!(case.read(&path).await["by"], "ana");
    case.ask(&case.beto, "DELETE", &path, Value::Null).await;
    let cancelled = case.read(&path).await;
    assert_eq!(cancelled["by"], "ana");
    assert_eq!(cancelled["way"][1]["detail"]["by"], "beto", "{cancelled}");
}

#[tokio::test]
async fn a_redrive_and_a_deletion_stand_in_the_history_of_the_message() {
    let case = Case::new().await;
    let (_, message, dead_letter) = with_dead_reply(&case.site).await;
    let path = format!("/v1/messages/{}", message.message_id());
    let redrive = format!("/v1/dead-letters/{}/redrive", dead_letter.id);
    case.ask(&case.ana, "POST", &redrive, Value::Null).await;
    let last = |detail: &Value| detail["history"].as_array().unwrap().last().unwrap().clone();
    let redriven = last(&case.read(&path).await);
    assert_eq!(
        (&redriven["why"], &redriven["by"]),
        (&json!("redriven"), &json!("ana"))
    );
    let jobs = crate::tests::dying::jobs(&case.site).await;
    let by = jobs.iter().find_map(|job| job.redrive.as_ref()?.by.as_ref());
    assert_eq!(by.map(ToString::to_string).as_deref(), Some("ana"));
    let message = case
        .site
        .store
        .find_message(&message.message_id())
        .await
        .unwrap()
        .unwrap();
    let failed_at = add_millis(dead_letter.at, 1_000);
    let dead_letter = dies(&case.site, &message, failed_at).await;
    let gone = format!("/v1/dead-letters/{}", dead_letter.id);
    case.ask(&case.beto, "DELETE", &gone, Value::Null).await;
    let purged = last(&case.read(&path).await);
    assert_eq!(
        (&purged["why"], &purged["by"]),
        (&json!("purged"), &json!("beto"))
    );
}
