//! Which keys are there decides whether an instance sends for real, is simulated, or waits.

use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::webhooks::evolution_text;
use reqwest::{Method, StatusCode};
use serde_json::json;

const MARIA: &str = "5511900000001@s.whatsapp.net";
const JOAO: &str = "5511900000002@s.whatsapp.net";

/// The three ways to start that may simulate, or may not: bare `recado`, `serve`, and `serve` that is told to.
const STARTS: [(&str, &str); 3] = [("", ""), ("serve", ""), ("serve", "auto")];

async fn write(machine: &Machine, jid: &str, id: &str) {
    let body = evolution_text(INSTANCE, jid, id, "Oi", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
}

/// Waits until the start has said this.
async fn told_at_the_start(machine: &Machine, text: &str) {
    eventually(text, || async { machine.output().contains(text).then_some(()) }).await;
}

/// What the health says of the instance, once `fits` does.
async fn instance_once(machine: &Machine, fits: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    let path = format!("/health/whatsapp?instance={INSTANCE}");
    eventually("the instance's state", || async {
        let found = machine.get(&path).await["instances"][0].clone();
        fits(&found).then_some(found)
    })
    .await
}

#[tokio::test]
async fn with_a_senders_key_and_no_models_key_nobody_gets_simulated_words() {
    for (command, simulation) in STARTS {
        let mut machine = Machine::prepared(&[("RECADO_SIMULATION", simulation)]);
        machine.unset("ANTHROPIC_API_KEY");
        machine.start(command);
        let told = format!(
            "{INSTANCE}   evolution  sends for real, but has no model: ANTHROPIC_API_KEY is not set."
        );
        told_at_the_start(&machine, &told).await;
        let found = instance_once(&machine, |found| found["llm_needs_credentials"] == true).await;
        assert_eq!(
            (&found["simulated"], &found["status"]),
            (&json!(false), &json!("degraded"))
        );
        write(&machine, MARIA, "K1").await;
        let conversation = machine.conversation().await;
        machine.quiet().await;
        assert_eq!(
            machine.messages(&conversation).await.len(),
            1,
            "no reply was made"
        );
        assert_eq!(machine.stand_ins.evolution.phone(), []);
        machine.stop("-TERM");
        machine.set("ANTHROPIC_API_KEY", "anthropic-key");
        machine.start(command);
        assert_eq!(
            machine.phone(1).await[0].text,
            "echo: Oi",
            "what waited is answered"
        );
        instance_once(&machine, |found| found["status"] == "healthy").await;
    }
}

#[tokio::test]
async fn with_a_models_key_and_no_senders_key_no_real_reply_goes_to_a_simulator() {
    for (command, simulation) in STARTS {
        let mut machine = Machine::prepared(&[("RECADO_SIMULATION", simulation)]);
        machine.unset("EVOLUTION_API_KEY");
        machine.start(command);
        let told =
            format!("{INSTANCE}   evolution  has a model, but cannot send: EVOLUTION_API_KEY is not set.");
        told_at_the_start(&machine, &told).await;
        instance_once(&machine, |found| found["connection"] == "needs_credentials").await;
        write(&machine, MARIA, "K2").await;
        let conversation = machine.conversation().await;
        let reply = eventually("the reply", || async {
            machine.messages(&conversation).await.get(1).cloned()
        });
        assert_eq!(reply.await["status"], "pending");
        machine.quiet().await;
        let (status, _) = machine.api(Method::GET, "/simulator/outbox", None).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "there is no simulator");
        machine.stop("-TERM");
        machine.set("EVOLUTION_API_KEY", "evolution-key");
        machine.start(command);
        assert_eq!(machine.phone(1).await[0].text, "echo: Oi", "what waited is sent");
    }
}

#[tokio::test]
async fn a_reply_of_the_simulated_model_is_never_sent_for_real() {
    // The second reply waits for its slot, until the instance is no longer simulated.
    let slow = [
        ("RECADO_SIMULATION", "auto"),
        ("RECADO_RATE_PER_SECOND", "0.05"),
        ("RECADO_RATE_BURST", "1"),
    ];
    let mut machine = Machine::prepared(&slow);
    machine.unset("ANTHROPIC_API_KEY");
    machine.unset("EVOLUTION_API_KEY");
    machine.start("serve");
    told_at_the_start(&machine, "evolution  simulated").await;
    let found = instance_once(&machine, |found| found["status"] == "healthy").await;
    assert_eq!(found["simulated"], true);
    write(&machine, MARIA, "K3").await;
    write(&machine, JOAO, "K4").await;
    eventually("two replies, one of them at the simulated provider", || async {
        let log = machine.log();
        let sent = machine.get("/simulator/outbox").await["items"]
            .as_array()
            .unwrap()
            .len();
        (log.matches("reply committed").count() == 2 && sent == 1).then_some(())
    })
    .await;
    machine.stop("-TERM");
    machine.set("ANTHROPIC_API_KEY", "anthropic-key");
    machine.set("EVOLUTION_API_KEY", "evolution-key");
    machine.set("RECADO_RATE_PER_SECOND", "100");
    machine.start("serve");
    let dead = eventually("the dead letter", || async {
        machine.get("/v1/dead-letters").await["items"].get(0).cloned()
    });
    assert_eq!(dead.await["reason"], "simulated_reply");
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone(), []);
}
