use crate::commands::run;
use crate::machine::{BURST, INSTANCE, Machine, eventually, seconds};
use recado_testkit::servers::Behaviour;
use recado_testkit::webhooks::{evolution_status, evolution_text, evolution_v1_text, queue_worker_form};
use serde_json::json;

const MARIA: &str = "5511900000001@s.whatsapp.net";

#[tokio::test]
async fn a_burst_is_answered_once_with_all_of_it_read() {
    let machine = Machine::serving(&BURST);
    for (id, text) in [("A1", "Oi"), ("A2", "tudo bem?"), ("A3", "quero marcar")] {
        assert_eq!(
            machine
                .evolution(&evolution_text(INSTANCE, MARIA, id, text, seconds()))
                .await,
            200
        );
    }
    let phone = machine.phone(1).await;
    assert_eq!(phone[0].text, "echo: Oi\ntudo bem?\nquero marcar");
    machine.quiet().await;
    machine.phone(1).await;
    let id = machine.conversation().await;
    let messages = machine.messages(&id).await;
    let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "user", "user", "assistant"]);
    let reply = &messages[3];
    assert_eq!(reply["status"], "sent");
    assert_eq!(reply["provider_message_id"], phone[0].id.as_str());
    assert!(reply["input_tokens"].as_u64().unwrap() > 0 && reply["output_tokens"].as_u64().unwrap() > 0);
    let asked = &machine.stand_ins.anthropic.requests()[0].body;
    assert!(
        asked.to_string().contains("cache_control"),
        "the prompt is marked for caching: {asked}"
    );
    assert_eq!(machine.stand_ins.violations(), []);
}

#[tokio::test]
async fn the_same_webhook_64_times_at_once_and_after_a_restart_is_one_message_and_one_reply() {
    let mut machine = Machine::serving(&[]);
    let body = evolution_text(INSTANCE, MARIA, "SAME", "Oi", seconds());
    let posts = (0..64).map(|_| machine.evolution(&body));
    let answers = futures::future::join_all(posts).await;
    assert!(answers.iter().all(|status| *status == 200), "{answers:?}");
    machine.phone(1).await;
    assert!(machine.stop("-TERM").success());
    machine.start("serve");
    assert_eq!(machine.evolution(&body).await, 200);
    machine.quiet().await;
    machine.phone(1).await;
    let id = machine.conversation().await;
    assert_eq!(machine.messages(&id).await.len(), 2);
}

#[tokio::test]
async fn every_form_of_evolution_is_understood() {
    let machine = Machine::serving(&[]);
    let forms = [
        evolution_v1_text(
            INSTANCE,
            "5511900000011@s.whatsapp.net",
            "V1",
            "version 1",
            seconds(),
        ),
        queue_worker_form(
            INSTANCE,
            "5511900000012@s.whatsapp.net",
            Some("QW"),
            "queue worker",
        ),
        evolution_text(INSTANCE, "123456789012345@lid", "LID", "no number", seconds()),
    ];
    for body in &forms {
        assert_eq!(machine.evolution(body).await, 200);
    }
    let mut texts: Vec<String> = machine.phone(3).await.into_iter().map(|got| got.text).collect();
    texts.sort();
    assert_eq!(
        texts,
        ["echo: no number", "echo: queue worker", "echo: version 1"]
    );
    assert_eq!(machine.stand_ins.violations(), []);
}

#[tokio::test]
async fn statuses_move_a_reply_to_delivered_and_read_and_never_back() {
    let machine = Machine::serving(&[]);
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "S1", "Oi", seconds()))
        .await;
    let sent = machine.phone(1).await;
    let id = machine.conversation().await;
    for status in ["READ", "DELIVERY_ACK", "SERVER_ACK"] {
        assert_eq!(
            machine
                .evolution(&evolution_status(INSTANCE, &sent[0].id, status))
                .await,
            200
        );
    }
    eventually("the reply to be read", || async {
        (machine.messages(&id).await[1]["status"] == "read").then_some(())
    })
    .await;
}

#[tokio::test]
async fn groups_and_broadcasts_are_acknowledged_and_left_alone() {
    let machine = Machine::serving(&[]);
    for (id, jid) in [
        ("G1", "120363041234567890@g.us"),
        ("G2", "status@broadcast"),
        ("G3", "12036304@newsletter"),
    ] {
        assert_eq!(
            machine
                .evolution(&evolution_text(INSTANCE, jid, id, "hello all", seconds()))
                .await,
            200
        );
    }
    machine.quiet().await;
    assert_eq!(machine.get("/v1/conversations").await["items"], json!([]));
}

#[tokio::test]
async fn an_old_message_is_stored_and_not_answered() {
    let machine = Machine::serving(&[]);
    let old = evolution_text(INSTANCE, MARIA, "OLD", "from yesterday", seconds() - 86_400);
    assert_eq!(machine.evolution(&old).await, 200);
    let id = machine.conversation().await;
    machine.quiet().await;
    assert_eq!(machine.messages(&id).await.len(), 1);
    assert!(machine.stand_ins.anthropic.requests().is_empty());
}

#[tokio::test]
async fn a_model_that_fails_for_good_is_answered_by_the_agents_error_message() {
    let machine = Machine::serving(&[]);
    let refusal = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    machine
        .stand_ins
        .anthropic
        .usually(Behaviour::status(400, refusal));
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "E1", "Oi", seconds()))
        .await;
    assert!(machine.phone(1).await[0].text.starts_with("Desculpe"));
}

#[tokio::test]
async fn an_overloaded_model_is_asked_again() {
    let machine = Machine::serving(&[]);
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "later"}});
    machine
        .stand_ins
        .anthropic
        .next(Behaviour::status(529, overloaded.clone()));
    machine
        .stand_ins
        .anthropic
        .next(Behaviour::status_with(429, overloaded, "retry-after", "1"));
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "O1", "Oi", seconds()))
        .await;
    assert_eq!(machine.phone(1).await[0].text, "echo: Oi");
}

#[tokio::test]
async fn a_refused_send_is_retried_and_a_permanent_one_becomes_a_dead_letter() {
    let machine = Machine::serving(&[]);
    machine
        .stand_ins
        .evolution
        .next(Behaviour::text(503, "text/plain", "no available server"));
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "R1", "Oi", seconds()))
        .await;
    machine.phone(1).await;
    let gone = json!({"status": 400, "error": "Bad Request", "response": {"message": [{"exists": false, "jid": "x", "number": "x"}]}});
    machine.stand_ins.evolution.next(Behaviour::status(400, gone));
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "R2", "Oi de novo", seconds()))
        .await;
    let dead_letters = eventually("a dead letter", || async {
        let dead_letters = machine.get("/v1/dead-letters").await["items"]
            .as_array()
            .unwrap()
            .clone();
        (!dead_letters.is_empty()).then_some(dead_letters)
    })
    .await;
    assert_eq!(dead_letters[0]["reason"], "whatsapp_permanent_error");
    let id = machine.conversation().await;
    assert_eq!(machine.messages(&id).await.last().unwrap()["status"], "failed");
    let listed = run(&machine, &["dlq", "list"]);
    assert!(
        listed.out.contains("\n  Carla Nunes\n"),
        "{}{}",
        listed.out,
        listed.err
    );
}

#[tokio::test]
async fn a_send_whose_answer_is_lost_is_found_at_the_provider_and_not_repeated() {
    let machine = Machine::serving(&[]);
    machine.stand_ins.evolution.next(Behaviour::AcceptThenDrop);
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "L1", "Oi", seconds()))
        .await;
    let id = machine.conversation().await;
    eventually("the evidence", || async {
        let messages = machine.messages(&id).await;
        (messages.len() == 2 && messages[1]["status"] == "sent").then_some(())
    })
    .await;
    machine.quiet().await;
    machine.phone(1).await;
}
