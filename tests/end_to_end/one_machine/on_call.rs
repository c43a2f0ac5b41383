//! What whoever is on call is told of a fault, and the commands of runbooks, played against the faults that they are for.

use crate::commands::{Ran, run};
use crate::machine::{INSTANCE, Machine, PATIENCE, eventually, eventually_within, seconds};
use recado_domain::Timestamp;
use recado_testkit::servers::Behaviour;
use recado_testkit::servers::scripted::{Does, StandIn};
use recado_testkit::webhooks::evolution_text;
use serde_json::{Value, json};

const MARIA: &str = "5511900000001@s.whatsapp.net";
const JOAO: &str = "5511900000002@s.whatsapp.net";

/// Runs the commands in the blocks of a runbook, as it is printed. Each place in them takes the thing that stands beside it.
fn play_runbook(machine: &Machine, kind: &str, things: &[(&str, &str)]) -> Vec<(String, Ran)> {
    let book = run(machine, &["alerts", "runbook", kind]);
    assert!(book.success, "{kind}: {}", book.err);
    let mut played = Vec::new();
    for line in book.out.lines() {
        let Some(command) = line.strip_prefix("       recado ") else {
            continue;
        };
        let (command, _) = command.split_once(" # ").unwrap_or((command, ""));
        let mut command = command.trim().to_owned();
        for (place, thing) in things {
            command = command.replace(place, thing);
        }
        let words: Vec<&str> = command
            .split_whitespace()
            .map(|word| word.trim_matches('"'))
            .collect();
        let ran = run(machine, &words);
        played.push((command, ran));
    }
    assert!(!played.is_empty(), "{kind} has no command");
    played
}

/// The ids of the conversations in which a person is waited for.
async fn waiting(machine: &Machine) -> Vec<String> {
    let list = machine.get("/v1/conversations?waiting=true").await;
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

async fn firing(machine: &Machine, kind: &str) -> Option<()> {
    let list = machine.get("/v1/alerts?state=firing").await;
    let items: &Vec<Value> = list["items"].as_array().unwrap();
    items.iter().any(|alert| alert["kind"] == kind).then_some(())
}

#[tokio::test]
async fn a_model_that_is_gone_is_told_everywhere_and_its_runbook_brings_the_answers() {
    let machine = Machine::serving(&[]);
    let gone =
        json!({"type": "error", "error": {"type": "not_found_error", "message": "model: claude-retired"}});
    machine.stand_ins.anthropic.usually(Behaviour::status(404, gone));
    for (jid, id) in [(MARIA, "M1"), (JOAO, "M2")] {
        let body = evolution_text(INSTANCE, jid, id, "Oi", seconds());
        assert_eq!(machine.evolution(&body).await, 200);
    }
    machine.phone(2).await;
    let degraded = || async {
        let health = machine.get("/health/whatsapp").await;
        (health["status"] == "degraded").then_some(())
    };
    eventually("the health tells it", degraded).await;
    let shown = run(&machine, &["status"]);
    let head = shown.out.lines().next().unwrap();
    assert!(
        head.ends_with(": degraded") || head.ends_with(": unhealthy"),
        "{head}"
    );
    assert!(shown.out.contains("the model fails since"), "{}", shown.out);
    assert!(run(&machine, &["doctor"]).out.contains("404"));
    let waits = waiting(&machine).await;
    let [one, other] = &waits[..] else {
        panic!("{waits:?}")
    };
    eventually_within(2 * PATIENCE, "the alert", || firing(&machine, "model_fails")).await;

    machine.stand_ins.anthropic.usually(Behaviour::Normal);
    let played = play_runbook(&machine, "model_fails", &[("CONVERSATION", one.as_str())]);
    for (command, ran) in &played {
        // It judges the whole installation.
        let is_judging = command == "doctor";
        assert!(ran.success || is_judging, "{command}: {}{}", ran.out, ran.err);
    }
    let listed = played
        .iter()
        .find(|(command, _)| command == "conversations --waiting");
    let (_, listed) = listed.unwrap();
    assert!(
        listed.out.contains(one) && listed.out.contains(other),
        "{}",
        listed.out
    );
    assert!(run(&machine, &["conversations", "give-back", other]).success);
    let answered = || async {
        let messages = machine.messages(other).await;
        let last = messages.last()?;
        (last["content"] == "echo: Oi").then_some(())
    };
    eventually("the answer that was owed", answered).await;
    let healthy = || async {
        let health = machine.get("/health/whatsapp").await;
        (health["status"] == "healthy").then_some(())
    };
    eventually("the health", healthy).await;
    assert!(waiting(&machine).await.is_empty());
}

#[tokio::test]
async fn status_is_headed_by_a_full_disk() {
    let machine = Machine::serving(&[("RECADO_DISK_MIN_MB", "1000000000")]);
    let shown = run(&machine, &["status"]);
    let head: Vec<&str> = shown.out.lines().take(2).collect();
    assert!(
        head[0].ends_with(": unhealthy") && head[1] == "the disk is full",
        "{}",
        shown.out
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_runbooks_work_against_their_faults() {
    let endpoint = StandIn::start(vec![Does::Answers(500, "")]).await;
    let machine = Machine::serving(&[("RECADO_PRIVATE_TOOLS", "true")]);
    let url = format!("{}/recado", endpoint.url);
    let made = run(&machine, &["webhooks", "create", "crm", &url]);
    assert!(made.success, "{}", made.err);
    let gone = json!({"status": 400, "error": "Bad Request", "response": {"message": [{"exists": false, "jid": "x", "number": "x"}]}});
    machine.stand_ins.evolution.next(Behaviour::status(400, gone));
    let write = async |id: &str, text: &str| {
        let body = evolution_text(INSTANCE, MARIA, id, text, seconds());
        assert_eq!(machine.evolution(&body).await, 200);
    };
    write("R1", "Oi").await;
    let conversation = machine.conversation().await;
    let dead = || async {
        let list = machine.get("/v1/dead-letters").await;
        (!list["items"].as_array().unwrap().is_empty()).then_some(())
    };
    eventually("a dead letter", dead).await;
    assert!(run(&machine, &["conversations", "take", &conversation]).success);
    write("R2", "Tem alguém aí?").await;
    eventually("who waits", || async {
        (!waiting(&machine).await.is_empty()).then_some(())
    })
    .await;
    let since = Timestamp::from_second(seconds() - 20 * 86_400)
        .unwrap()
        .to_string();
    let things = [
        ("CONVERSATION", conversation.as_str()),
        ("ENDPOINT", "crm"),
        ("INSTANCE", INSTANCE),
        ("TENANT", "demo"),
        ("2026-11-01", &since[..10]),
    ];
    for kind in [
        "customer_waits",
        "person_needed",
        "dead_letters",
        "webhook_fails",
        "budget",
        "silent_instance",
        "slow_processing",
        "no_heartbeat",
        "not_acknowledged",
        "number_quality",
    ] {
        for (command, ran) in play_runbook(&machine, kind, &things) {
            // These end with an error if they find one.
            let is_judging = command.starts_with("doctor") || command.starts_with("webhooks test");
            let is_fine = ran.success || (is_judging && !ran.err.contains("Usage:"));
            assert!(is_fine, "{kind}: {command}: {}{}", ran.out, ran.err);
            if command == "conversations --waiting" {
                assert!(ran.out.contains(&conversation), "{}", ran.out);
            }
        }
    }
}
