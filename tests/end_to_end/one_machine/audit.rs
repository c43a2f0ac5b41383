use crate::machine::{INSTANCE, Machine, seconds};
use recado_testkit::webhooks::evolution_text;
use reqwest::{Method, StatusCode};
use rusqlite::Connection;
use serde_json::{Value, json};

const MARIA: &str = "5511900000001@s.whatsapp.net";

async fn entries(machine: &Machine, action: &str) -> Vec<Value> {
    let found = machine.get(&format!("/v1/audit?action={action}")).await;
    found["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_cannot_be_audited_is_not_done() {
    let machine = Machine::serving(&[
        ("RECADO_DEBOUNCE_SECONDS", "300"),
        ("RECADO_DEBOUNCE_MAX_SECONDS", "890"),
    ]);
    let hello = evolution_text(INSTANCE, MARIA, "A1", "Oi", seconds());
    machine.evolution(&hello).await;
    let path = format!("/v1/conversations/{}", machine.conversation().await);
    let database = Connection::open(machine.data().join("recado.db")).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON records WHEN NEW.partition GLOB 'audit#*'
        BEGIN SELECT RAISE(ABORT, 'no'); END";
    database.execute_batch(refuse).unwrap();
    let manual = || Some(json!({"mode": "manual"}));
    let (status, told) = machine.api(Method::PATCH, &path, manual()).await;
    assert!(status.is_server_error(), "{told}");
    let token = json!({"name": "unseen", "role": "viewer"});
    let (status, _) = machine.api(Method::POST, "/v1/tokens", Some(token)).await;
    assert!(status.is_server_error());
    assert_eq!(machine.get(&path).await["mode"], "ai");
    assert_eq!(machine.get("/v1/tokens").await["items"], json!([]));
    database.execute_batch("DROP TRIGGER refuse").unwrap();
    let (status, _) = machine.api(Method::PATCH, &path, manual()).await;
    assert_eq!(status, StatusCode::OK);
    let found = entries(&machine, "conversation_taken_over").await;
    assert_eq!(found.len(), 1, "{found:?}");
    let change = "UPDATE records SET body = '{}' WHERE partition GLOB 'audit#*'";
    let changed = database.execute(change, []).unwrap_err();
    assert!(changed.to_string().contains("never changed"), "{changed}");
}

#[tokio::test]
async fn the_command_line_shows_who_did_what() {
    let machine = Machine::serving(&[]);
    let run = |arguments: &[&str]| {
        let output = machine.command(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    for name in ["desk", "dashboard"] {
        run(&["token", "create", name, "--role", "viewer", "--tenant", "demo"]);
    }
    run(&["token", "revoke", "desk", "--tenant", "demo"]);
    let all = run(&["audit"]);
    assert!(
        all.contains("configuration_changed"),
        "the start applied one: {all}"
    );
    let tokens = run(&["audit", "--action", "token_created", "--tenant", "demo"]);
    assert!(
        tokens.contains("desk") && tokens.contains("viewer, never expires"),
        "{tokens}"
    );
    assert!(!tokens.contains("revoked"), "{tokens}");
    let one = run(&["audit", "--limit", "1", "--json", "--actor", "installation"]);
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one["items"].as_array().unwrap().len(), 1);
    assert_eq!(one["items"][0]["action"], "token_revoked");
    assert!(one["next_cursor"].is_string());
    let none = run(&["audit", "--actor", "nobody"]);
    assert_eq!(none, "Nothing was done.\n");
}

#[tokio::test]
async fn one_webhook_secret_is_replaced_and_stays_so_over_a_restart() {
    let mut machine = Machine::serving(&[]);
    let old = machine.secret(INSTANCE);
    let rotate = ["secret", "rotate", INSTANCE, "--overlap-hours", "0", "--json"];
    let asked = machine.command(&rotate).output().unwrap();
    assert!(!asked.status.success(), "a script must say --yes");
    let output = machine
        .command(&[&rotate[..], &["--yes"]].concat())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let rotated: Value = serde_json::from_slice(&output.stdout).unwrap();
    let new = rotated["secret"].as_str().unwrap().to_owned();
    machine.kill();
    machine.start("serve");
    let hello = evolution_text(INSTANCE, MARIA, "S1", "Oi", seconds());
    for (secret, expected) in [(&old, StatusCode::UNAUTHORIZED), (&new, StatusCode::OK)] {
        let posted = machine
            .http
            .post(machine.url("/webhooks/evolution"))
            .header("apikey", secret)
            .json(&hello);
        assert_eq!(posted.send().await.unwrap().status(), expected);
    }
}
