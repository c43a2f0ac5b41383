//! Who is answered, when and how, as `recado apply` says it to a running installation.

use crate::commands::{Ran, run};
use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::webhooks::evolution_text;

const MARIA: &str = "5511900000001@s.whatsapp.net";
const JOAO: &str = "5511900000002@s.whatsapp.net";

const AGENT: &str = "id = \"ana\"\ntenant = \"demo\"";
const PROVIDER: &str = "provider = \"evolution\"";

/// Applies the sample with these lines more in its agent and its instance.
pub(crate) fn apply_lines(machine: &Machine, agent: &str, instance: &str) -> Ran {
    let file = machine.data().with_file_name("answering.toml");
    let sample = Machine::sample();
    assert!(sample.contains(AGENT) && sample.contains(PROVIDER));
    let sample = sample.replacen(AGENT, &format!("{AGENT}\n{agent}"), 1);
    let sample = sample.replacen(PROVIDER, &format!("{PROVIDER}\n{instance}"), 1);
    std::fs::write(&file, sample).unwrap();
    run(machine, &["apply", &file.display().to_string()])
}

async fn writes(machine: &Machine, from: &str, id: &str) {
    machine
        .evolution(&evolution_text(INSTANCE, from, id, "Oi", seconds()))
        .await;
}

#[tokio::test]
async fn a_blocked_number_is_left_out_and_another_gets_a_signed_reply() {
    let machine = Machine::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    let refused = apply_lines(
        &machine,
        "",
        "access = { block = [\"+55 11 90000-0001\", \"Maria\"] }",
    );
    let told = refused.err.contains("entry 2 of the list") && !refused.err.contains("`Maria`");
    assert!(!refused.success && told, "{}", refused.err);
    let applied = apply_lines(
        &machine,
        "signature = { text = \"*Ana*\", position = \"StartNewLine\" }",
        "access = { block = [\"+55 11 90000-0001\"] }\nreply_delay_seconds = 0.5\nmark_read = true\ntyping = true",
    );
    assert!(applied.success, "{}", applied.err);
    writes(&machine, MARIA, "W1").await;
    writes(&machine, JOAO, "W2").await;
    let phone = machine.phone(1).await;
    assert_eq!(phone[0].text, "*Ana*\necho: Oi");
    assert!(phone[0].to.contains("5511900000002"), "{}", phone[0].to);
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone().len(), 1);
    let trace = machine
        .get(&format!("/v1/trace?provider_message=W1&instance={INSTANCE}"))
        .await;
    assert_eq!(trace["events"][0]["reason"], "blocked", "{trace}");
    assert_eq!(trace["events"][0]["state"], "applied");
    assert_eq!(trace["messages"], serde_json::json!([]));
    let conversations = machine.get("/v1/conversations").await;
    let conversation = conversations["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(conversations["items"].as_array().unwrap().len(), 1);
    let messages = machine
        .get(&format!("/v1/conversations/{conversation}/messages"))
        .await;
    assert_eq!(
        messages["items"][0]["content"], "echo: Oi",
        "the signature stands beside the text"
    );
    assert_eq!(machine.stand_ins.evolution.violations(), []);
}

#[tokio::test]
async fn while_it_is_closed_a_contact_is_told_once_and_answered_when_the_hours_are_dropped() {
    let machine = Machine::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    let closed = "opening_hours = { exceptions = [{ date = \"2199-12-24\", hours = [\"09:00-12:00\"] }], \
                  time_zone = \"America/Manaus\", closed_message = \"Estamos fechados.\" }";
    let applied = apply_lines(&machine, "", closed);
    assert!(applied.success, "{}", applied.err);
    writes(&machine, MARIA, "W1").await;
    assert_eq!(machine.phone(1).await[0].text, "Estamos fechados.");
    writes(&machine, MARIA, "W2").await;
    eventually("the second message waits", || async {
        let items = machine.get("/v1/conversations").await["items"].clone();
        (items[0]["last_ordinal"] == 3).then_some(())
    })
    .await;
    let applied = apply_lines(&machine, "", "");
    assert!(applied.success, "{}", applied.err);
    writes(&machine, MARIA, "W3").await;
    // What is sent to one contact keeps its order: nothing was said to the second message.
    let phone = machine.phone(2).await;
    assert_eq!(phone[1].text, "echo: Oi\nOi\nOi");
}
