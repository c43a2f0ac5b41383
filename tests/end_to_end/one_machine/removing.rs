//! Instances are removed or disabled by `recado apply --prune`, after a look at what that means.

use crate::commands::{findings, grade, run};
use crate::machine::{INSTANCE, Machine, seconds};
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
