//! PDF documents and pages go into the knowledge of an agent; those that cannot be read are named with the reason.

use crate::knowledge::{answer, run};
use crate::machine::{Machine, TOKEN, json_of};
use crate::pdf_files::encrypt_pdf;
use recado_testkit::pdf_files::{make_drawn_pdf, make_pdf};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::thread;

fn make_folder(machine: &Machine, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let folder = machine.data().join("../papers");
    fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    folder
}

/// Returns the reason why a file was refused.
fn reason(told: &Value, name: &str) -> String {
    let refused = told["refused"].as_array().unwrap();
    let is_named = |refused: &&Value| refused["document"].as_str().unwrap().ends_with(name);
    let found = refused
        .iter()
        .find(is_named)
        .unwrap_or_else(|| panic!("{name}: {told}"));
    found["reason"].as_str().unwrap().to_owned()
}

/// Posts a document to the API. Returns the status and the answer.
async fn post_document(machine: &Machine, title: &str, bytes: Vec<u8>) -> (StatusCode, Value) {
    let request = machine
        .http
        .post(machine.url("/v1/agents/ana/knowledge"))
        .query(&[("title", title)])
        .bearer_auth(TOKEN)
        .body(bytes);
    json_of(request.send().await.unwrap()).await
}

/// Posts a list of URLs to the API. Returns what became of each: its outcome, or the reason.
async fn post_pages(machine: &Machine, urls: &[String]) -> Vec<String> {
    let body = json!({ "urls": urls });
    let path = "/v1/agents/ana/knowledge/pages";
    let (status, told) = machine.api(Method::POST, path, Some(body)).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    let items = told["items"].as_array().unwrap().iter();
    let outcome = |item: &Value| {
        let outcome = item["added"]["outcome"].as_str();
        outcome.or(item["reason"].as_str()).unwrap().to_owned()
    };
    items.map(outcome).collect()
}

#[tokio::test]
async fn a_long_pdf_goes_in_and_each_that_cannot_be_read_is_named_with_the_reason() {
    let machine = Machine::serving(&[]);
    let lines: Vec<String> = (1..=200)
        .map(|page| format!("The tariff of room {page} is {page}0 euros."))
        .collect();
    let (long, short) = (make_pdf(&lines), make_pdf(&lines[..1]));
    let folder = make_folder(
        &machine,
        &[
            ("tariffs.pdf", long.clone()),
            ("open.pdf", encrypt_pdf(&make_pdf(&lines[1..2]), "")),
            ("secret.pdf", encrypt_pdf(&short, "user")),
            ("cut.pdf", long[..long.len() / 3].to_vec()),
            ("other.pdf", b"no document at all".to_vec()),
            ("scanned.pdf", make_drawn_pdf(&["0 0 600 800 re f".to_owned()])),
            ("empty.pdf", Vec::new()),
            ("large.pdf", vec![b'%'; 50 * 1024 * 1024]),
            ("large.txt", vec![b'a'; 50 * 1024 * 1024]),
        ],
    );
    let (succeeded, out, error) = run(&machine, &["add", "ana", folder.to_str().unwrap()]);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert!(!succeeded && told["added"] == 2, "{told}");
    for (name, words) in [
        ("secret.pdf", "encrypted"),
        ("cut.pdf", "damaged"),
        ("other.pdf", "is none"),
        ("scanned.pdf", "has no text"),
        ("empty.pdf", "the file is empty"),
        ("large.pdf", "50.0 MiB, and 32.0 MiB"),
        ("large.txt", "50.0 MiB, and 4.0 MiB"),
    ] {
        assert!(reason(&told, name).contains(words), "{name}: {told}");
        assert!(error.contains(name), "{error}");
    }
    let found = answer(&machine, &["search", "ana", "What is the tariff of room 173?"]);
    let best = &found["found"][0];
    assert_eq!(
        (best["title"].as_str(), best["place"].as_str()),
        (Some("tariffs.pdf"), Some("page 173")),
        "{found}"
    );
    assert!(best["text"].as_str().unwrap().contains("1730 euros"), "{found}");
    let (status, same) = post_document(&machine, "by-api.pdf", long.clone()).await;
    assert_eq!(status, StatusCode::OK, "{same}");
    assert_eq!(
        (&same["outcome"], &same["unread_pages"]),
        (&json!("added"), &json!([]))
    );
    let (_, repeated) = post_document(&machine, "by-api.pdf", long.clone()).await;
    assert_eq!(repeated["outcome"], "unchanged");
    for (bytes, words) in [
        (encrypt_pdf(&short, "user"), "damaged or encrypted"),
        (long[..long.len() / 3].to_vec(), "damaged or encrypted"),
        (make_drawn_pdf(&["0 0 600 800 re f".to_owned()]), "has no text"),
    ] {
        let (status, told) = post_document(&machine, "bad.pdf", bytes).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{told}");
        assert!(told.to_string().contains(words), "{told}");
    }
    let refused = post_pages(&machine, &[machine.url("/health")]).await;
    assert!(refused[0].contains("private network"), "{refused:?}");
}

/// Runs the command that reads one document, with this much memory.
fn read_pdf(machine: &Machine, memory_mib: &str, file: &[u8]) -> Output {
    let mut reader = machine
        .command(&["read-document", "--memory-mib", memory_mib, "--seconds", "20"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A reader that ends early does not take all.
    let task = b"{\"media_type\":\"pdf\",\"charset\":null,\"purpose\":\"knowledge\"}\n";
    let mut input = reader.stdin.take().unwrap();
    let _ = input.write_all(task).and_then(|()| input.write_all(file));
    drop(input);
    reader.wait_with_output().unwrap()
}

#[tokio::test]
async fn a_document_that_wants_too_much_ends_its_own_reading_only() {
    let machine = Machine::serving(&[]);
    let page = vec!["Room 1 costs 10 euros.".to_owned()];
    let fine = make_pdf(&page);
    let read = read_pdf(&machine, "1024", &fine);
    let told = String::from_utf8(read.stdout).unwrap();
    assert!(read.status.success() && told.contains("costs 10 euros"), "{told}");
    assert!(
        !read_pdf(&machine, "200", &vec![b'%'; 300 * 1024 * 1024])
            .status
            .success()
    );
    // Values within values, as deep as a stack that is not guarded.
    let deep = format!("{}{}", "[".repeat(2_000_000), "]".repeat(2_000_000));
    let folder = make_folder(
        &machine,
        &[("deep.pdf", make_drawn_pdf(&[deep])), ("fine.pdf", fine)],
    );
    let (_, out, error) = run(&machine, &["add", "ana", folder.to_str().unwrap()]);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["added"], 1, "{told} {error}");
    assert!(!reason(&told, "deep.pdf").is_empty());
}

/// Starts a server of pages on loopback, which ends with the test; returns its URL.
fn start_page_server(pdf: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..read]).into_owned();
            let page = b"<h1>Cleaning</h1><p>A cleaning costs 70 euros.</p>".to_vec();
            let (status, header, body) = match text.split(' ').nth(1).unwrap_or_default() {
                "/cleaning" => ("200 OK", "content-type: text/html; charset=utf-8", page),
                "/moved" => ("302 Found", "location: /cleaning", Vec::new()),
                "/tariffs" => ("200 OK", "content-type: application/pdf", pdf.clone()),
                "/inside" => (
                    "302 Found",
                    "location: http://169.254.169.254/latest/meta-data/",
                    Vec::new(),
                ),
                "/round" => ("302 Found", "location: /round", Vec::new()),
                "/large" => ("200 OK", "content-type: text/plain", vec![b'a'; 5_000_000]),
                _ => ("404 Not Found", "x-page: none", Vec::new()),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\n{header}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            // Who refuses an answer reads it not to its end.
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&body));
        }
    });
    url
}

#[tokio::test]
async fn pages_go_in_by_their_urls_and_none_leads_into_a_private_network_unless_that_is_allowed() {
    let machine = Machine::serving(&[("RECADO_PRIVATE_PAGES", "true")]);
    let server = start_page_server(make_pdf(&["The X-ray costs 40 euros.".to_owned()]));
    let of = |path: &str| format!("{server}{path}");
    let (succeeded, out, _) = run(&machine, &["add", "ana", &of("/cleaning")]);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert!(!succeeded, "{told}");
    assert!(reason(&told, "/cleaning").contains("--allow-private"), "{told}");
    let list = machine.data().join("../pages.txt");
    let listed = ["/moved", "/tariffs", "/inside", "/round", "/large", "/absent"].map(of);
    fs::write(&list, format!("# our pages\n\n{}\n", listed.join("\n"))).unwrap();
    let arguments = ["add", "ana", "--urls", list.to_str().unwrap(), "--allow-private"];
    let (succeeded, out, _) = run(&machine, &arguments);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert!(!succeeded && told["added"] == 2, "{told}");
    for (path, words) in [
        ("/inside", "never asked"),
        ("/round", "more than 5 times"),
        ("/large", "4.8 MiB, and 4.0 MiB"),
        ("/absent", "404"),
    ] {
        assert!(reason(&told, path).contains(words), "{path}: {told}");
    }
    let best = |question: &str| answer(&machine, &["search", "ana", question])["found"][0].clone();
    let cleaning = best("What does a cleaning cost?");
    assert_eq!(
        (&cleaning["title"], &cleaning["place"]),
        (&of("/moved").into(), &"Cleaning".into()),
        "{cleaning}"
    );
    assert!(cleaning["text"].as_str().unwrap().contains("70 euros"));
    assert_eq!(best("X-ray")["place"], "page 1");
    let listed = ["/cleaning", "/tariffs", "/inside", "/large", "/absent"].map(of);
    let told = post_pages(&machine, &listed).await;
    for (told, words) in told
        .iter()
        .zip(["added", "replaced", "never asked", "4194304 bytes", "404"])
    {
        assert!(told.contains(words), "{told}");
    }
}
