//! A model that fails for everybody: it is known, and the contacts who got the error message wait.

use crate::waiting::state;
use crate::world::Setup;
use recado_alerts::health::assess_health;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::health::HealthStatus;
use recado_domain::ids::ConversationId;
use recado_domain::reason::Reason;

use recado_pipeline::ports::Overviews;
use recado_testkit::alert_story::ToldDepth;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;

async fn health(setup: &Setup) -> HealthStatus {
    let (depths, caller) = (ToldDepth::default(), Caller::installation());
    let found = succeed(assess_health(&setup.world, &depths, &caller, None, &mut |_| {})).await;
    found.unwrap().status
}

/// The conversations that wait for a person, with the reasons.
async fn waiting(setup: &Setup) -> Vec<(ConversationId, Option<Reason>)> {
    let found = succeed(setup.world.store.list_waiting_for_person(setup.now(), 10)).await;
    let mut waits: Vec<_> = found
        .waits
        .into_iter()
        .map(|wait| (wait.conversation, wait.needed))
        .collect();
    waits.sort();
    waits
}

/// The contact writes, and the agent's reply is sent.
async fn writes(setup: &Setup, contact: &Fixture, id: &str) -> (ConversationId, Content) {
    setup.message(contact, id, "Olá", false).await;
    replies(setup, contact).await
}

async fn replies(setup: &Setup, contact: &Fixture) -> (ConversationId, Content) {
    let reply = setup.turn(contact).await;
    setup.send(&reply.conversation).await;
    setup.pass(1);
    (reply.conversation, reply.content)
}

#[tokio::test]
async fn contacts_of_a_failing_model_wait_until_it_answers_and_the_health_tells_it() {
    let setup = Setup::set(Fixture::new()).await;
    let [first, second] = [setup.fixture.other_contact(), setup.fixture.other_contact()];
    let error = Content::from_text(setup.fixture.bound.agent.error_message.clone());
    let (one, told) = writes(&setup, &first, "A").await;
    assert_eq!(told, error);
    assert_eq!(
        health(&setup).await,
        HealthStatus::Healthy,
        "it may be this contact's"
    );
    let (other, told) = writes(&setup, &second, "B").await;
    assert_eq!(told, error);
    assert!(state(&setup).await.failing_model().is_some());
    assert_eq!(health(&setup).await, HealthStatus::Degraded);
    let needed = Some(Reason::ModelFailed);
    let mut both = [(one.clone(), needed), (other.clone(), needed)];
    both.sort();
    assert_eq!(waiting(&setup).await, both);

    // The model is back. One is given back to the agent, which then answers what got the error message.
    *setup.world.llm.says.lock().unwrap() = Some("Bom dia!".to_owned());
    let (caller, by) = (Caller::installation(), correlation());
    let gives =
        recado_operators::set_conversation_mode(&setup.world, &caller, &one, ConversationMode::Ai, &by);
    succeed(gives).await;
    let answer = Content::from_text("Bom dia!".to_owned());
    assert_eq!(replies(&setup, &first).await, (one, answer.clone()));
    assert_eq!(waiting(&setup).await, [(other.clone(), needed)]);
    assert_eq!(
        state(&setup).await.model_failures,
        None,
        "a reply shows that it answers"
    );
    assert_eq!(health(&setup).await, HealthStatus::Healthy);

    // The other one writes again, and is answered.
    assert_eq!(writes(&setup, &second, "C").await, (other, answer));
    assert_eq!(waiting(&setup).await, []);
}
