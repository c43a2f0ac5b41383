//! The examples of examples/api in four languages, run beside one installation.

use crate::command_line::simulated;
use crate::machine::{Machine, PATIENCE, TOKEN, seconds};
use recado_domain::secret::Secret;
use recado_http_client::sign_webhook;
use reqwest::header::{HeaderMap, HeaderName};
use std::process::{Output, Stdio};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

#[path = "../../../examples/api/recado.rs"]
#[expect(dead_code, reason = "its `main` is for those who run it")]
mod rust_example;

/// The examples that are programs of their own.
const PROGRAMS: [&str; 3] = ["recado.sh", "recado.py", "recado.mjs"];

const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// A body as Recado posts it.
const BODY: &str = r#"{"type": "alerts.test", "data": {"summary": "não"}}"#;

/// Runs an example with these variables and this standard input.
async fn run_example(
    program: &str,
    arguments: &[&str],
    variables: &[(String, String)],
    input: &str,
) -> Output {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/api/");
    let mut child = Command::new(format!("{folder}{program}"))
        .args(arguments)
        .envs(variables.iter().cloned())
        // Python would keep a compiled copy beside it.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    // An example that reads nothing may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes()).await;
    let ended = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    ended
        .unwrap_or_else(|_| panic!("{program} goes on for ever"))
        .unwrap()
}

/// Checks what an example told against the conversation that it left.
async fn check_story(machine: &Machine, example: &str, lines: &[String]) {
    let [message, conversation, answer, sent, mode] = lines else {
        panic!("{example}: {lines:?}");
    };
    let id = conversation.strip_prefix("conversation ").unwrap();
    let messages = machine.messages(id).await;
    let texts: Vec<_> = messages
        .iter()
        .map(|one| (one["content"].as_str(), one["role"].as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            (Some("Seu pedido saiu."), Some("operator")),
            (Some("Chega até as 18h."), Some("operator"))
        ],
        "{example}"
    );
    assert_eq!(
        message,
        &format!("message {}", messages[0]["id"].as_str().unwrap())
    );
    let named = messages[1]["id"].as_str().unwrap();
    assert_eq!(
        (answer, sent),
        (&format!("answer {named}"), &format!("sent {named}")),
        "{example}"
    );
    assert_eq!(messages[1]["status"], "sent", "{example}");
    assert_eq!(mode, "mode ai", "{example}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_language_sends_answers_and_follows_the_events() {
    let machine = simulated();
    let variables = [
        ("RECADO_URL".to_owned(), machine.url("")),
        ("RECADO_TOKEN".to_owned(), TOKEN.to_owned()),
    ];
    for program in PROGRAMS {
        let ran = run_example(program, &[], &variables, "").await;
        let out = String::from_utf8_lossy(&ran.stdout);
        assert!(
            ran.status.success(),
            "{program}: {out}{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let lines: Vec<String> = out.lines().map(str::to_owned).collect();
        check_story(&machine, program, &lines).await;
    }
    let example = rust_example::Recado {
        http: machine.http.clone(),
        url: machine.url(""),
        token: TOKEN.to_owned(),
        instance: crate::machine::INSTANCE.to_owned(),
    };
    let lines = tokio::time::timeout(PATIENCE, example.make_calls()).await;
    check_story(&machine, "recado.rs", &lines.unwrap().unwrap()).await;
}

#[tokio::test]
async fn each_language_knows_a_request_of_recado_from_a_forged_or_an_old_one() {
    let secret = Secret::new(SECRET).unwrap();
    let now = seconds();
    for (at, body, is_genuine) in [
        (now, BODY.to_owned(), true),
        (now, BODY.replace("test", "none"), false),
        (now - 3_600, BODY.to_owned(), false),
    ] {
        let signed = sign_webhook(&secret, "ntf_1", at, BODY).unwrap();
        let mut variables = vec![("WEBHOOK_SECRET".to_owned(), SECRET.to_owned())];
        variables.extend(
            signed
                .iter()
                .map(|(name, value)| (name.to_uppercase().replace('-', "_"), value.clone())),
        );
        for program in PROGRAMS {
            let ran = run_example(program, &["verify"], &variables, &body).await;
            let told = format!(
                "{program}: {}{}",
                String::from_utf8_lossy(&ran.stdout),
                String::from_utf8_lossy(&ran.stderr)
            );
            assert_eq!(ran.status.success(), is_genuine, "{told}");
            assert_eq!(ran.stdout == b"genuine\n", is_genuine, "{told}");
        }
        let headers: HeaderMap = signed
            .into_iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        let verified = rust_example::verify_webhook(SECRET, &headers, body.as_bytes());
        assert_eq!(verified.is_ok(), is_genuine);
    }
}
