//! What strangers and the careless can do to a running installation.

use crate::commands::run;
use crate::machine::{INSTANCE, Machine, PATIENCE, TOKEN, eventually, seconds};
use recado_testkit::webhooks::evolution_text;
use reqwest::StatusCode;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// By how much a refused body may raise the most memory that the process ever had, in KiB.
const MEMORY_MAX: u64 = 20 * 1024;

/// How long the health check may take beside whatever strangers do, on a machine that is free.
const HEALTH_MAX: Duration = Duration::from_millis(100);

/// Before the proof one field is read and nothing is built. A parsed body takes up to 100 times its bytes.
#[tokio::test]
async fn a_large_body_without_a_proof_costs_little_more_memory_than_its_bytes() {
    let machine = Machine::serving(&[]);
    let body = |part: &str| {
        let parts = vec![part; 5_900_000 / (part.len() + 1)].join(",");
        format!(r#"{{"event":"messages.upsert","data":[{parts}],"instance":"{INSTANCE}"}}"#)
    };
    let path_of_numbers = format!(
        r#"{{"entry":[{}]}}"#,
        vec![r#"{"changes":[{"value":{"metadata":{"phone_number_id":"1"}}}]}"#; 90_000].join(",")
    );
    for (path, body) in [
        ("/webhooks/evolution", body("[0]")),
        ("/webhooks/evolution", body(r#"{"":0}"#)),
        ("/webhooks/evolution", body(r#"{"a":{"a":{"a":{}}}}"#)),
        ("/webhooks/evolution", body(r#""\ud83d""#)),
        (
            "/webhooks/evolution",
            format!("{}{}", "[".repeat(2_900_000), "]".repeat(2_900_000)),
        ),
        ("/webhooks/360dialog", body("[0]")),
        ("/webhooks/360dialog", path_of_numbers),
        ("/webhooks/meta", body("[0]")),
    ] {
        // The first request makes the process's own buffers.
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
        let idle = machine.memory("VmRSS");
        machine.forget_peak();
        let what = format!("{path} {}", &body[..60]);
        let request = machine
            .http
            .post(machine.url(path))
            .header("apikey", "wrong")
            .body(body);
        let status = request.timeout(PATIENCE).send().await.unwrap().status();
        assert!(
            status == StatusCode::UNAUTHORIZED || status == StatusCode::BAD_REQUEST,
            "{what}: {status}"
        );
        let peak = machine.memory("VmHWM");
        assert!(peak < idle + MEMORY_MAX, "{what}: {idle} KiB, then {peak} KiB");
    }
}

/// A connection on which this much of a request was sent.
fn begun(machine: &Machine, request: &[u8]) -> TcpStream {
    let address = machine.url("").replace("http://", "");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    // It may be closed while this is written.
    let _ = stream.write_all(request);
    stream
}

/// Whether the server closes it.
fn is_closed(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

async fn health(machine: &Machine) -> Duration {
    let begun = Instant::now();
    // A connection of its own each time.
    let request = machine
        .http
        .get(machine.url("/health"))
        .header("connection", "close");
    assert_eq!(request.timeout(PATIENCE).send().await.unwrap().status(), 200);
    begun.elapsed()
}

/// Requests of which half is sent.
fn halves() -> [String; 4] {
    let large = "a".repeat(300_000);
    [
        "GET /health HTTP/1.1\r\nHost: x\r\nX-Half: ".to_owned(),
        format!(
            "POST /webhooks/evolution HTTP/1.1\r\nHost: x\r\nContent-Length: 6000000\r\n\r\n{{\"instance\":\"{INSTANCE}\",\"a\":\"{large}"
        ),
        "POST /v1/config HTTP/1.1\r\nHost: x\r\nContent-Length: 33000000\r\n\r\nabc".to_owned(),
        "POST /webhooks/meta HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab".to_owned(),
    ]
}

/// Without these limits a few hundred half requests use up the descriptors.
#[tokio::test]
async fn requests_that_never_end_keep_nobody_out() {
    // Longer than the test lasts: only others that come make room.
    let mut machine = Machine::prepared(&[
        ("RECADO_HEADER_TIMEOUT_SECONDS", "300"),
        ("RECADO_BODY_TIMEOUT_SECONDS", "300"),
    ]);
    machine.before = Some("ulimit -n 256".to_owned());
    machine.start("serve");
    for (count, request) in [260, 60, 60, 60].into_iter().zip(halves()) {
        let held: Vec<TcpStream> = (0..count).map(|_| begun(&machine, request.as_bytes())).collect();
        eventually("an answer in time", || async {
            (health(&machine).await < HEALTH_MAX).then_some(())
        })
        .await;
        for _ in 0..20 {
            health(&machine).await;
        }
        drop(held);
    }
    // And a webhook is taken and answered as ever.
    let body = evolution_text(INSTANCE, "5511900000001@s.whatsapp.net", "S1", "Oi", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    machine.phone(1).await;
}

#[tokio::test]
async fn requests_that_never_end_are_closed() {
    let machine = Machine::serving(&[
        ("RECADO_HEADER_TIMEOUT_SECONDS", "1"),
        ("RECADO_BODY_TIMEOUT_SECONDS", "1"),
    ]);
    for request in halves() {
        let held: Vec<TcpStream> = (0..8).map(|_| begun(&machine, request.as_bytes())).collect();
        let open = held.into_iter().map(is_closed).filter(|closed| !closed);
        assert_eq!(open.count(), 0, "{}", &request[..40]);
    }
}

/// Whether this connection was answered by now, and with this status.
fn answered_with(stream: &mut TcpStream, status: u16) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut answer = [0; 12];
    let read = stream.peek(&mut answer).is_ok_and(|read| read == answer.len());
    read && answer == format!("HTTP/1.1 {status}").as_bytes()
}

#[tokio::test]
async fn behind_a_proxy_each_client_has_its_own_share() {
    // Longer than the test lasts: nothing but what is asserted makes room.
    let machine = Machine::serving(&[
        ("RECADO_CONNECTIONS_PER_ADDRESS", "2"),
        ("RECADO_HEADER_TIMEOUT_SECONDS", "300"),
        ("RECADO_BODY_TIMEOUT_SECONDS", "300"),
    ]);
    let slow = |client: &str| {
        let request = format!(
            "POST /webhooks/meta HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 127.0.0.1, {client}\r\nContent-Length: 9\r\n\r\n{{"
        );
        begun(&machine, request.as_bytes())
    };
    let ask = async |clients: &str| {
        let request = machine
            .http
            .get(machine.url("/health"))
            .header("x-forwarded-for", clients);
        let answer = request.timeout(PATIENCE).send().await;
        answer.unwrap().status().as_u16()
    };
    // Of places and waiting requests there are two each, and one more is refused.
    let mut held: Vec<TcpStream> = (0..5).map(|_| slow("203.0.113.9")).collect();
    eventually("one of the slow ones to be refused", || {
        let refused = held.iter_mut().any(|stream| answered_with(stream, 429));
        async move { refused.then_some(()) }
    })
    .await;
    assert_eq!(ask("1.1.1.1, 203.0.113.9").await, 429);
    assert_eq!(
        ask("203.0.113.9, 198.51.100.7").await,
        200,
        "what stands further left is not believed"
    );
    // And this machine's own are not counted.
    health(&machine).await;
    drop(held);
    eventually("a free place", || async {
        (ask("203.0.113.9").await == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_log_holds_no_reply_whatever_is_asked_of_it() {
    let machine = Machine::serving(&[(
        "RUST_LOG",
        "info,genai=trace,genai::webc=trace,hyper=trace,reqwest=trace",
    )]);
    // The stand-in for the model repeats them.
    let words = "PALAVRAS-SECRETAS";
    let jid = "5511900000001@s.whatsapp.net";
    machine
        .evolution(&evolution_text(INSTANCE, jid, "L1", words, seconds()))
        .await;
    let phone = machine.phone(1).await;
    assert!(format!("{phone:?}").contains(words), "{phone:?}");
    machine.quiet().await;
    let log = machine.log();
    assert!(log.contains("reply committed"), "{log}");
    for private in [words, "AI Response body"] {
        assert!(!log.contains(private), "{private} in {log}");
    }
}

#[tokio::test]
async fn no_secret_is_printed_to_a_log() {
    let mut machine = Machine::prepared(&[]);
    for command in ["serve", ""] {
        machine.start(command);
        eventually("the whole start", || async {
            machine.output().contains("recado doctor").then_some(())
        })
        .await;
        let (output, secret) = (machine.output(), machine.secret(INSTANCE));
        assert!(!output.contains(&secret) && !output.contains(TOKEN), "{output}");
        assert!(!output.contains("curl"), "no ready-made message: {output}");
        assert!(!machine.log().contains(&secret), "{}", machine.log());
        let ran = run(&machine, &["try"]);
        assert!(
            ran.out.contains(&secret),
            "it is printed to who asks for it: {}{}",
            ran.out,
            ran.err
        );
        assert!(machine.stop("-INT").success());
    }
}

#[tokio::test]
async fn a_data_folder_that_others_could_change_is_closed_to_them() {
    let mut machine = Machine::prepared(&[]);
    machine.unset("RECADO_TOKEN");
    let (data, token) = (machine.data(), machine.data().join("operator-token"));
    fs::create_dir_all(&data).unwrap();
    fs::write(&token, "7c1e9a04d2b85f63a90e4c7d18b2f536").unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(&token, Permissions::from_mode(0o666)).unwrap();
    machine.start("serve");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&token)), (0o700, 0o600));
    let warned = machine.log().matches("other users could read or change").count();
    assert_eq!(warned, 2, "the folder and the token: {}", machine.log());
}

#[tokio::test]
async fn no_proxy_is_shown_what_goes_to_this_machine() {
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let variables = ["HTTP_PROXY", "http_proxy", "ALL_PROXY"].map(|name| (name, address.as_str()));
    let machine = Machine::serving(&variables);
    // The provider and the model are on this machine, too.
    machine
        .evolution(&evolution_text(
            INSTANCE,
            "5511900000001@s.whatsapp.net",
            "P1",
            "Oi",
            seconds(),
        ))
        .await;
    machine.phone(1).await;
    let ran = run(&machine, &["dlq", "list"]);
    assert!(ran.success, "{}", ran.err);
    assert!(
        proxy
            .accept()
            .is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    );
}

#[tokio::test]
async fn redacting_two_files_of_one_name_makes_two_that_only_their_owner_can_read() {
    let machine = Machine::prepared(&[]);
    let (from, out) = (
        machine.data().with_file_name("both"),
        machine.data().with_file_name("out"),
    );
    fs::create_dir_all(&from).unwrap();
    for (name, id) in [("a.json", "F1"), ("a.jsonl", "F2")] {
        let body = evolution_text(
            INSTANCE,
            "5511900000034@s.whatsapp.net",
            id,
            "Rua Azul",
            seconds(),
        );
        fs::write(from.join(name), body.to_string()).unwrap();
    }
    let ran = run(
        &machine,
        &[
            "record",
            "redact",
            &from.display().to_string(),
            "--out",
            &out.display().to_string(),
        ],
    );
    assert!(
        ran.success && ran.out.starts_with("2 webhooks"),
        "{}{}",
        ran.out,
        ran.err
    );
    let mut all = String::new();
    for name in ["a.jsonl", "a.jsonl.jsonl"] {
        let mode = fs::metadata(out.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
        all.push_str(&fs::read_to_string(out.join(name)).unwrap());
    }
    assert!(all.contains("F1") && all.contains("F2"), "{all}");
}
