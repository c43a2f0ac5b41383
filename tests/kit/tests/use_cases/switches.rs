//! What an instance's configuration switches, and what a webhook says of the contact.

use crate::world::Setup;
use recado_domain::SignedDuration;
use recado_domain::access::Caller;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::event::EventKind;
use recado_pipeline::ports::Conversations;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::{Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::json;

async fn setup(change: impl FnOnce(&mut Fixture)) -> Setup {
    let mut fixture = Fixture::new();
    change(&mut fixture);
    let setup = Setup::set(fixture).await;
    *setup.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
    setup
}

async fn conversation(setup: &Setup) -> Conversation {
    let latest = setup
        .world
        .store
        .find_latest_conversation(&setup.fixture.thread())
        .await;
    latest.unwrap().unwrap()
}

fn calls(setup: &Setup) -> usize {
    setup.world.llm.asked.lock().unwrap().len()
}

/// Plays the turns that are due.
async fn play(setup: &Setup) {
    for job in setup.due_turns().await {
        let body = serde_json::to_string(&job).unwrap();
        assert_eq!(
            handle_turns_message(&setup.world, &body, 1, None).await,
            Verdict::Done
        );
    }
}

#[tokio::test]
async fn an_instance_that_does_not_start_with_the_agent_leaves_its_conversations_to_people() {
    let setup = setup(|fixture| fixture.bound.instance.starts_with_ai = false).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.pass(60);
    play(&setup).await;
    let known = conversation(&setup).await;
    assert_eq!((known.mode, calls(&setup)), (ConversationMode::Manual, 0));
    succeed(recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        &known.id,
        ConversationMode::Ai,
        &correlation(),
    ))
    .await;
    play(&setup).await;
    assert_eq!(calls(&setup), 1);
    assert!(!conversation(&setup).await.owes_answer());
}

#[tokio::test]
async fn a_burst_is_waited_for_as_long_as_the_settings_say_or_the_instance() {
    for (own, seconds) in [(None, 4), (Some(11.0), 11), (Some(0.0), 0)] {
        let setup = setup(|fixture| fixture.bound.instance.debounce_seconds = own).await;
        setup.message(&setup.fixture, "W1", "oi", false).await;
        if seconds > 0 {
            setup.pass(seconds - 1);
            assert!(setup.due_turns().await.is_empty(), "{own:?}");
            setup.pass(1);
        }
        assert_eq!(setup.due_turns().await.len(), 1, "{own:?}");
    }
}

#[tokio::test]
async fn the_contacts_name_is_what_its_last_message_said() {
    let setup = setup(|_| {}).await;
    for (id, name, known) in [
        ("W1", Some("Bia"), "Bia"),
        ("W2", None, "Bia"),
        ("W3", Some("Beatriz"), "Beatriz"),
    ] {
        let address = setup.fixture.address.as_str();
        let payload = json!({"address": address, "id": id, "text": "oi", "from_me": false, "name": name});
        let job = setup.event(EventKind::Message, payload).await;
        assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
        assert_eq!(
            conversation(&setup).await.contact.name.as_deref(),
            Some(known),
            "{id}"
        );
    }
}

#[tokio::test]
async fn opening_hours_are_looked_at_again_whenever_the_turn_comes() {
    // It is Monday.
    let closed = serde_json::from_value(json!({"wed": ["00:00-24:00"]})).unwrap();
    let setup = setup(|fixture| fixture.bound.instance.opening_hours = Some(closed)).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.pass(4);
    play(&setup).await;
    let opens = conversation(&setup).await.opening.scheduled_for;
    assert!(opens.is_some_and(|opens| opens > setup.now()));
    // A schedule that fires early, or hours that were put off meanwhile.
    setup.pass(3_600);
    setup.turns(&setup.fixture).await;
    assert_eq!(calls(&setup), 0);
    assert_eq!(conversation(&setup).await.opening.scheduled_for, opens);
    let mut open = setup.fixture.document();
    for instance in &mut open.instances {
        instance.opening_hours = None;
    }
    put_configuration(&setup.world.store, &open).await.unwrap();
    setup.turns(&setup.fixture).await;
    assert_eq!(calls(&setup), 1, "open since then");
    assert_eq!(conversation(&setup).await.opening.scheduled_for, None);
}

#[tokio::test]
async fn a_turn_that_comes_before_the_opening_by_another_clock_comes_again() {
    let opens = serde_json::from_value(json!({"wed": ["00:00-24:00"]})).unwrap();
    let setup = setup(|fixture| fixture.bound.instance.opening_hours = Some(opens)).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.pass(4);
    play(&setup).await;
    let opens = conversation(&setup).await.opening.scheduled_for.unwrap();
    setup.pass(opens.as_second() - setup.now().as_second());
    let early = setup.due_turns().await;
    assert_eq!(early.len(), 1);
    // The clock of the function that is given it is three seconds behind.
    setup.pass(-3);
    let body = serde_json::to_string(&early[0]).unwrap();
    let after = SignedDuration::from_secs(3);
    assert_eq!(
        handle_turns_message(&setup.world, &body, 1, None).await,
        Verdict::Retry { after }
    );
    assert_eq!(calls(&setup), 0);
    setup.pass(3);
    let comes_again = handle_turns_message(&setup.world, &body, 2, None).await;
    assert_eq!((comes_again, calls(&setup)), (Verdict::Done, 1));
}

#[tokio::test]
async fn at_the_opening_what_a_person_has_and_what_was_resolved_is_left_alone() {
    for resolved in [false, true] {
        let opens = serde_json::from_value(json!({"wed": ["00:00-24:00"]})).unwrap();
        let setup = setup(|fixture| fixture.bound.instance.opening_hours = Some(opens)).await;
        setup.message(&setup.fixture, "W1", "oi", false).await;
        setup.pass(4);
        play(&setup).await;
        let known = conversation(&setup).await;
        let opens = known.opening.scheduled_for.unwrap();
        let (world, caller) = (&setup.world, Caller::installation());
        if resolved {
            succeed(recado_operators::resolve_conversation(
                world,
                &caller,
                &known.id,
                None,
                &correlation(),
            ))
            .await;
        } else {
            let mode = ConversationMode::Manual;
            succeed(recado_operators::set_conversation_mode(
                world,
                &caller,
                &known.id,
                mode,
                &correlation(),
            ))
            .await;
        }
        setup.pass(opens.as_second() - setup.now().as_second());
        let due = setup.due_turns().await;
        assert_eq!(due.len(), 1, "the schedule is not taken back");
        setup.turns(&setup.fixture).await;
        assert_eq!(calls(&setup), 0, "resolved: {resolved}");
        assert_eq!(conversation(&setup).await.owes_answer(), !resolved);
    }
}
