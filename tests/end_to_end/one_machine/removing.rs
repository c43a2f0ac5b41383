//! Instances are removed or disabled by `recado apply --prune`, after a look at what that means.

use crate::commands::{findings, grade, run};
use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::webhooks::evolution_text;

/// A file with the tenant and the agent of the sample, and one instance that nobody knows yet.
fn write_file(machine: &Machine) -> String {
    let file = machine.data().with_file_name("other.toml");
    let sample = include_str!("../../../recado.toml").replace(&format!("\"{INSTANCE}\""), "\"recepcao\"");
    std::fs::write(&file, sample).unwrap();
    file.display().to_string()
}

#[tokio::test]
async fn pruning_shows_what_it_removes_and_asks() {
    let machine = Machine::serving(&[]);
    let body = evolution_text(INSTANCE, "5511900000071@s.whatsapp.net", "P1", "Oi", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    machine.phone(1).await;
    machine.quiet().await;
    let file = write_file(&machine);
    let asked = run(&machine, &["apply", &file, "--prune"]);
    assert!(!asked.success, "nobody can answer: {}", asked.out);
    assert!(
        asked.err.contains("removed   instance meta-01 (0 conversations)"),
        "{}",
        asked.err
    );
    let kept = format!("disabled  instance {INSTANCE} (1 conversation, readable as before)");
    assert!(
        asked.err.contains(&kept) && asked.err.contains("--yes"),
        "{}",
        asked.err
    );
    let before = machine.get("/v1/config").await;
    assert_eq!(before["document"]["instances"].as_array().unwrap().len(), 2);
    let preview = run(&machine, &["apply", &file, "--prune", "--dry-run"]);
    assert!(
        preview.success && preview.out.contains(&kept),
        "{}{}",
        preview.out,
        preview.err
    );
    assert_eq!(machine.get("/v1/config").await, before);
    let done = run(&machine, &["apply", &file, "--prune", "--yes"]);
    assert!(
        done.success && done.out.contains(&kept),
        "{}{}",
        done.out,
        done.err
    );
    // Its webhooks are acknowledged, and nobody answers.
    let body = evolution_text(
        INSTANCE,
        "5511900000071@s.whatsapp.net",
        "P2",
        "Ainda aí?",
        seconds(),
    );
    assert_eq!(machine.evolution(&body).await, 200);
    machine.quiet().await;
    machine.phone(1).await;
    let id = machine.conversation().await;
    assert_eq!(machine.messages(&id).await.len(), 2, "what it has stays readable");
    assert_eq!(
        machine.get("/v1/dead-letters").await["items"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    let found = findings(&run(&machine, &["doctor", "--json", INSTANCE]));
    let own = found.iter().filter(|finding| finding["instance"] == INSTANCE);
    assert!(
        own.clone().all(|finding| finding["grade"] != "broken"),
        "{found:?}"
    );
    assert_eq!(grade(&found, INSTANCE, "state"), "note");
}

#[tokio::test]
async fn purging_shows_what_it_deletes_and_asks() {
    let machine = Machine::serving(&[]);
    let unknown = evolution_text(
        "not-configured",
        "5511900000072@s.whatsapp.net",
        "U1",
        "Oi",
        seconds(),
    );
    machine.evolution(&unknown).await;
    let letters = async || {
        let list = machine.get("/v1/dead-letters").await;
        list["items"].as_array().unwrap().clone()
    };
    eventually("the dead letter", || async { letters().await.pop() }).await;
    let id = letters().await[0]["id"].as_str().unwrap().to_owned();
    for selection in [
        &["--all"][..],
        &["--since", "6h"],
        &["--queue", "inbound"],
        &[&id],
    ] {
        let arguments = [&["dlq", "purge"][..], selection].concat();
        let asked = run(&machine, &arguments);
        assert!(!asked.success, "nobody can answer: {}", asked.out);
        assert!(
            asked.err.contains(&id)
                && asked.err.contains("1 unknown_instance")
                && asked.err.contains("--yes"),
            "{}",
            asked.err
        );
        let preview = run(&machine, &[&arguments[..], &["--dry-run"]].concat());
        assert!(
            preview.success && preview.out.contains(&id),
            "{}{}",
            preview.out,
            preview.err
        );
        assert_eq!(letters().await.len(), 1, "{selection:?}");
    }
    // A filter that finds nothing deletes nothing.
    let none = run(&machine, &["dlq", "purge", "--until", "6h", "--yes"]);
    assert!(none.success, "{}", none.err);
    assert_eq!(letters().await.len(), 1);
    let other = run(&machine, &["dlq", "purge", "--queue", "outbound", "--yes"]);
    assert!(other.success, "{}", other.err);
    assert_eq!(letters().await.len(), 1, "another queue's");
    let done = run(&machine, &["dlq", "purge", "--queue", "inbound", "--yes"]);
    assert!(
        done.success && done.out.contains("deleted"),
        "{}{}",
        done.out,
        done.err
    );
    assert_eq!(letters().await.len(), 0);
    let nothing = run(&machine, &["dlq", "purge", "--all"]);
    assert!(nothing.success, "there is nothing to ask for: {}", nothing.err);
}
