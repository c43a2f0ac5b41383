//! Takeovers, and the agent's return to the conversations that people had.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::config::AgentReturn;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::ids::{Ordinal, TokenName};
use recado_domain::options::SendOptions;
use recado_pipeline::ports::Conversations;
use recado_pipeline::{Verdict, handle_turns_message, reconcile};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;

const MINUTE: i64 = 60;

fn fixture(returns: AgentReturn) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.bound.instance.agent_returns = returns;
    fixture
}

pub(crate) async fn half_an_hour() -> Setup {
    let setup = Setup::set(fixture(AgentReturn::AfterMinutes(30))).await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    setup
}

pub(crate) async fn latest(setup: &Setup) -> Conversation {
    let thread = setup.fixture.thread();
    succeed(setup.world.store.find_latest_conversation(&thread))
        .await
        .unwrap()
}

/// Works on the turn jobs that are due until there are none.
async fn work(setup: &Setup) {
    loop {
        let due = setup.due_turns().await;
        if due.is_empty() {
            return;
        }
        for job in due {
            let body = serde_json::to_string(&job).unwrap();
            assert_eq!(
                handle_turns_message(&setup.world, &body, 1, None).await,
                Verdict::Done
            );
        }
    }
}

/// Lets so many minutes pass, and works on what is due in each.
async fn minutes_pass(setup: &Setup, minutes: i64) {
    for _ in 0..minutes {
        setup.pass(MINUTE);
        work(setup).await;
    }
}

async fn answer(setup: &Setup, text: &str) {
    let id = latest(setup).await.id;
    let answer = recado_operators::OperatorAnswer {
        content: Content::from_text(text),
        options: SendOptions::default(),
        seen: None,
        key: None,
        correlation: correlation(),
    };
    let made = recado_operators::answer_as_operator(&setup.world, &Caller::installation(), &id, answer).await;
    made.unwrap();
}

#[tokio::test]
async fn who_types_first_has_the_conversation_and_the_agent_comes_back_in_time_and_reads_all() {
    let setup = half_an_hour().await;
    // A person begins the conversation: the agent never spoke there.
    setup
        .message(&setup.fixture, "P1", "Olá, aqui é a Bia da clínica", true)
        .await;
    let taken = latest(&setup).await;
    assert_eq!(taken.mode, ConversationMode::Manual);
    assert_eq!(
        taken.people.handover.as_ref().map(|handover| &handover.by),
        Some(&TokenName::phone())
    );
    let returns_at = taken.return_due_at().unwrap();
    assert_eq!(returns_at.duration_since(setup.now()).as_mins(), 30);
    minutes_pass(&setup, 10).await;
    for number in 0..25 {
        let id = format!("W{number}");
        setup
            .message(&setup.fixture, &id, &format!("linha {number}"), false)
            .await;
    }
    minutes_pass(&setup, 19).await;
    assert_eq!(setup.world.llm.asked.lock().unwrap().len(), 0, "people have it");
    minutes_pass(&setup, 1).await;
    let back = latest(&setup).await;
    assert_eq!((back.mode, back.return_due_at()), (ConversationMode::Ai, None));
    assert_eq!(
        back.people.handover.map(|handover| handover.by),
        Some(TokenName::installation())
    );
    assert_eq!(
        back.answered,
        Ordinal(26),
        "what came in meanwhile is answered, in two turns"
    );
    let asked = setup.world.llm.asked.lock().unwrap().join("\n");
    for number in 0..25 {
        assert!(asked.contains(&format!("linha {number}")), "{number} was read");
    }
}

#[tokio::test]
async fn each_message_of_a_person_puts_the_agent_off() {
    let setup = half_an_hour().await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    answer(&setup, "Já vejo").await;
    minutes_pass(&setup, 20).await;
    answer(&setup, "Um momento").await;
    setup.message(&setup.fixture, "W2", "ok", false).await;
    minutes_pass(&setup, 15).await;
    setup.message(&setup.fixture, "P1", "Pronto!", true).await;
    setup.message(&setup.fixture, "W3", "obrigado", false).await;
    minutes_pass(&setup, 29).await;
    assert_eq!(
        latest(&setup).await.mode,
        ConversationMode::Manual,
        "it is 29 minutes ago"
    );
    minutes_pass(&setup, 1).await;
    let back = latest(&setup).await;
    assert_eq!(back.mode, ConversationMode::Ai);
    assert!(!back.owes_answer(), "the last message was answered");
    assert_eq!(setup.world.llm.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_lost_timer_is_made_up_for_by_reconcile() {
    let setup = half_an_hour().await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let id = latest(&setup).await.id;
    let taken = recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        &id,
        ConversationMode::Manual,
        &correlation(),
    )
    .await;
    assert!(taken.unwrap().return_due_at().is_some());
    for _ in 0..2 {
        setup.pass(15 * MINUTE);
        setup.due_turns().await;
    }
    for minute in 1..=2 {
        assert_eq!(latest(&setup).await.mode, ConversationMode::Manual, "{minute}");
        setup.pass(MINUTE);
        let done = reconcile::reconcile(&setup.world).await.unwrap();
        assert_eq!(
            (done.count_of("turns"), done.failed),
            (usize::from(minute == 2), 0)
        );
    }
    work(&setup).await;
    let back = latest(&setup).await;
    assert!(back.mode == ConversationMode::Ai && !back.owes_answer());
}

#[tokio::test]
async fn an_agent_that_never_comes_back_leaves_the_next_conversation_to_people_too() {
    for (returns, mode) in [
        (AgentReturn::Never, ConversationMode::Manual),
        (AgentReturn::AtResolve, ConversationMode::Ai),
        (AgentReturn::AfterMinutes(30), ConversationMode::Ai),
    ] {
        let setup = Setup::set(fixture(returns)).await;
        setup.message(&setup.fixture, "W1", "oi", false).await;
        answer(&setup, "Já vejo").await;
        let id = latest(&setup).await.id;
        let by = Caller::installation();
        recado_operators::resolve_conversation(&setup.world, &by, &id, None, &correlation())
            .await
            .unwrap();
        setup.message(&setup.fixture, "W2", "oi de novo", false).await;
        let next = latest(&setup).await;
        assert_eq!((next.mode, next.return_due_at()), (mode, None), "{returns:?}");
        assert_ne!(next.id, id);
    }
}
