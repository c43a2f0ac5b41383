use crate::machine::{INSTANCE, Machine, PATIENCE, eventually, json_of, seconds};
use recado_testkit::webhooks::{evolution_text, jwt_hs256};
use reqwest::StatusCode;
use serde_json::json;

const MARIA: &str = "5511900000001@s.whatsapp.net";

async fn post(machine: &Machine, path: &str, apikey: Option<&str>, body: Vec<u8>) -> StatusCode {
    let mut request = machine.http.post(machine.url(path)).body(body).timeout(PATIENCE);
    if let Some(apikey) = apikey {
        request = request.header("apikey", apikey);
    }
    let (status, body) = json_of(request.send().await.unwrap()).await;
    if status != StatusCode::OK {
        assert_eq!(body["status"], status.as_u16(), "errors are problem+json: {body}");
    }
    status
}

#[tokio::test]
async fn each_kind_of_bad_input_gets_its_answer_and_the_process_stays_up() {
    let machine = Machine::serving(&[]);
    let secret = machine.secret(INSTANCE);
    let good = evolution_text(INSTANCE, MARIA, "B0", "Oi", seconds()).to_string();
    let cases: [(&str, &str, Vec<u8>, u16); 10] = [
        (
            "cut JSON",
            "/webhooks/evolution",
            good.as_bytes()[..good.len() / 2].to_vec(),
            400,
        ),
        ("empty", "/webhooks/evolution", Vec::new(), 400),
        (
            "not UTF-8",
            "/webhooks/evolution",
            vec![b'{', b'"', 0xff, 0xfe, b'"', b'}'],
            400,
        ),
        (
            "deep",
            "/webhooks/evolution",
            "[".repeat(100_000).into_bytes(),
            400,
        ),
        ("an array", "/webhooks/evolution", b"[1,2,3]".to_vec(), 400),
        (
            "no instance",
            "/webhooks/evolution",
            b"{\"event\":\"messages.upsert\",\"data\":{}}".to_vec(),
            400,
        ),
        (
            "wrong types",
            "/webhooks/evolution",
            json!({"event": 7, "instance": INSTANCE, "data": "x"})
                .to_string()
                .into_bytes(),
            200,
        ),
        ("10 MB", "/webhooks/evolution", vec![b' '; 10_000_000], 413),
        (
            "unknown provider",
            "/webhooks/telegram",
            good.clone().into_bytes(),
            404,
        ),
        (
            "another instance in the path",
            "/webhooks/evolution/suporte-02",
            good.clone().into_bytes(),
            400,
        ),
    ];
    for (what, path, body, expected) in cases {
        let status = post(&machine, path, Some(&secret), body).await;
        let fine = status.as_u16() == expected || (what == "wrong types" && status == 400);
        assert!(fine, "{what}: {status}, not {expected}");
    }
    assert_eq!(
        machine
            .http
            .get(machine.url("/health"))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
}

#[tokio::test]
async fn only_a_sound_proof_opens_the_webhook_in_each_form_that_evolution_can_send() {
    let machine = Machine::serving(&[]);
    let secret = machine.secret(INSTANCE);
    let body = |id: &str| {
        evolution_text(INSTANCE, MARIA, id, "Oi", seconds())
            .to_string()
            .into_bytes()
    };
    assert_eq!(post(&machine, "/webhooks/evolution", None, body("P0")).await, 401);
    assert_eq!(
        post(&machine, "/webhooks/evolution", Some("wrong"), body("P1")).await,
        401
    );
    let other = machine.secret("suporte-02");
    assert_eq!(
        post(&machine, "/webhooks/evolution", Some(&other), body("P2")).await,
        401
    );
    let mut with_key = evolution_text(INSTANCE, MARIA, "P3", "Oi", seconds());
    with_key["apikey"] = json!(secret);
    let in_body = post(
        &machine,
        "/webhooks/evolution",
        None,
        with_key.to_string().into_bytes(),
    )
    .await;
    assert_eq!(in_body, 401, "never by the key in the body");
    assert_eq!(
        post(&machine, "/webhooks/evolution", Some(&secret), body("P4")).await,
        200
    );
    assert_eq!(
        post(
            &machine,
            &format!("/webhooks/evolution/k/{secret}"),
            None,
            body("P5")
        )
        .await,
        200
    );
    assert_eq!(
        post(&machine, "/webhooks/evolution/k/wrong", None, body("P6")).await,
        401
    );
    let bearer = |token: String| {
        let request = machine
            .http
            .post(machine.url("/webhooks/evolution"))
            .bearer_auth(token)
            .body(body("P7"));
        async { request.send().await.unwrap().status() }
    };
    let now = seconds();
    assert_eq!(bearer(secret.clone()).await, 200);
    assert_eq!(bearer(jwt_hs256(&secret, now, now + 600)).await, 200);
    assert_eq!(
        bearer(jwt_hs256(&secret, now - 1500, now - 900)).await,
        200,
        "Evolution retries with its first token"
    );
    assert_eq!(bearer(jwt_hs256(&secret, now - 9000, now - 8000)).await, 401);
    assert_eq!(bearer(jwt_hs256("wrong", now, now + 600)).await, 401);
}

#[tokio::test]
async fn an_event_of_an_unknown_instance_is_acknowledged_and_kept() {
    let machine = Machine::serving(&[]);
    let body = evolution_text("not-configured", MARIA, "U1", "Oi", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    let dead_letter = eventually("a dead letter", || async {
        machine.get("/v1/dead-letters").await["items"].get(0).cloned()
    })
    .await;
    assert_eq!(dead_letter["reason"], "unknown_instance");
}

#[tokio::test]
async fn logs_hold_no_words_numbers_names_or_secrets() {
    let machine = Machine::serving(&[("RUST_LOG", "trace")]);
    let canaries = [
        "5511977712345",
        "CanaryName",
        "CanaryWords",
        "evolution-key",
        "anthropic-key",
        "CANARYID",
    ];
    let mut body = evolution_text(
        INSTANCE,
        "5511977712345@s.whatsapp.net",
        "CANARYID",
        "CanaryWords",
        seconds(),
    );
    body["data"]["pushName"] = json!("CanaryName");
    body["apikey"] = json!("CanaryWords");
    assert_eq!(machine.evolution(&body).await, 200);
    machine.phone(1).await;
    machine.quiet().await;
    let log = machine.log();
    assert!(log.contains("correlation_id"), "it logs at all");
    let own: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("\"target\":\"recado"))
        .collect();
    assert!(!own.is_empty());
    for canary in canaries {
        let told: Vec<&&str> = own.iter().filter(|line| line.contains(canary)).collect();
        assert!(told.is_empty(), "{canary} in {told:?}");
    }
    assert!(
        !log.contains(&machine.secret(INSTANCE)) && !log.contains("CanaryWords"),
        "not even a library tells"
    );
}
