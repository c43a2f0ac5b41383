//! `recado doctor` looks at the running Recado, its keys and its disk, and changes nothing.

use crate::commands::{findings, grade, run};
use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::servers::Behaviour;
use recado_testkit::webhooks::evolution_text;
use serde_json::{Value, json};

const MARIA: &str = "5511900000001@s.whatsapp.net";

/// What was found of the installation itself, or of an instance.
fn found(machine: &Machine) -> Vec<Value> {
    findings(&run(machine, &["doctor", "--json", INSTANCE]))
}

fn text<'a>(findings: &'a [Value], instance: &str, check: &str) -> &'a str {
    let finding = findings
        .iter()
        .find(|one| one["instance"] == instance && one["check"] == check);
    finding.unwrap_or_else(|| panic!("no {check} of {instance} in {findings:?}"))["found"]
        .as_str()
        .unwrap()
}

#[tokio::test]
async fn doctor_asks_the_model_and_names_a_refused_key_and_an_unknown_model() {
    let machine = Machine::serving(&[]);
    let anthropic = &machine.stand_ins.anthropic;
    assert_eq!(grade(&found(&machine), "-", "model"), "good");
    assert_eq!(anthropic.requests()[0].body["max_tokens"], 1);
    let unknown = json!({"type": "error", "error": {"type": "not_found_error", "message": "model: x"}});
    anthropic.next(Behaviour::status(404, unknown));
    let all = found(&machine);
    assert_eq!(grade(&all, "-", "model"), "broken");
    assert!(
        text(&all, "-", "model").contains("404 not_found_error"),
        "{all:?}"
    );
    anthropic.expect_credential("another-key");
    let all = found(&machine);
    assert_eq!(grade(&all, "-", "model"), "broken");
    assert!(text(&all, "-", "model").contains("status 401"), "{all:?}");
}

#[tokio::test]
async fn doctor_changes_nothing_and_counts_who_waits() {
    let mut machine = Machine::prepared(&[]);
    machine.unset("ANTHROPIC_API_KEY");
    machine.start("serve");
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "D1", "Oi", seconds()))
        .await;
    let unknown = evolution_text("not-configured", MARIA, "D2", "Oi", seconds());
    machine.evolution(&unknown).await;
    machine.conversation().await;
    eventually("the dead letter", || async {
        machine.get("/v1/dead-letters").await["items"].get(0).cloned()
    })
    .await;
    machine.quiet().await;
    let state = async || {
        machine
            .get(&format!("/health/whatsapp?instance={INSTANCE}"))
            .await["instances"][0]
            .clone()
    };
    let before = state().await;
    assert_eq!(before["llm_needs_credentials"], true);
    for _ in 0..2 {
        let all = found(&machine);
        assert_eq!(grade(&all, "-", "model"), "broken", "{all:?}");
        assert!(
            text(&all, "-", "waiting").starts_with("1 conversation wait"),
            "{all:?}"
        );
        assert!(text(&all, "-", "dead-letters").starts_with("1 "), "{all:?}");
    }
    let after = state().await;
    assert_eq!(
        (&after["llm_needs_credentials"], &after["status"]),
        (&json!(true), &json!("degraded"))
    );
    let ran = run(&machine, &["doctor"]);
    assert!(
        !ran.success && ran.out.contains("BAD") && ran.out.contains("recado dlq list"),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn doctor_looks_at_recados_own_keys_and_not_at_those_of_the_shell() {
    let mut machine = Machine::prepared(&[]);
    machine.unset("EVOLUTION_API_KEY");
    machine.start("serve");
    machine.set("EVOLUTION_API_KEY", "evolution-key");
    let all = found(&machine);
    assert_eq!(
        grade(&all, INSTANCE, "credential"),
        "good",
        "the shell's key is right"
    );
    assert_eq!(grade(&all, INSTANCE, "sends"), "broken");
    assert!(
        text(&all, INSTANCE, "sends").contains("EVOLUTION_API_KEY is not set"),
        "{all:?}"
    );
}

#[tokio::test]
async fn a_disk_without_the_room_that_is_asked_for_is_told_by_health_and_doctor() {
    let machine = Machine::serving(&[("RECADO_DISK_MIN_MB", "1000000000")]);
    let answer = machine.http.get(machine.url("/health")).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(
        (&body["problem"], &body["services"]["disk"]),
        (&json!("the disk is full"), &json!("unhealthy"))
    );
    assert_eq!(
        body["services"]["store"], "healthy",
        "there is room, but less than is asked for"
    );
    let (_, of_whatsapp) = machine.api(reqwest::Method::GET, "/health/whatsapp", None).await;
    assert_eq!(
        (&of_whatsapp["status"], &of_whatsapp["disk_full"]),
        (&json!("unhealthy"), &json!(true))
    );
    eventually("the line in the log", || async {
        machine.log().contains("disk_full").then_some(())
    })
    .await;
    let ran = run(&machine, &["doctor", INSTANCE]);
    assert!(!ran.success && ran.out.contains("make room"), "{}", ran.out);
    let roomy = Machine::serving(&[("RECADO_DISK_MIN_MB", "1")]);
    assert_eq!(
        roomy
            .http
            .get(roomy.url("/health"))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(grade(&found(&roomy), "-", "disk"), "good");
}
