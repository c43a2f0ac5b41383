//! The examples of docs/http-examples.md, run as a reader runs them: pasted into a shell beside a fresh installation.

use crate::machine::{Machine, eventually};
use serde_json::Value;
use std::process::Command;

const PAGE: &str = include_str!("../../../docs/http-examples.md");

/// The page's fenced blocks, each with its language.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let fenced = PAGE.split("\n```").skip(1);
    let blocks = fenced.filter_map(|block| block.split_once('\n'));
    blocks.filter(|(language, _)| !language.is_empty()).collect()
}

/// The commands and the answer that the page shows below them, if any.
fn examples() -> Vec<(&'static str, Option<Value>)> {
    let mut examples: Vec<(&str, Option<Value>)> = Vec::new();
    for (language, text) in blocks() {
        match language {
            "sh" => examples.push((text, None)),
            _ => examples.last_mut().unwrap().1 = Some(serde_json::from_str(text).unwrap()),
        }
    }
    examples
}

/// The commands of the page, in order.
pub(crate) fn list_example_commands() -> Vec<&'static str> {
    examples().into_iter().map(|(commands, _)| commands).collect()
}

/// The first difference between the answer and what the page shows: a field that is missing or of another type, or
/// another word. Ids, times and texts differ.
fn find_difference(told: &Value, answer: &Value) -> Option<String> {
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    match (told, answer) {
        (Value::Object(told), Value::Object(answer)) => told.iter().find_map(|(name, told)| {
            let fault = answer.get(name).map(|field| find_difference(told, field));
            let fault = fault.unwrap_or_else(|| Some("is missing".to_owned()));
            fault.map(|fault| format!("{name}: {fault}"))
        }),
        (Value::Array(told), Value::Array(answer)) => told.iter().find_map(|told| {
            let faults: Vec<_> = answer.iter().map(|item| find_difference(told, item)).collect();
            faults
                .iter()
                .all(Option::is_some)
                .then(|| format!("no item is as told: {faults:?}"))
        }),
        (Value::String(told), Value::String(answer)) => {
            (is_word(told) && told != answer).then(|| format!("{answer} in place of {told}"))
        }
        (Value::Number(_), Value::Number(_)) => None,
        _ => (told != answer).then(|| format!("{answer} in place of {told}")),
    }
}

#[tokio::test]
async fn every_example_of_the_api_works_as_pasted() {
    let mut machine = Machine::prepared(&[
        ("META_ACCESS_TOKEN", ""),
        ("ANTHROPIC_API_KEY", ""),
        ("RECADO_PUBLIC_URL", "http://127.0.0.1:9"),
        ("RECADO_CREDENTIAL_SHOP_KEY", "evolution-key"),
    ]);
    machine.unset("EVOLUTION_API_KEY");
    machine.unset("RECADO_TOKEN");
    machine.start("");
    eventually("the demonstration", || async {
        machine.output().contains("Ctrl-C stops").then_some(())
    })
    .await;
    // A call that is refused ends the script. A line of `#` parts the answers.
    let mut script = "set -euo pipefail; curl() { command curl --fail-with-body \"$@\"; }\n".to_owned();
    for (commands, _) in examples() {
        script.push_str(commands);
        script.push_str("\nprintf '\\n###\\n'\n");
    }
    let script = script
        .replace("http://127.0.0.1:8080", &machine.url(""))
        .replace(".recado/", &format!("{}/", machine.data().display()));
    let ran = Command::new("bash").args(["-c", &script]).output().expect("bash");
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{printed}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let answers: Vec<&str> = printed.split("\n###\n").collect();
    assert_eq!(answers.len(), examples().len() + 1);
    for ((commands, told), answer) in examples().iter().zip(answers) {
        let Some(told) = told else {
            assert_eq!(answer.trim(), "", "{commands}");
            continue;
        };
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(find_difference(told, &answer), None, "{commands}\n{answer}");
    }
}
