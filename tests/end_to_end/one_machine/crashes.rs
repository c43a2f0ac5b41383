use crate::machine::{INSTANCE, Machine, PATIENCE, UNTIL_LET_GO, eventually, eventually_within, seconds};
use recado_testkit::servers::Behaviour;
use recado_testkit::webhooks::evolution_text;
use rusqlite::Connection;
use std::time::Instant;

const MARIA: &str = "5511900000001@s.whatsapp.net";

#[tokio::test]
async fn killed_between_the_acknowledgement_and_the_reply_nothing_is_lost_and_one_reply_goes_out() {
    let mut machine = Machine::serving(&[]);
    let texts = ["um", "dois", "três"];
    for (number, text) in texts.iter().enumerate() {
        let body = evolution_text(INSTANCE, MARIA, &format!("K{number}"), text, seconds());
        assert_eq!(machine.evolution(&body).await, 200);
        machine.kill();
        machine.start("serve");
    }
    // A restart may cut a burst into parts. Each part is answered once. A slow machine may be
    // killed while it thinks, too: then the lease of that turn, 95 s, is waited for.
    let id = machine.conversation().await;
    eventually_within(2 * PATIENCE, "all to be answered", || async {
        let messages = machine.messages(&id).await;
        let inbound = messages
            .iter()
            .filter(|message| message["role"] == "user")
            .count();
        let open = messages.iter().any(|message| message["status"] == "pending");
        let answered = messages
            .last()
            .is_some_and(|message| message["role"] == "assistant");
        (inbound == 3 && answered && !open).then_some(())
    })
    .await;
    machine.quiet().await;
    let said: Vec<String> = machine
        .stand_ins
        .evolution
        .phone()
        .into_iter()
        .map(|got| got.text)
        .collect();
    for text in texts {
        assert_eq!(
            said.iter().filter(|said| said.contains(text)).count(),
            1,
            "{text} in {said:?}"
        );
    }
}

#[tokio::test]
async fn killed_while_the_model_thinks_the_turn_is_taken_up_again() {
    let mut machine = Machine::thinking(MARIA).await;
    machine.kill();
    machine.start("serve");
    assert_eq!(machine.phone(1).await[0].text, "echo: Oi");
    machine.quiet().await;
    machine.phone(1).await;
}

#[tokio::test]
async fn killed_during_a_send_the_message_is_found_at_the_provider_and_not_sent_twice() {
    let mut machine = Machine::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    machine.stand_ins.evolution.next(Behaviour::Hang(UNTIL_LET_GO));
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "S1", "Oi", seconds()))
        .await;
    machine.stand_ins.evolution.wait_for_requests(1, PATIENCE).await;
    machine.kill();
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

#[tokio::test]
async fn a_terminated_process_finishes_what_it_began() {
    let mut machine = Machine::thinking(MARIA).await;
    machine.told_to_stop().await;
    machine.stand_ins.anthropic.let_go();
    assert!(machine.stopped().success());
    machine.start("serve");
    machine.phone(1).await;
    let asked = machine.stand_ins.anthropic.requests().len();
    assert_eq!(asked, 1, "the model was waited for, not asked again");
}

#[tokio::test]
async fn queues_that_cannot_be_read_are_looked_at_again_after_a_wait_and_go_on_without_a_restart() {
    let machine = Machine::serving(&[]);
    let database = Connection::open(machine.data().join("recado.db")).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let unreadable = || machine.log().matches("the queue cannot be read").count();
    database
        .execute_batch("ALTER TABLE queue_messages RENAME TO hidden")
        .unwrap();
    let hidden = Instant::now();
    eventually("an error", || async { (unreadable() > 0).then_some(()) }).await;
    let most = 3 * (2 + hidden.elapsed().as_secs());
    assert!(unreadable() as u64 <= most, "{}", machine.log());
    database
        .execute_batch("ALTER TABLE hidden RENAME TO queue_messages")
        .unwrap();
    let body = evolution_text(INSTANCE, MARIA, "Q1", "Oi", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    assert_eq!(machine.phone(1).await[0].text, "echo: Oi");
}
