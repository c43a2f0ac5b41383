//! The command line finds the server of its machine, says in one line what is wrong if it does not, and outlives a closed
//! pipe.

use crate::commands::run;
use crate::machine::{Machine, eventually};
use recado_testkit::servers::scripted::{Does, StandIn};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;

#[tokio::test]
async fn commands_find_the_server_by_its_data_folder() {
    let mut machine = Machine::serving(&[]);
    let address = std::fs::read_to_string(machine.data().join("address")).unwrap();
    assert_eq!(address.trim(), machine.url(""));
    let ran = run(&machine, &["dlq", "list"]);
    assert!(ran.success, "{}", ran.err);
    assert_eq!(ran.out, "No dead letters.\n");
    // The address of the settings counts only where the folder says nothing.
    let url = machine.url("");
    machine.kill();
    let ran = run(&machine, &["dlq", "list"]);
    assert!(!ran.success);
    assert_eq!(
        ran.err,
        format!("recado: No Recado at {url}. Start it (recado serve), or say where it is: --url.\n")
    );
    std::fs::remove_file(machine.data().join("address")).unwrap();
    machine.set("RECADO_ADDR", "127.0.0.1:1");
    let ran = run(&machine, &["dlq", "list"]);
    assert!(
        ran.err.contains("No Recado at http://127.0.0.1:1."),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn a_url_without_scheme_works_for_this_machine_and_what_is_wrong_with_others_is_said() {
    let machine = Machine::serving(&[]);
    let short = machine.url("").replace("http://", "");
    let ran = run(&machine, &["dlq", "list", "--url", &short]);
    assert!(ran.success, "{}", ran.err);
    for (url, said) in [
        ("recado.example", "begin it with https://"),
        (
            machine.url("").replace("http:", "https:").as_str(),
            "no TLS is spoken on this port",
        ),
    ] {
        let ran = run(&machine, &["dlq", "list", "--url", url]);
        assert!(!ran.success && ran.err.contains(said), "{url}: {}", ran.err);
        assert!(
            ran.err.lines().count() == 1 && ran.err.contains(url),
            "{url}: {}",
            ran.err
        );
    }
}

#[test]
fn a_missing_token_says_where_it_was_looked_for() {
    let mut machine = Machine::prepared(&[]);
    machine.unset("RECADO_TOKEN");
    let ran = run(&machine, &["dlq", "list"]);
    assert!(!ran.success);
    let file = machine.data().join("operator-token").display().to_string();
    assert!(
        ran.err.contains(&file) && ran.err.contains("RECADO_DATA"),
        "{}",
        ran.err
    );
}

#[test]
fn the_help_says_what_recado_alone_does() {
    let ran = run(&Machine::prepared(&[]), &["--help"]);
    let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("Without a command: serves on this machine"),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn a_reader_who_goes_away_ends_neither_a_command_nor_the_server() {
    let machine = Machine::serving(&[]);
    for command in [&["dlq", "list"][..], &["doctor"], &["apply", "none.toml"]] {
        let mut child = machine
            .command(command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        // A panic ends with 101.
        assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)), "{command:?}");
    }
}

#[tokio::test]
async fn a_server_whose_reader_goes_away_serves_on() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut machine = Machine::prepared(&[]);
    machine.set("RECADO_ADDR", &address.to_string());
    let mut server = machine
        .command(&["serve"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    drop(server.stderr.take());
    // A refused webhook is logged to the closed standard error.
    eventually("an answer", || async {
        let url = format!("http://{address}/webhooks/evolution");
        machine.http.post(url).body("{}").send().await.ok()
    })
    .await;
    let stop = std::process::Command::new("kill")
        .arg(server.id().to_string())
        .status();
    assert!(stop.unwrap().success());
    assert!(server.wait().unwrap().success());
}

/// A shop's web page may answer 200 at this address, too.
#[tokio::test(flavor = "multi_thread")]
async fn the_answer_of_another_program_is_an_error() {
    let machine = Machine::prepared(&[]);
    let html = vec![("content-type", "text/html")];
    let shop = StandIn::start(vec![Does::AnswersWith(200, html, "<p>Shop</p>".to_owned())]).await;
    for command in [
        "status",
        "dlq list",
        "alerts",
        "conversations",
        "conversations list --waiting",
        "audit",
        "usage",
        "trends",
        "token list",
        "webhooks list",
        "find Maria",
        "api GET /v1/alerts",
    ] {
        let words: Vec<&str> = command.split(' ').chain(["--url", &shop.url]).collect();
        let ran = run(&machine, &words);
        assert!(!ran.success && ran.out.is_empty(), "{command}: {}", ran.out);
        assert!(
            ran.err.contains(&shop.url) && ran.err.contains("not as a Recado does"),
            "{command}: {}",
            ran.err
        );
    }
}

#[tokio::test]
async fn a_filter_that_names_nothing_known_is_an_error() {
    let machine = Machine::serving(&[]);
    for (command, unknown) in [
        ("conversations --instance nope", "there is no instance nope"),
        ("dlq list --instance nope", "there is no instance nope"),
        (
            "dlq redrive --instance nope --dry-run",
            "there is no instance nope",
        ),
        ("trends --instance nope", "there is no such tenant or instance"),
        ("alerts list --tenant nope", "there is no tenant nope"),
        ("audit --tenant nope", "there is no tenant nope"),
        ("guests list nope", "404"),
        ("deliver batches list --tenant nope", "no such tenant"),
        ("usage --tenant nope", "404"),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let ran = run(&machine, &words);
        assert!(
            !ran.success && ran.err.contains(unknown),
            "{command}: {}{}",
            ran.out,
            ran.err
        );
    }
    let nothing = run(&machine, &["find", " "]);
    assert!(
        !nothing.success && nothing.err.contains("what to look for"),
        "{}",
        nothing.err
    );
    let known = run(&machine, &["dlq", "list", "--instance", "suporte-01"]);
    assert!(known.success, "{}", known.err);
}
