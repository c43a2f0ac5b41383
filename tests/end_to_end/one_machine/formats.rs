//! Data folders of released formats. `tests/write_formats.sh` makes the one of the present format, by the real program.

use crate::examples::list_example_commands;
use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::kept_answers::{PASSING, find_missing};
use recado_testkit::servers::Behaviour;
use recado_testkit::webhooks::evolution_text;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const FORMATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/formats");

/// What the folder holds, and what belongs to the process.
const KEPT: [&str; 5] = ["recado.db", "intake.db", "payloads", "files", "operator-token"];

/// The lists that are compared, of records that never expire. Those of a conversation and of an occasion are added for each.
const LISTS: [&str; 13] = [
    "/v1/config",
    "/v1/tenants",
    "/v1/agents",
    "/v1/instances",
    "/v1/calendars",
    "/v1/tools",
    "/v1/agents/bia/knowledge",
    "/v1/conversations?limit=100",
    "/v1/dead-letters",
    "/v1/tokens?tenant=demo",
    "/v1/webhooks?tenant=demo",
    "/v1/opt-outs?tenant=demo",
    "/v1/occasions?tenant=demo",
];

/// What there is of each item of a list: the place of its items, the list, and what is read below each.
const PARTS: [(&str, &str, &[&str]); 2] = [
    (
        "/v1/conversations",
        "/v1/conversations?limit=100",
        &["messages", "notes", "effects"],
    ),
    (
        "/v1/occasions",
        "/v1/occasions?tenant=demo",
        &["guests?tenant=demo"],
    ),
];

const CONTACT: &str = "5511900000002@s.whatsapp.net";
const UNSENT: &str = "Não chegou";
const DEAD: &str = "/v1/dead-letters?queue=outbound&reason=whatsapp_permanent_error";

/// A machine that answers at once, with every secret that the configuration of the folders names.
fn prepare_machine() -> Machine {
    Machine::prepared(&[
        ("RECADO_DEBOUNCE_SECONDS", "0"),
        ("RECADO_PUBLIC_URL", "http://127.0.0.1:9"),
        ("RECADO_CREDENTIAL_SHOP_KEY", "evolution-key"),
    ])
}

/// Reads all lists, by their paths.
async fn read_lists(machine: &Machine) -> Map<String, Value> {
    let mut paths: Vec<String> = LISTS.map(str::to_owned).to_vec();
    let mut found = Map::new();
    for (place, list, parts) in PARTS {
        let items = machine.get(list).await;
        for item in items["items"].as_array().unwrap() {
            let id = item["id"].as_str().unwrap();
            paths.extend(parts.iter().map(|part| format!("{place}/{id}/{part}")));
        }
    }
    for path in paths {
        found.insert(path.clone(), machine.get(&path).await);
    }
    found
}

fn run_tar(arguments: &[&str]) {
    assert!(Command::new("tar").args(arguments).status().unwrap().success());
}

/// The folders of `tests/formats`, one of each released format.
fn list_releases() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(FORMATS).unwrap();
    let folders = folders.map(|folder| folder.unwrap().path());
    folders.filter(|folder| folder.is_dir()).collect()
}

#[tokio::test]
async fn a_folder_of_each_released_format_is_opened_read_and_worked_on() {
    let releases = list_releases();
    assert!(!releases.is_empty());
    for release in releases {
        Box::pin(work_on_folder(&release)).await;
    }
}

/// Opens the folder of a release: what its program answered is still there, and work goes on.
async fn work_on_folder(release: &Path) {
    let mut machine = prepare_machine();
    std::fs::create_dir_all(machine.data()).unwrap();
    let archive = release.join("folder.tar.gz");
    run_tar(&[
        "-xzf",
        archive.to_str().unwrap(),
        "--no-same-owner",
        "-C",
        machine.data().to_str().unwrap(),
    ]);
    machine.start("serve");
    let before = std::fs::read_to_string(release.join("answers.json")).unwrap();
    for (path, before) in serde_json::from_str::<Map<String, Value>>(&before).unwrap() {
        let now = machine.get(&path).await;
        assert_eq!(
            find_missing(&before, &now, &[&PASSING[..], &["media_url"]].concat()),
            None,
            "{}: {path}",
            release.display()
        );
    }
    let received = evolution_text(INSTANCE, CONTACT, "NEW", "E agora?", seconds());
    assert_eq!(machine.evolution(&received).await, StatusCode::OK);
    let number = CONTACT.split('@').next().unwrap();
    eventually("the answer", || async {
        let phone = machine.stand_ins.evolution.phone();
        phone.iter().any(|sent| sent.to.contains(number)).then_some(())
    })
    .await;
    let letters = machine.get(DEAD).await;
    let id = letters["items"][0]["id"].as_str().unwrap();
    let (status, redriven) = machine
        .api(Method::POST, &format!("/v1/dead-letters/{id}/redrive"), None)
        .await;
    assert!(status.is_success(), "{redriven}");
    eventually("what is redriven", || async {
        let phone = machine.stand_ins.evolution.phone();
        phone.iter().any(|sent| sent.text == UNSENT).then_some(())
    })
    .await;
}

/// Writes the folder of the present format, and what this program answers about it, into the folder that
/// `RECADO_FORMAT_FOLDER` names.
#[tokio::test]
#[ignore = "writes a fixture: tests/write_formats.sh runs it"]
async fn write_the_folder_of_the_present_format() {
    let to = PathBuf::from(std::env::var("RECADO_FORMAT_FOLDER").unwrap());
    std::fs::create_dir_all(&to).unwrap();
    let mut machine = prepare_machine();
    let real_keys = [
        ("EVOLUTION_API_KEY", "evolution-key"),
        ("META_ACCESS_TOKEN", "meta-token"),
        ("ANTHROPIC_API_KEY", "anthropic-key"),
    ];
    for (name, _) in real_keys {
        machine.unset(name);
    }
    machine.unset("RECADO_TOKEN");
    machine.start("");
    eventually("the demonstration", || async {
        machine.output().contains("Ctrl-C stops").then_some(())
    })
    .await;
    run_examples(&machine);
    assert_eq!(machine.stop("-TERM").code(), Some(0));
    // Then with providers, of which one refuses a message.
    for (name, value) in real_keys {
        machine.set(name, value);
    }
    machine.set("RECADO_TOKEN", crate::machine::TOKEN);
    machine.start("serve");
    let received = evolution_text(INSTANCE, CONTACT, "OLD", "Bom dia", seconds());
    assert_eq!(machine.evolution(&received).await, StatusCode::OK);
    let absent = json!({"status": 400, "error": "Bad Request", "response": {"message": [{"exists": false, "jid": "x", "number": "x"}]}});
    let evolution = &machine.stand_ins.evolution;
    evolution.next_for(UNSENT, Behaviour::status(400, absent));
    let path = format!("/v1/instances/{INSTANCE}/messages");
    let asked = json!({"to": "+55 11 90000-0003", "text": UNSENT});
    assert!(machine.api(Method::POST, &path, Some(asked)).await.0.is_success());
    eventually("the dead letter", || async {
        let letters = machine.get(DEAD).await;
        letters["items"].get(0).map(|_| ())
    })
    .await;
    machine.quiet().await;
    let answers = serde_json::to_string_pretty(&read_lists(&machine).await).unwrap();
    std::fs::write(to.join("answers.json"), answers + "\n").unwrap();
    assert_eq!(machine.stop("-TERM").code(), Some(0));
    let (archive, data) = (to.join("folder.tar.gz"), machine.data());
    let mut arguments = vec![
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "-czf",
        archive.to_str().unwrap(),
        "-C",
        data.to_str().unwrap(),
    ];
    arguments.extend(KEPT);
    run_tar(&arguments);
}

/// Runs the examples of docs/http-examples.md that leave something behind for good.
fn run_examples(machine: &Machine) {
    let mut script = "set -euo pipefail; curl() { command curl --fail-with-body \"$@\"; }\n".to_owned();
    // The rotated secret of a webhook is refused an hour later.
    let left_out = [
        "-X DELETE",
        "/contacts/erase",
        "/instances/suporte-01/secret/rotate",
    ];
    let is_left_out = |line: &str| left_out.iter().any(|part| line.contains(part));
    for commands in list_example_commands() {
        if commands.contains("/v1/alerts") {
            break;
        }
        for line in commands.lines().filter(|line| !is_left_out(line)) {
            script.push_str(line);
            script.push('\n');
        }
    }
    let script = script
        .replace("http://127.0.0.1:8080", &machine.url(""))
        .replace(".recado/", &format!("{}/", machine.data().display()));
    let ran = Command::new("bash").args(["-c", &script]).output().expect("bash");
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success(),
        "{}{told}",
        String::from_utf8_lossy(&ran.stdout)
    );
}
