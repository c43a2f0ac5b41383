//! The requests of an earlier delivery service, as its clients go on making them.

use crate::machine::{D360_KEY, Machine, PATIENCE, TOKEN, eventually, seconds};
use recado_domain::provider::Provider;
use recado_testkit::service_requests::{SEND_REQUEST, STATUS_REQUEST, WEBHOOK_REQUEST, run_service_request};
use serde_json::{Value, json};

/// The number of 360dialog that the sample configuration shows.
const NUMBER: &str = "100000000000002";

/// The sample configuration with its number of 360dialog, which is commented out there.
fn sample() -> String {
    let sample = include_str!("../../../recado.toml");
    let (before, rest) = sample.split_once("# A number of 360dialog.").unwrap();
    let (block, behind) = rest.split_once("\n\n").unwrap();
    let block: Vec<&str> = block
        .lines()
        .skip(1)
        .map(|line| line.trim_start_matches("# "))
        .collect();
    format!("{before}\n{}\n\n{behind}", block.join("\n"))
}

fn secret(machine: &Machine) -> String {
    machine.secret_at(Provider::Dialog360, NUMBER)
}

/// Runs a request of the service as pasted, with a proof.
fn paste(machine: &Machine, command: &str, proof: &str) -> Value {
    run_service_request(&machine.url(""), command, proof)
}

#[tokio::test]
async fn the_services_requests_work_as_pasted_with_a_token_or_the_webhook_secret() {
    let mut machine = Machine::prepared(&[]);
    machine.configure(&sample());
    machine.start("serve");
    let token = format!("Authorization: Bearer {TOKEN}");
    let sent = paste(&machine, SEND_REQUEST, &token);
    assert_eq!(sent["status"], "queued");
    let id = sent["id"].as_str().unwrap();
    let status = STATUS_REQUEST.replace("123", id);
    let reached = eventually("the invitation to be sent", || async {
        let told = paste(&machine, &status, &token);
        (told["status"] == "sent").then_some(told)
    })
    .await;
    let transitions: Vec<&str> = reached["transitions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|transition| transition["status"].as_str())
        .collect();
    assert_eq!(transitions, ["queued", "processing", "sent"]);
    assert_eq!(
        (&reached["channel"], &reached["template"]),
        (&json!("whatsapp"), &json!("invite"))
    );
    let by_message = STATUS_REQUEST.replace("123", sent["message_id"].as_str().unwrap());
    assert_eq!(paste(&machine, &by_message, &token)["id"], id);
    let logged = machine.get("/v1/occasions/ev_demo/invitations").await;
    assert_eq!(logged["items"][0]["id"], id);
    let guests = machine.get("/v1/occasions/ev_demo/guests").await;
    assert_eq!(guests["items"][0]["status"], "pending");

    let again = paste(&machine, SEND_REQUEST, &token);
    assert_eq!(
        (&again["status"], &again["duplicate_of"]),
        (&json!("duplicate"), &json!(id))
    );

    for _ in 0..2 {
        let answer = paste(
            &machine,
            WEBHOOK_REQUEST,
            &format!("x-recado-webhook-secret: {}", secret(&machine)),
        );
        assert_eq!(answer["status"], "ok", "{answer}");
    }
    let answered = machine.stand_ins.dialog360.wait_for_phone(1, PATIENCE).await;
    assert_eq!(
        (answered[0].text.as_str(), answered[0].instance.as_str()),
        ("echo: confirm", D360_KEY)
    );
    machine.quiet().await;
    assert_eq!(machine.stand_ins.dialog360.phone().len(), 1);
}

/// The shell blocks of the page for those who come from the service.
fn page_requests() -> Vec<&'static str> {
    let page = include_str!("../../../docs/delivery-service.md");
    let blocks = page.split("```sh\n").skip(1);
    blocks.filter_map(|block| block.split("```").next()).collect()
}

#[tokio::test]
async fn the_three_requests_of_the_page_work_with_the_token_the_secret_and_the_id_of_the_first() {
    let mut machine = Machine::prepared(&[]);
    machine.configure(&sample());
    machine.start("serve");
    let (secret, mut id) = (secret(&machine), String::new());
    let requests = page_requests();
    assert_eq!(requests.len(), 3);
    for request in requests {
        let request = request.trim_end().replace("$RECADO_TOKEN", TOKEN);
        let request = request.replace("$SECRET", &secret).replace("$ID", &id);
        // The page's own proof is the only one.
        let answer = paste(&machine, &request, "x-no-proof: 1");
        assert!(!answer.is_null(), "{request}");
        if let Some(taken) = answer["id"].as_str().filter(|_| id.is_empty()) {
            id = taken.to_owned();
        }
    }
    let shown = machine.get(&format!("/deliver/{id}/status")).await;
    assert_eq!(shown["template"], "invite");
}

#[tokio::test]
async fn an_unknown_event_makes_a_pending_guest_though_the_template_names_event_and_date() {
    let mut machine = Machine::prepared(&[]);
    machine.configure(&sample());
    machine.start("serve");
    let token = format!("Authorization: Bearer {TOKEN}");
    let sent = paste(
        &machine,
        &SEND_REQUEST.replace("ev_demo", "ev_nobody_knows"),
        &token,
    );
    assert_eq!(sent["status"], "queued", "{sent}");
    let phone = machine.phone(1).await;
    assert!(
        phone[0].text.contains("ev_nobody_knows: data a confirmar"),
        "{}",
        phone[0].text
    );
    let guests = machine.get("/v1/occasions/ev_nobody_knows/guests").await;
    assert_eq!(guests["items"][0]["status"], "pending");
    assert_eq!(guests["items"][0]["id"], sent["guestId"]);
}

#[tokio::test]
async fn the_earlier_names_of_360dialogs_url_and_key_serve() {
    let mut machine = Machine::prepared(&[]);
    machine.unset("D360_BASE_URL");
    machine.unset("D360_API_KEY");
    let url = machine.stand_ins.dialog360.url();
    machine.set("WA_API_BASE", &url);
    machine.set("WA_API_TOKEN", D360_KEY);
    machine.configure(&sample());
    machine.start("serve");
    let body = json!({"messages": [{"id": "M1", "from": "5215550000000", "timestamp": seconds().to_string(),
        "type": "text", "text": {"body": "Hola"}}]});
    let posted = machine
        .http
        .post(machine.url("/wa/webhook"))
        .header("x-recado-webhook-secret", secret(&machine))
        .json(&body);
    assert_eq!(posted.send().await.unwrap().status(), 200);
    let answered = machine.stand_ins.dialog360.wait_for_phone(1, PATIENCE).await;
    assert_eq!(answered[0].text, "echo: Hola");
    assert_eq!(machine.stand_ins.violations(), []);
}
