//! The limits of an agent: another program that answers, and what each message says of it.

use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::webhooks::evolution_text;

const BOT: &str = "5511900000077@s.whatsapp.net";

#[tokio::test]
async fn two_programs_that_answer_each_other_fall_silent_and_the_last_message_says_why() {
    let mut machine = Machine::prepared(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    machine.configure(&Machine::sample().replace(
        "max_tokens = 1024\n",
        "max_tokens = 1024\nlimits = { turns_per_hour = 4 }\n",
    ));
    machine.start("serve");
    for (number, words) in ["um", "dois", "três", "quatro", "cinco"].iter().enumerate() {
        let body = evolution_text(INSTANCE, BOT, &format!("B{number}"), words, seconds());
        assert_eq!(machine.evolution(&body).await, 200);
        // The other program writes again as soon as it has an answer.
        machine.phone((number + 1).min(4)).await;
    }
    let id = machine.conversation().await;
    eventually("the last message", || async {
        (machine.messages(&id).await.len() == 9).then_some(())
    })
    .await;
    let told = eventually("the agent to fall silent", || async {
        let message = machine.get(&format!("/v1/messages/{id}.9")).await;
        (message["answer"]["state"] == "waiting").then_some(message)
    })
    .await;
    assert_eq!(
        (&told["answer"]["reason"], &told["answer"]["cause"]),
        (&"needs_person".into(), &"too_many_turns".into()),
        "{told}"
    );
    machine.quiet().await;
    machine.phone(4).await;
    assert_eq!(machine.stand_ins.anthropic.requests().len(), 4);
    assert_eq!(machine.stand_ins.violations(), []);
}

#[tokio::test]
async fn what_models_used_is_shown_by_the_command_and_as_comma_separated_values() {
    let machine = Machine::serving(&[]);
    for (number, jid) in ["5511900000081", "5511900000082"].iter().enumerate() {
        let (id, jid) = (format!("U{number}"), format!("{jid}@s.whatsapp.net"));
        let body = evolution_text(INSTANCE, &jid, &id, "Oi", seconds());
        assert_eq!(machine.evolution(&body).await, 200);
    }
    machine.phone(2).await;
    let run = |arguments: &[&str]| {
        let done = machine.command(arguments).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let csv = run(&["usage", "--by", "agent", "--csv"]);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0][..2], ["agent", "replies"]);
    let input = lines[0]
        .iter()
        .position(|column| *column == "input_tokens")
        .unwrap();
    assert_eq!(lines[1][..2], ["ana", "2"], "{csv}");
    let told = machine.get("/v1/usage?by=tenant&tenant=demo").await;
    assert_eq!(
        told["items"][0]["input_tokens"].to_string(),
        lines[1][input],
        "{told}"
    );
    let mut tokens = 0;
    for conversation in machine.get("/v1/conversations").await["items"]
        .as_array()
        .unwrap()
    {
        let id = conversation["id"].as_str().unwrap();
        let messages = machine.messages(id).await;
        tokens += messages
            .iter()
            .filter_map(|message| message["input_tokens"].as_u64())
            .sum::<u64>();
    }
    assert!(tokens > 0);
    assert_eq!(
        told["items"][0]["input_tokens"], tokens,
        "the sum is that of the messages"
    );
    let table = run(&["usage"]);
    assert!(table.contains("replies") && table.contains(" 2"), "{table}");
}
