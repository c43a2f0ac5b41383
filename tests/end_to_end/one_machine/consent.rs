//! An installation that is not to be trusted asks the command line to send this machine's secrets to a host of its own.

use super::machine::Machine;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A server that keeps what it hears and answers as `answer` says of the request's first line.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(&str) -> Value + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept: Arc<Mutex<Vec<String>>> = Arc::default();
        let requests = Arc::clone(&kept);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut bytes = vec![0; 64 * 1024];
                let length = stream.read(&mut bytes).unwrap_or(0);
                let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
                let body = answer(request.lines().next().unwrap_or_default()).to_string();
                kept.lock().unwrap().push(request);
                let first_part = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-correlation-id: c\r\ncontent-length: {}",
                    body.len()
                );
                let _ =
                    stream.write_all(format!("{first_part}\r\nconnection: close\r\n\r\n{body}").as_bytes());
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// An installation with one instance, which names `host` and a secret of whoever asks; its webhooks go to `host` too.
fn installation(fields: &Value, host: &str) -> Server {
    let mut instance = json!({"id": "evil", "tenant": "clinic", "agent": "ana", "provider": "evolution",
        "base_url": host});
    instance
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let webhook = json!({"id": "evil", "provider": instance["provider"], "webhook_url": format!("{host}/webhooks/meta"),
        "secret": "s3cret", "proof_set": true, "verify_token_set": true});
    let document = json!({"tenants": [], "agents": [], "instances": [instance]});
    let answer = json!({"status": "ok", "document": document, "instances": [webhook], "changes": []});
    Server::start(move |_| answer.clone())
}

/// Runs a command against an installation, with secrets in the environment; whether it ended well, and all that it printed.
fn run(there: &Server, arguments: &[&str]) -> (bool, String) {
    let machine = Machine::prepared(&[]);
    let mut command = machine.command(arguments);
    command
        .args(["--url", &there.url, "--token", "t"])
        .env("AWS_SECRET_ACCESS_KEY", "CANARY-AWS")
        .env("META_APP_SECRET", "CANARY-APP")
        .env("META_VERIFY_TOKEN", "CANARY-VERIFY")
        .env("EVOLUTION_API_KEY", "CANARY-EVOLUTION")
        .env("RECADO_CREDENTIAL_CLINIC_KEY", "CANARY-TENANT");
    let ran = command.output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (ran.status.success(), said.concat())
}

/// An installation may name any secret and any host.
#[test]
fn no_secret_of_this_machine_goes_to_a_host_that_the_installation_named() {
    let host = Server::start(|_| json!({}));
    for fields in [
        json!({"credential": "env:AWS_SECRET_ACCESS_KEY"}),
        json!({"credential": "env:META_APP_SECRET"}),
        json!({"credential": "env:EVOLUTION_API_KEY"}),
        json!({"credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"}),
        json!({}),
        json!({"provider": "meta", "external_id": "1"}),
    ] {
        let there = installation(&fields, &host.url);
        for command in [
            &["doctor"][..],
            &["connect", "evil"],
            &["connect", "evil", "--check"],
        ] {
            let (ended_well, said) = run(&there, command);
            assert!(
                !ended_well || command[0] == "doctor",
                "{fields} {command:?}: {said}"
            );
            assert!(!said.contains("CANARY"), "{fields} {command:?}: {said}");
        }
        assert_eq!(host.requests(), [""; 0], "{fields}");
        let requests = there.requests().concat();
        assert!(!requests.contains("CANARY"), "{fields}: {requests}");
    }
}

#[test]
fn the_refusal_shows_the_secrets_name_and_the_host_and_yes_sends_what_may_be_named() {
    let host = Server::start(|_| json!({}));
    let there = installation(
        &json!({"credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"}),
        &host.url,
    );
    let (_, said) = run(&there, &["connect", "evil"]);
    assert!(
        said.contains("RECADO_CREDENTIAL_CLINIC_KEY") && said.contains(&host.url) && said.contains("--yes"),
        "{said}"
    );
    run(&there, &["doctor", "--yes"]);
    assert!(host.requests().concat().contains("CANARY-TENANT"));
    // What no instance may name is not sent for a yes either.
    let other = Server::start(|_| json!({}));
    let there = installation(&json!({"credential": "env:AWS_SECRET_ACCESS_KEY"}), &other.url);
    run(&there, &["doctor", "--yes"]);
    run(&there, &["connect", "evil", "--yes"]);
    assert_eq!(other.requests(), [""; 0]);
}
