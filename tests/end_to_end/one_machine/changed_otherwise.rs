//! A start applies what was edited in the file, and nothing over what people changed.

use crate::commands::run;
use crate::machine::{Machine, eventually};
use reqwest::{Method, StatusCode};
use serde_json::json;

/// Changes the prompt of the sample's agent by the API, as the console does.
async fn change_prompt(machine: &Machine, prompt: &str) {
    let mut agent = machine.get("/v1/agents/ana").await;
    agent["system_prompt"] = json!(prompt);
    let body = json!({"agents": [agent]});
    let (status, answer) = machine.api(Method::PUT, "/v1/config", Some(body)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

async fn read_prompt(machine: &Machine) -> String {
    let agent = machine.get("/v1/agents/ana").await;
    agent["system_prompt"].as_str().unwrap().to_owned()
}

/// Starts it again, and returns what it says of itself then.
async fn restart(machine: &mut Machine) -> String {
    machine.stop("-TERM");
    machine.start("serve");
    eventually("the last line of the welcome", || async {
        let output = machine.output();
        output.contains("recado doctor").then_some(output)
    })
    .await
}

#[tokio::test]
async fn what_a_person_changed_outlives_a_restart_and_is_written_back_into_the_file() {
    let mut machine = Machine::serving(&[]);
    let file = machine.data().with_file_name("recado.toml");
    let sample = std::fs::read_to_string(&file).unwrap();
    change_prompt(&machine, "As the manager says.\nIn \"two\" lines.").await;
    for _ in 0..2 {
        let told = restart(&mut machine).await;
        assert_eq!(
            read_prompt(&machine).await,
            "As the manager says.\nIn \"two\" lines."
        );
        assert!(told.contains("left so: agent ana"), "{told}");
    }
    let pulled = run(&machine, &["apply", &file.display().to_string(), "--pull"]);
    assert!(
        pulled.success && pulled.out.contains("agent ana: system_prompt"),
        "{}{}",
        pulled.out,
        pulled.err
    );
    assert_eq!(
        std::fs::read_to_string(file.with_extension("toml.old")).unwrap(),
        sample
    );
    let told = restart(&mut machine).await;
    assert!(!told.contains("agent ana"), "{told}");
    // An edited file is applied again.
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written.contains("opening hours are read in it"),
        "comments stay: {written}"
    );
    machine.configure(&written.replace("As the manager says.", "As the file says."));
    restart(&mut machine).await;
    assert!(read_prompt(&machine).await.starts_with("As the file says."));
}

#[tokio::test]
async fn what_was_edited_and_changed_otherwise_is_named_and_a_person_applies_the_file() {
    let mut machine = Machine::serving(&[]);
    change_prompt(&machine, "As the manager says.").await;
    let edited = Machine::sample().replacen("You are Ana,", "You are the new Ana,", 1);
    machine.configure(&edited.replacen("Demo clinic\"", "New clinic\"", 1));
    restart(&mut machine).await;
    assert_eq!(read_prompt(&machine).await, "As the manager says.");
    let tenant = machine.get("/v1/tenants/demo").await;
    assert_eq!(tenant["name"], "New clinic", "the rest of the file is applied");
    let file = machine.data().with_file_name("recado.toml").display().to_string();
    let applied = run(&machine, &["apply", &file]);
    assert!(applied.success, "{}", applied.err);
    let told = restart(&mut machine).await;
    assert!(read_prompt(&machine).await.contains("the new Ana"));
    assert!(!told.contains("agent ana"), "{told}");
}

#[tokio::test]
async fn what_a_person_removed_does_not_come_back_at_a_start() {
    let mut machine = Machine::serving(&[]);
    let (status, answer) = machine
        .api(Method::DELETE, "/v1/instances/meta-01?force=true", None)
        .await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let told = restart(&mut machine).await;
    let (status, _) = machine.api(Method::GET, "/v1/instances/meta-01", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(told.contains("instance meta-01 (removed)"), "{told}");
}
