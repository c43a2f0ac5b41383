//! The requests of an earlier delivery service, as its page shows them and its clients go on making them.

use serde_json::Value;
use std::process::Command;

/// Sends an invitation. [`run_service_request`] adds the proof.
pub const SEND_REQUEST: &str = r#"curl -sS -X POST http://localhost:8080/deliver/send \
  -H "Content-Type: application/json" \
  -d '{"eventId":"ev_demo","phone":"+5215550011223","channel":"whatsapp","template":"invite"}'"#;

/// Posts a message of a guest as 360dialog does, its text a plain string.
pub const WEBHOOK_REQUEST: &str = r#"curl -sS -X POST http://localhost:8080/deliver/webhook \
  -H "Content-Type: application/json" \
  -d '{"messages":[{"id":"msg_123","from":"+5215550000000","text":"confirm"}]}'"#;

/// Asks for the status of an invitation, with `123` in the place of its id.
pub const STATUS_REQUEST: &str = "curl -sS http://localhost:8080/deliver/123/status";

/// Runs a request as pasted into a shell, at the installation of this base URL and with one header more, which proves who asks.
/// Returns the JSON of the answer. Panics if the answer is not of 2xx.
pub fn run_service_request(base_url: &str, command: &str, proof: &str) -> Value {
    let command = command.replace("http://localhost:8080", base_url.trim_end_matches('/'));
    let script = format!("{command} --fail-with-body -H '{proof}'");
    let ran = Command::new("bash").args(["-c", &script]).output().unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{script}\n{printed}");
    serde_json::from_str(&printed).unwrap()
}
