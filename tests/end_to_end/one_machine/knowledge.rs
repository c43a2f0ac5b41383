//! Documents of the business go in by the command line, and answers follow them.

use crate::machine::{INSTANCE, Machine, seconds};
use recado_testkit::webhooks::evolution_text;
use serde_json::Value;
use std::fs;

const MARIA: &str = "5511900000001@s.whatsapp.net";

pub(crate) fn run(machine: &Machine, arguments: &[&str]) -> (bool, String, String) {
    let url = machine.url("");
    let mut all = vec!["--json"];
    all.extend(["--url", &url]);
    let arguments = [&["knowledge"][..], arguments, &all[..]].concat();
    let output = machine.command(&arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

pub(crate) fn answer(machine: &Machine, arguments: &[&str]) -> Value {
    let (succeeded, out, error) = run(machine, arguments);
    assert!(succeeded, "{arguments:?}: {error}");
    serde_json::from_str(&out).unwrap()
}

/// Asks, and returns what the model was sent for it and the turn of the reply.
pub(crate) async fn ask(machine: &Machine, number: usize, question: &str) -> (String, Value) {
    let id = format!("Q{number}");
    let body = evolution_text(INSTANCE, MARIA, &id, question, seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    machine.phone(number).await;
    machine.quiet().await;
    let asked = machine.stand_ins.anthropic.requests().pop().unwrap().body;
    let conversation = machine.conversation().await;
    let messages = machine.messages(&conversation).await;
    let reply = messages.last().unwrap()["id"].as_str().unwrap().to_owned();
    let timeline = machine.get(&format!("/v1/messages/{reply}")).await;
    let stages = timeline["way"].as_array().unwrap().clone();
    let turn = stages.into_iter().find(|stage| stage["step"] == "turn").unwrap();
    (asked["system"].to_string(), turn["detail"]["knowledge"].clone())
}

#[tokio::test]
async fn a_document_goes_in_and_the_next_answers_follow_it() {
    let machine = Machine::serving(&[]);
    let folder = machine.data().join("../documents");
    fs::create_dir_all(&folder).unwrap();
    let (prices, bad) = (folder.join("prices.md"), folder.join("bad.md"));
    fs::write(&prices, "# Prices\nThe vaccine costs 90 euros.\n").unwrap();
    fs::write(&bad, " \n").unwrap();
    let path = folder.to_str().unwrap();
    let (succeeded, out, error) = run(&machine, &["add", "ana", path]);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert!(
        !succeeded && error.contains("bad.md") && error.contains("no text"),
        "{error}"
    );
    assert_eq!(
        (&told["added"], told["refused"].as_array().map(Vec::len)),
        (&1.into(), Some(1))
    );
    let (asked, used) = ask(&machine, 1, "What does the vaccine cost?").await;
    assert!(asked.contains("The vaccine costs 90 euros."), "{asked}");
    assert_eq!(
        (&used["blocks"][0]["title"], &used["search"]),
        (&"prices.md".into(), &"lexical".into()),
        "{used}"
    );
    fs::write(&prices, "# Prices\nThe vaccine costs 95 euros.\n").unwrap();
    let file = prices.to_str().unwrap();
    assert_eq!(answer(&machine, &["add", "ana", file])["replaced"], 1);
    assert_eq!(answer(&machine, &["add", "ana", file])["unchanged"], 1);
    let found = answer(&machine, &["search", "ana", "vaccine"]);
    assert_eq!(found["found"][0]["place"], "Prices", "{found}");
    let (asked, _) = ask(&machine, 2, "And today, what does the vaccine cost?").await;
    assert!(
        asked.contains("95 euros") && !asked.contains("90 euros"),
        "{asked}"
    );
    answer(&machine, &["remove", "ana", "prices.md"]);
    assert_eq!(
        answer(&machine, &["list", "ana"])["sources"]
            .as_array()
            .map(Vec::len),
        Some(0)
    );
    let (asked, used) = ask(&machine, 3, "What does the vaccine cost?").await;
    assert!(!asked.contains("euros"), "{asked}");
    assert_eq!(used["blocks"].as_array().map(Vec::len), Some(0), "{used}");
}
