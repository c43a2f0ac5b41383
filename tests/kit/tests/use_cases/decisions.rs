//! What the agent decides with a reply: to hand over, to resolve, to move to another step of its script.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::config::AgentStep;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationMode, ConversationStatus};
use recado_domain::decision::{AgentDecision, DecisionKind};
use recado_domain::ids::{StepId, TokenName};
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;

use recado_pipeline::ports::{ConversationFilter, Conversations, PageRequest};
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;

fn step_id(id: &str) -> StepId {
    StepId::parse(id).unwrap()
}

fn step(id: &str, next: &[&str]) -> AgentStep {
    AgentStep {
        id: step_id(id),
        prompt: format!("You are at {id}."),
        next: next.iter().map(|next| step_id(next)).collect(),
    }
}

/// An agent that may decide everything, with a script of two steps.
async fn deciding() -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.agent.decisions = [DecisionKind::HandOver, DecisionKind::Resolve].into();
    fixture.bound.agent.steps = vec![step("ask", &["pay"]), step("pay", &["ask"])];
    let setup = Setup::set(fixture).await;
    says(&setup, "certo");
    setup
}

fn says(setup: &Setup, text: &str) {
    *setup.world.llm.says.lock().unwrap() = Some(text.to_owned());
}

fn decides(setup: &Setup, decision: AgentDecision) {
    *setup.world.llm.decides.lock().unwrap() = Some(decision);
}

fn hands_over(setup: &Setup) {
    let note = "wants to pay in cash".to_owned();
    decides(setup, AgentDecision::HandOver { note });
}

async fn latest(setup: &Setup) -> Conversation {
    let thread = setup.fixture.thread();
    succeed(setup.world.store.find_latest_conversation(&thread))
        .await
        .unwrap()
}

/// A message arrives, and its turn runs.
async fn asks(setup: &Setup, id: &str) -> Conversation {
    setup.message(&setup.fixture, id, "oi", false).await;
    setup.turns(&setup.fixture).await;
    latest(setup).await
}

async fn set_mode(setup: &Setup, mode: ConversationMode) -> Conversation {
    let (id, by) = (latest(setup).await.id, Caller::installation());
    recado_operators::set_conversation_mode(&setup.world, &by, &id, mode, &correlation())
        .await
        .unwrap()
}

#[tokio::test]
async fn the_agents_last_words_arrive_although_a_person_takes_over_before_they_left() {
    let setup = deciding().await;
    hands_over(&setup);
    says(&setup, "Já chamo uma pessoa.");
    let handed = asks(&setup, "W1").await;
    assert_eq!(
        (handed.mode, handed.needs_person),
        (ConversationMode::Ai, Some(Reason::HandedOver))
    );
    assert_eq!(
        handed
            .people
            .hand_over_note
            .as_ref()
            .map(|note| note.text.as_str()),
        Some("wants to pay in cash")
    );
    let taken = set_mode(&setup, ConversationMode::Manual).await;
    assert_eq!(
        (taken.needs_person, taken.person_owed_since()),
        (None, None),
        "somebody has it"
    );
    assert_eq!(
        taken.people.handover.map(|handover| handover.by),
        Some(TokenName::installation())
    );
    setup.send(&taken.id).await;
    assert_eq!(
        setup.world.providers.contents(),
        [Content::from_text("Já chamo uma pessoa.")]
    );
    let open = succeed(
        setup
            .world
            .store
            .find_message(&taken.id.message_id(recado_domain::ids::Ordinal(2))),
    )
    .await;
    let out = open.unwrap().out.unwrap();
    assert!(out.last_words && matches!(out.state, OutboxState::Sent { .. }));
}

#[tokio::test]
async fn an_ordinary_reply_is_still_cancelled_by_a_takeover() {
    let setup = deciding().await;
    let replied = asks(&setup, "W1").await;
    set_mode(&setup, ConversationMode::Manual).await;
    setup.send(&replied.id).await;
    assert_eq!(setup.world.providers.sent(), 0);
}

#[tokio::test]
async fn after_a_hand_over_the_agent_is_silent_until_it_has_the_conversation_again() {
    let setup = deciding().await;
    hands_over(&setup);
    let handed = asks(&setup, "W1").await;
    let asked = || setup.world.llm.asked.lock().unwrap().len();
    assert_eq!(asked(), 1);
    let waits = asks(&setup, "W2").await;
    assert_eq!(asked(), 1, "the person is waited for");
    assert_eq!(waits.person_owed_since(), handed.person_owed_since());
    let page = PageRequest::first(10);
    let listed = recado_operators::list_waiting_conversations(
        &setup.world,
        &Caller::installation(),
        ConversationFilter::default(),
        &page,
    )
    .await;
    assert_eq!(listed.unwrap().items, [waits]);
    let back = set_mode(&setup, ConversationMode::Ai).await;
    assert!(back.agent_owes_answer() && back.people.hand_over_note.is_none());
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(), 2);
}

#[tokio::test]
async fn a_hand_over_without_words_says_what_is_configured() {
    let setup = deciding().await;
    hands_over(&setup);
    says(&setup, "");
    let handed = asks(&setup, "W1").await;
    setup.send(&handed.id).await;
    assert_eq!(
        setup.world.providers.contents(),
        [Content::from_text("Uma pessoa continua aqui.")]
    );
}

#[tokio::test]
async fn the_agent_resolves_with_its_last_words_and_the_next_message_begins_anew() {
    let setup = deciding().await;
    decides(&setup, AgentDecision::Resolve);
    says(&setup, "Até logo!");
    let resolved = asks(&setup, "W1").await;
    assert_eq!(resolved.status, ConversationStatus::Resolved);
    assert_eq!(
        resolved.people.handover.map(|handover| handover.by),
        Some(TokenName::agent())
    );
    setup.message(&setup.fixture, "W2", "mais uma coisa", false).await;
    let next = latest(&setup).await;
    assert_ne!(next.id, resolved.id);
    setup.send(&next.id).await;
    assert_eq!(
        setup.world.providers.contents(),
        [Content::from_text("Até logo!")]
    );
}

#[tokio::test]
async fn the_step_moves_with_a_committed_reply_and_shows_the_model_its_instructions() {
    let setup = deciding().await;
    let told = || setup.world.llm.instructions.lock().unwrap().clone();
    decides(&setup, AgentDecision::MoveToStep(step_id("pay")));
    let moved = asks(&setup, "W1").await;
    assert_eq!(
        (moved.features.step, told()),
        (Some(step_id("pay")), vec!["You are at ask.".to_owned()])
    );
    assert_eq!(setup.world.llm.offered.lock().unwrap().steps, [step_id("pay")]);
    let stayed = asks(&setup, "W2").await;
    assert_eq!(
        (stayed.features.step, told()),
        (Some(step_id("pay")), vec!["You are at pay.".to_owned()])
    );
    // The step is removed: the conversation goes on at the first.
    let mut document = setup.fixture.document();
    document.agents[0].steps = vec![step("welcome", &[])];
    put_configuration(&setup.world.store, &document).await.unwrap();
    let fell_back = asks(&setup, "W3").await;
    assert_eq!(
        (fell_back.features.step, told()),
        (Some(step_id("welcome")), vec!["You are at welcome.".to_owned()])
    );
}

#[tokio::test]
async fn the_model_is_told_what_a_person_wrote_and_its_own_mark_is_taken_away() {
    let setup = deciding().await;
    setup.message(&setup.fixture, "P1", "Aqui é a Bia", true).await;
    setup.message(&setup.fixture, "W1", "oi Bia", false).await;
    set_mode(&setup, ConversationMode::Ai).await;
    says(&setup, "[person] Claro!");
    setup.turns(&setup.fixture).await;
    let told = setup.world.llm.instructions.lock().unwrap().clone();
    assert!(told.len() == 2 && told[1].contains("[person]"), "{told:?}");
    assert_eq!(
        *setup.world.llm.read.lock().unwrap(),
        ["[the business wrote first]", "[person] Aqui é a Bia", "oi Bia"]
    );
    setup.send(&latest(&setup).await.id).await;
    assert_eq!(setup.world.providers.contents(), [Content::from_text("Claro!")]);
}
