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
