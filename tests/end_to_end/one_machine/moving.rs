//! An installation that moves into another data folder by its export.

use crate::machine::{INSTANCE, Machine, seconds};
use recado_testkit::webhooks::evolution_text;
use reqwest::StatusCode;
use serde_json::Value;
use std::fs;

/// Runs a command that must succeed, and returns what it prints as JSON.
fn run(machine: &Machine, arguments: &[&str]) -> Value {
    let output = machine.command(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn the_export_of_a_stopped_machine_is_the_same_installation_in_another_folder() {
    let mut machine = Machine::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    let webhook = evolution_text(INSTANCE, "5511900000001@s.whatsapp.net", "A1", "Oi", seconds());
    assert_eq!(machine.evolution(&webhook).await, StatusCode::OK);
    machine.phone(1).await;
    machine.quiet().await;
    let before = machine.get("/v1/conversations").await["items"].clone();
    let beside = |name: &str| machine.data().with_file_name(name);
    let (export, moved) = (beside("export"), beside("moved"));
    let (export, new) = (export.to_str().unwrap(), moved.to_str().unwrap());
    let refused = machine.command(&["export", export]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("in use"));
    machine.kill();
    let made = run(&machine, &["export", export, "--json"]);
    assert_eq!(run(&machine, &["export", export, "--check", "--json"]), made);
    let taken = run(&machine, &["import", export, "--data", new, "--json"]);
    assert_eq!(taken["records"], made["records"]);
    let again = run(&machine, &["import", export, "--data", new, "--json"]);
    assert_eq!(again["was_finished"], true);
    for secret in ["webhook-secret", "operator-token"] {
        let kept = machine.data().join(secret);
        if kept.exists() {
            fs::copy(kept, moved.join(secret)).unwrap();
        }
    }
    let new = new.to_owned();
    machine.set("RECADO_DATA", &new);
    machine.start("serve");
    assert_eq!(machine.get("/v1/conversations").await["items"], before);
    // The provider repeats the webhook, and nothing is answered again.
    assert_eq!(machine.evolution(&webhook).await, StatusCode::OK);
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone().len(), 1);
}
