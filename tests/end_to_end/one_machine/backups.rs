//! Backups that are taken while Recado works, and what a restored installation does about what it does not remember.

use crate::machine::{
    APP_SECRET, INSTANCE, Machine, PATIENCE, PHONE_NUMBER_ID, UNTIL_LET_GO, eventually, seconds,
};
use recado_testkit::servers::Behaviour;
use recado_testkit::webhooks::{evolution_text, meta_signature, meta_text};
use reqwest::StatusCode;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const ANSWERED: &str = "5511900000001@s.whatsapp.net";
const OWED: &str = "5511900000002@s.whatsapp.net";
const LEAVING: &str = "5511900000003@s.whatsapp.net";
const LATER: &str = "5511900000004@s.whatsapp.net";
const NEW: &str = "5511900000005@s.whatsapp.net";

/// Replies are written at once, and what is doubted is not looked for longer than once.
const AT_ONCE: [(&str, &str); 4] = [
    ("RECADO_DEBOUNCE_SECONDS", "0"),
    ("RECADO_UNKNOWN_WAIT_SECONDS", "0"),
    ("RECADO_RATE_PER_SECOND", "50"),
    ("RECADO_RATE_BURST", "50"),
];

fn folder(machine: &Machine, name: &str) -> PathBuf {
    machine.data().with_file_name(name)
}

/// Runs a command that must succeed, and returns what it prints as JSON.
fn run(machine: &Machine, arguments: &[&str]) -> Value {
    let output = machine.command(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn back_up(machine: &Machine) -> Value {
    let to = folder(machine, "backup");
    run(machine, &["backup", to.to_str().unwrap(), "--json"])
}

/// Ends the machine without warning, and starts it on what is made of the backup.
fn restore(machine: &mut Machine) {
    machine.kill();
    let (from, to) = (folder(machine, "backup"), folder(machine, "restored"));
    let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
    run(machine, &["backup", from, "--check", "--json"]);
    run(machine, &["restore", from, "--to", to, "--json"]);
    machine.set("RECADO_DATA", to);
    machine.start("serve");
}

async fn write(machine: &Machine, contact: &str, id: &str, text: &str) {
    let webhook = evolution_text(INSTANCE, contact, id, text, seconds());
    assert_eq!(machine.evolution(&webhook).await, StatusCode::OK);
}

/// The messages that each contact got.
fn got(machine: &Machine) -> BTreeMap<String, usize> {
    let mut got = BTreeMap::new();
    for delivered in machine.stand_ins.evolution.phone() {
        *got.entry(delivered.to).or_default() += 1;
    }
    got
}

/// The conversations by the phone numbers of their contacts.
async fn conversations(machine: &Machine) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut path = "/v1/conversations?limit=200".to_owned();
    loop {
        let page = machine.get(&path).await;
        for conversation in page["items"].as_array().unwrap() {
            let phone = conversation["contact"]["phone"].as_str().unwrap();
            found.insert(phone.trim_start_matches('+').to_owned(), conversation.clone());
        }
        let Some(cursor) = page["next_cursor"].as_str() else {
            return found;
        };
        path = format!("/v1/conversations?limit=200&cursor={cursor}");
    }
}

async fn find_conversation(machine: &Machine, contact: &str) -> Value {
    let phone = contact.split('@').next().unwrap();
    eventually("the conversation", || async {
        conversations(machine).await.remove(phone)
    })
    .await
}

#[tokio::test]
async fn what_was_sent_after_the_backup_is_not_sent_again_and_what_was_owed_waits_for_a_person() {
    let mut machine = Machine::serving(&AT_ONCE);
    write(&machine, ANSWERED, "A1", "Oi").await;
    machine.phone(1).await;
    machine.quiet().await;
    machine.stand_ins.anthropic.next(Behaviour::Hang(UNTIL_LET_GO));
    write(&machine, OWED, "O1", "Tem vaga?").await;
    machine.stand_ins.anthropic.wait_for_requests(2, PATIENCE).await;
    machine.stand_ins.evolution.next(Behaviour::Hang(UNTIL_LET_GO));
    write(&machine, LEAVING, "L1", "Quanto custa?").await;
    machine.stand_ins.evolution.wait_for_requests(2, PATIENCE).await;
    let made = back_up(&machine);
    assert!(made["bytes"].as_u64() > Some(0), "{made}");
    // After the backup all of them get their reply, and somebody else writes.
    machine.stand_ins.anthropic.let_go();
    machine.stand_ins.evolution.let_go();
    write(&machine, LATER, "T1", "Boa tarde").await;
    machine.phone(4).await;
    let before = got(&machine);
    restore(&mut machine);
    assert!(
        machine.output().contains("comes from a backup"),
        "{}",
        machine.output()
    );
    let conversation = find_conversation(&machine, LEAVING).await;
    eventually("the evidence", || async {
        let messages = machine.messages(conversation["id"].as_str().unwrap()).await;
        (messages.last()?["status"] == "sent").then_some(())
    })
    .await;
    // The agent goes on with who writes now.
    write(&machine, NEW, "N1", "Olá").await;
    machine.phone(5).await;
    machine.quiet().await;
    let mut expected = before.clone();
    let new = got(&machine).keys().find(|to| !before.contains_key(*to)).cloned();
    expected.insert(new.unwrap(), 1);
    assert_eq!(got(&machine), expected, "nobody got a message twice");
    let owed = find_conversation(&machine, OWED).await;
    let by_person = owed["mode"] == "manual" || owed["needs_person"] == "unknown_outcome";
    assert!(
        by_person,
        "a reply that is not remembered may have gone out: {owed}"
    );
}

#[tokio::test]
async fn where_the_provider_tells_nothing_what_was_to_be_sent_is_given_up() {
    let mut machine = Machine::serving(&AT_ONCE);
    machine.stand_ins.meta.next(Behaviour::Hang(UNTIL_LET_GO));
    let body = meta_text(PHONE_NUMBER_ID, "5511900000003", "wamid.IN1", "Oi", seconds()).to_string();
    let request = machine
        .http
        .post(machine.url("/webhooks/meta"))
        .header("X-Hub-Signature-256", meta_signature(APP_SECRET, body.as_bytes()));
    assert_eq!(request.body(body).send().await.unwrap().status(), StatusCode::OK);
    machine.stand_ins.meta.wait_for_requests(1, PATIENCE).await;
    back_up(&machine);
    machine.stand_ins.meta.let_go();
    machine.stand_ins.meta.wait_for_phone(1, PATIENCE).await;
    restore(&mut machine);
    eventually("the dead letter", || async {
        let letters = machine.get("/v1/dead-letters").await;
        (letters["items"][0]["reason"] == "unknown_outcome").then_some(())
    })
    .await;
    assert_eq!(machine.stand_ins.meta.phone().len(), 1);
}

#[tokio::test]
async fn of_a_backup_under_load_nothing_that_was_acknowledged_is_lost() {
    let mut machine = Machine::serving(&AT_ONCE);
    let (acknowledged, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let phone = |number: usize| format!("55119{number:08}");
    let load = async {
        for number in 0.. {
            if ended.load(Ordering::Relaxed) {
                return;
            }
            let contact = format!("{}@s.whatsapp.net", phone(number));
            // Some bodies are too large for the record.
            let text = "Oi! ".repeat(if number % 7 == 0 { 40_000 } else { 1 });
            write(&machine, &contact, &format!("M{number}"), &text).await;
            acknowledged.store(number + 1, Ordering::Relaxed);
        }
    };
    let backup = async {
        eventually("some load", || async {
            (acknowledged.load(Ordering::Relaxed) >= 20).then_some(())
        })
        .await;
        let before = acknowledged.load(Ordering::Relaxed);
        let to = folder(&machine, "backup");
        let mut command = machine.command(&["backup", to.to_str().unwrap()]);
        let done = tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap();
        ended.store(true, Ordering::Relaxed);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        before
    };
    let ((), before) = tokio::join!(load, backup);
    assert!(acknowledged.load(Ordering::Relaxed) > before, "there was no load");
    restore(&mut machine);
    machine.quiet().await;
    let found = conversations(&machine).await;
    for number in 0..before {
        assert!(
            found.contains_key(&phone(number)),
            "{number} of {before} was acknowledged before"
        );
    }
    assert!(
        got(&machine).values().all(|count| *count == 1),
        "{:?}",
        got(&machine)
    );
}
