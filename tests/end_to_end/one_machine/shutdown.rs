//! What a signal does to work that is under way.

use crate::machine::{INSTANCE, Machine, UNTIL_LET_GO, eventually, seconds};
use recado_testkit::servers::Behaviour;
use recado_testkit::webhooks::evolution_text;

const NUMBER: &str = "5511900000001";
const MARIA: &str = "5511900000001@s.whatsapp.net";

/// A machine whose reply is with the provider, which does not answer until it is let go.
async fn sending() -> Machine {
    let machine = Machine::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    // By its contact: what is asked about the instance at the start may come first.
    machine
        .stand_ins
        .evolution
        .next_for(NUMBER, Behaviour::Hang(UNTIL_LET_GO));
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "T1", "Oi", seconds()))
        .await;
    eventually("the send", || async {
        let requests = machine.stand_ins.evolution.requests();
        requests
            .iter()
            .any(|request| request.path.contains("sendText"))
            .then_some(())
    })
    .await;
    machine
}

#[tokio::test]
async fn terminated_during_a_send_its_outcome_is_stored_and_a_restart_sends_nothing_twice() {
    let mut machine = sending().await;
    machine.told_to_stop().await;
    machine.stand_ins.evolution.let_go();
    let status = machine.stopped();
    assert_eq!(status.code(), Some(0));
    assert_eq!(
        machine.stand_ins.evolution.phone().len(),
        1,
        "it waited for the answer"
    );
    machine.start("serve");
    let id = machine.conversation().await;
    let reply = machine.messages(&id).await[1]["id"].as_str().unwrap().to_owned();
    let reply = machine.get(&format!("/v1/messages/{reply}")).await;
    assert_eq!(reply["status"], "sent", "{reply}");
    assert_eq!(reply["attempts"], 1, "stored before the end: {reply}");
    machine.quiet().await;
    machine.phone(1).await;
}

#[tokio::test]
async fn a_second_signal_ends_at_once_and_a_restart_finds_the_message_at_the_provider() {
    let mut machine = sending().await;
    machine.told_to_stop().await;
    let status = machine.stop("-TERM");
    assert_eq!(status.code(), Some(1), "not all was finished, and it says so");
    machine.stand_ins.evolution.let_go();
    machine.phone(1).await;
    machine.start("serve");
    let id = machine.conversation().await;
    eventually("the evidence", || async {
        (machine.messages(&id).await[1]["status"] == "sent").then_some(())
    })
    .await;
    machine.quiet().await;
    machine.phone(1).await;
}
