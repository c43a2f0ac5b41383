//! Messages that only correct the spelling of a word in the message before them.

use crate::http_agents::messages;
use crate::world::{Setup, beside};
use recado_domain::answer::AnswerReason;
use recado_domain::event::EventKind;
use recado_domain::reason::Reason;
use recado_pipeline::ports::SendOutcome;
use recado_pipeline::{Verdict, process};
use recado_testkit::builders::Fixture;
use serde_json::json;

const QUESTION: &str = "Vcoês abrem no sábdo?";

async fn set_up() -> Setup {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    setup
}

/// The same, after a question whose reply is committed.
async fn asked() -> Setup {
    let setup = set_up().await;
    write(&setup, "W1", QUESTION).await;
    setup
}

/// The contact writes, and the turn comes ten seconds later.
async fn write(setup: &Setup, id: &str, text: &str) {
    setup.message(&setup.fixture, id, text, false).await;
    setup.pass(10);
    setup.turns(&setup.fixture).await;
}

/// What each call of the model was asked to answer.
fn calls(setup: &Setup) -> Vec<String> {
    setup.world.llm.asked.lock().unwrap().clone()
}

/// How far each reply answers.
async fn covered(setup: &Setup) -> Vec<u64> {
    let replies = messages(setup)
        .await
        .into_iter()
        .filter_map(|(message, ..)| message.out);
    replies.map(|out| out.covers.0).collect()
}

/// The reason of the answer to the message of this ordinal, and its cause.
async fn told(setup: &Setup, ordinal: u64) -> (Option<AnswerReason>, Option<Reason>) {
    let all = messages(setup).await;
    let mut all = all.into_iter();
    let (_, reason, cause) = all.find(|(message, ..)| message.ordinal.0 == ordinal).unwrap();
    (reason, cause)
}

const CORRECTS: (Option<AnswerReason>, Option<Reason>) = (
    Some(AnswerReason::NothingToAnswer),
    Some(Reason::SpellingCorrection),
);

#[tokio::test]
async fn corrections_of_what_is_answered_get_no_reply_say_why_and_are_read_with_the_next_message() {
    let setup = asked().await;
    write(&setup, "W2", "*sábado").await;
    write(&setup, "W3", "vocês*").await;
    assert_eq!(
        (calls(&setup), covered(&setup).await),
        (vec![QUESTION.to_owned()], vec![1])
    );
    assert!(!setup.latest_conversation().await.unwrap().owes_answer());
    write(&setup, "W4", "E no domingo?").await;
    assert_eq!(calls(&setup)[1], "*sábado\nvocês*\nE no domingo?");
    assert_eq!(covered(&setup).await, [1, 5]);
    assert_eq!(
        (told(&setup, 3).await, told(&setup, 4).await),
        (CORRECTS, CORRECTS)
    );
}

#[tokio::test]
async fn a_correction_that_comes_while_the_model_thinks_gets_no_reply_either() {
    let setup = set_up().await;
    setup.message(&setup.fixture, "W1", QUESTION, false).await;
    setup.pass(4);
    let address = setup.fixture.address.as_str();
    let payload = json!({"address": address, "id": "W2", "text": "*sábado", "from_me": false});
    let job = setup.event(EventKind::Message, payload).await;
    let (world, body) = (beside(&setup.world), serde_json::to_string(&job).unwrap());
    setup.world.llm.meanwhile.set(async move {
        assert_eq!(process::process(&world, &body, 1).await, Verdict::Done);
    });
    setup.turns(&setup.fixture).await;
    setup.pass(4);
    setup.turns(&setup.fixture).await;
    assert_eq!(
        (calls(&setup), covered(&setup).await),
        (vec![QUESTION.to_owned()], vec![1])
    );
    assert_eq!(told(&setup, 2).await, CORRECTS);
}

#[tokio::test]
async fn a_correction_of_what_waits_is_part_of_its_burst() {
    let setup = set_up().await;
    setup.message(&setup.fixture, "W1", QUESTION, false).await;
    setup.pass(1);
    write(&setup, "W2", "*sábado").await;
    assert_eq!(calls(&setup), [format!("{QUESTION}\n*sábado")]);
    assert_eq!(covered(&setup).await, [2]);
}

#[tokio::test]
async fn what_may_change_the_meaning_or_comes_with_more_is_answered() {
    for text in ["*domingo", "*sábado de manhã", "sábado", "*abrem"] {
        let setup = asked().await;
        write(&setup, "W2", text).await;
        assert_eq!(covered(&setup).await, [1, 3], "{text}");
    }
    let setup = asked().await;
    setup.message(&setup.fixture, "W2", "*sábado", false).await;
    write(&setup, "W3", "E domingo?").await;
    assert_eq!(covered(&setup).await, [1, 4], "a question came with it");
    let setup = asked().await;
    setup.quotes(&setup.fixture, "W2", "*sábado", "certo").await;
    setup.turns(&setup.fixture).await;
    assert_eq!(covered(&setup).await, [1, 3], "it is about what it quotes");
    let setup = asked().await;
    setup.pass(51);
    write(&setup, "W2", "*sábado").await;
    assert_eq!(covered(&setup).await, [1, 3], "more than a minute lies between");
}

#[tokio::test]
async fn a_correction_is_answered_if_the_reply_before_it_failed() {
    let setup = asked().await;
    setup.answers(SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "refused".to_owned(),
    });
    setup.send(&setup.latest_conversation().await.unwrap().id).await;
    assert_eq!(told(&setup, 1).await.0, Some(AnswerReason::DeadLetter));
    write(&setup, "W2", "*sábado").await;
    assert_eq!(covered(&setup).await, [1, 3]);
    // The agent's error message is no answer.
    let setup = set_up().await;
    *setup.world.llm.says.lock().unwrap() = None;
    write(&setup, "W1", QUESTION).await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    write(&setup, "W2", "*sábado").await;
    assert_eq!(covered(&setup).await, [1, 3]);
}
