//! The requests of an earlier delivery service, as its clients go on making them.

use crate::bench::{Bench, eventually};
use crate::stack::{INVITES, INVITES_NUMBER};
use recado_domain::provider::Provider;
use recado_testkit::builders::fresh;
use recado_testkit::service_requests::{SEND_REQUEST, STATUS_REQUEST, WEBHOOK_REQUEST, run_service_request};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// The phones that the requests name.
const GUEST: &str = "5215550011223";
const WRITER: &str = "5215550000000";

/// Makes a token of the tenant, so that the requests need not name one. Returns its secret.
async fn make_tenant_token(bench: &Bench) -> String {
    let wanted = json!({"name": fresh("service"), "role": "operator", "tenant": "clinic"});
    let (status, made) = bench.api(Method::POST, "/v1/tokens", Some(wanted)).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    made["secret"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_services_requests_work_as_pasted_with_a_token_or_the_webhook_secret() {
    let bench = Bench::new().await;
    let dialog360 = &bench.stack.dialog360;
    let document = json!({
        "occasions": [{"id": "ev_demo", "tenant": "clinic", "name": "La boda", "instance": INVITES}],
        "invitation_templates": [{"name": "invite", "tenant": "clinic", "channel": "whatsapp",
            "approved": {"name": "invite", "language": "es"}}],
    });
    let (status, applied) = bench.api(Method::PUT, "/v1/config", Some(document)).await;
    assert_eq!(status, StatusCode::OK, "{applied}");
    let url = bench.stack.url("");
    let token = format!("Authorization: Bearer {}", make_tenant_token(&bench).await);

    let sent = run_service_request(&url, SEND_REQUEST, &token);
    assert_eq!(sent["status"], "queued", "{sent}");
    let id = sent["id"].as_str().unwrap();
    let asked = STATUS_REQUEST.replace("123", id);
    let reached = eventually("the invitation to be sent", || async {
        let told = run_service_request(&url, &asked, &token);
        (told["status"] == "sent").then_some(told)
    })
    .await;
    let transitions = reached["transitions"].as_array().unwrap().iter();
    let statuses: Vec<&Value> = transitions.map(|transition| &transition["status"]).collect();
    assert_eq!(statuses, ["queued", "processing", "sent"], "{reached}");
    let again = run_service_request(&url, SEND_REQUEST, &token);
    assert_eq!(
        (&again["status"], &again["duplicate_of"]),
        (&json!("duplicate"), &json!(id))
    );
    let count = |phone: &str| {
        let all = dialog360.phone().into_iter();
        all.filter(|message| message.to.contains(phone)).count()
    };
    assert_eq!(count(GUEST), 1);

    let secret = bench.stack.secret_at(Provider::Dialog360, INVITES_NUMBER);
    for _ in 0..2 {
        let posted = run_service_request(
            &url,
            WEBHOOK_REQUEST,
            &format!("x-recado-webhook-secret: {secret}"),
        );
        assert_eq!(posted["status"], "ok", "{posted}");
    }
    eventually("the writer to be answered", || async {
        (count(WRITER) > 0).then_some(())
    })
    .await;
    assert_eq!(count(WRITER), 1);
}
