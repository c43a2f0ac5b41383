//! More messages than a turn reads, and longer ones.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::debounce::Debounce;
use recado_domain::message::{Message, Role};
use recado_domain::reason::Reason;
use recado_domain::wake_up::TurnsJob;
use recado_pipeline::ports::{Conversations, Overviews};
use recado_pipeline::{Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;

/// A contact has written so many messages, all owed an answer; the model has a word for everything.
async fn burst(messages: usize) -> Setup {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    write(&setup, 1, messages).await;
    setup
}

async fn write(setup: &Setup, from: usize, upto: usize) {
    for number in from..=upto {
        let (id, text) = (format!("W{number}"), format!("m{number}"));
        setup.message(&setup.fixture, &id, &text, false).await;
    }
}

async fn conversation(setup: &Setup) -> Conversation {
    let latest = setup
        .world
        .store
        .find_latest_conversation(&setup.fixture.thread())
        .await;
    latest.unwrap().unwrap()
}

async fn all(setup: &Setup) -> Vec<Message> {
    let id = conversation(setup).await.id;
    let (_, messages) = succeed(setup.world.store.find_with_history(&id, 500))
        .await
        .unwrap();
    messages
}

/// What each call of the model was asked to answer.
fn asked(setup: &Setup) -> Vec<String> {
    setup.world.llm.asked.lock().unwrap().clone()
}

fn lines(from: usize, upto: usize) -> String {
    let lines: Vec<String> = (from..=upto).map(|number| format!("m{number}")).collect();
    lines.join("\n")
}

/// How far each reply answers.
async fn covered(setup: &Setup) -> Vec<u64> {
    let replies = all(setup).await.into_iter().filter_map(|message| message.out);
    replies.map(|out| out.covers.0).collect()
}

/// Plays the turns that are due, and those that they ask for, until none is.
async fn play(setup: &Setup) {
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

/// A turn reads the oldest first and covers what it read.
#[tokio::test]
async fn thirty_messages_are_read_by_two_turns_the_second_at_once() {
    let setup = burst(30).await;
    setup.turns(&setup.fixture).await;
    let known = conversation(&setup).await;
    assert_eq!((known.answered.0, known.needs_person), (20, None));
    let due = setup.due_turns().await;
    assert_eq!(due.len(), 1, "no timer is waited for");
    let TurnsJob::Turn(rest) = &due[0] else {
        panic!("no turn: {due:?}")
    };
    assert_eq!(rest.ordinal, known.turn_upto);
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(&setup), [lines(1, 20), lines(21, 30)]);
    assert_eq!(covered(&setup).await, [20, 30]);
    assert!(!conversation(&setup).await.owes_answer());
    assert!(setup.due_turns().await.is_empty());
}

#[tokio::test]
async fn of_seventy_messages_three_turns_read_sixty_and_a_person_the_rest() {
    let setup = burst(70).await;
    setup.pass(60);
    play(&setup).await;
    assert_eq!(asked(&setup), [lines(1, 20), lines(21, 40), lines(41, 60)]);
    assert_eq!(covered(&setup).await, [20, 40, 60]);
    let known = conversation(&setup).await;
    assert_eq!(known.needs_person, Some(Reason::TooMuchToRead));
    assert_eq!((known.mode, known.owes_answer()), (ConversationMode::Ai, true));
    setup.pass(3 * 86_400);
    let overdue = setup.world.store.list_overdue(setup.now(), 100).await.unwrap();
    assert!(
        !overdue
            .iter()
            .any(|item| matches!(item, recado_pipeline::ports::OverdueWork::Owed(_))),
        "{overdue:?}"
    );
}

#[tokio::test]
async fn what_waits_for_a_person_is_read_after_the_contacts_next_message() {
    let setup = burst(70).await;
    setup.pass(60);
    play(&setup).await;
    setup.message(&setup.fixture, "W71", "m71", false).await;
    setup.pass(3);
    assert!(
        setup.due_turns().await.is_empty(),
        "the debounce is waited for as always"
    );
    setup.pass(1);
    play(&setup).await;
    let read = asked(&setup);
    assert_eq!(read.len(), 4);
    assert_eq!(read[3], lines(61, 70) + "\nm71");
    let known = conversation(&setup).await;
    assert_eq!((known.needs_person, known.owes_answer()), (None, false));
}

#[tokio::test]
async fn what_waits_for_a_person_is_read_after_a_give_back() {
    for taken_over in [true, false] {
        let setup = burst(70).await;
        setup.pass(60);
        play(&setup).await;
        let id = conversation(&setup).await.id;
        setup.send(&id).await;
        let modes = [ConversationMode::Manual, ConversationMode::Ai];
        for mode in modes.into_iter().skip(usize::from(!taken_over)) {
            succeed(recado_operators::set_conversation_mode(
                &setup.world,
                &Caller::installation(),
                &id,
                mode,
                &correlation(),
            ))
            .await;
        }
        play(&setup).await;
        assert_eq!(asked(&setup)[3], lines(61, 70));
        let known = conversation(&setup).await;
        assert_eq!((known.needs_person, known.owes_answer()), (None, false));
    }
}

#[tokio::test]
async fn a_night_of_messages_is_read_from_its_first_one_on() {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.llm.says.lock().unwrap() = Some("bom dia".to_owned());
    for number in 1..=26 {
        write(&setup, number, number).await;
        setup.pass(900);
    }
    setup.due_turns().await;
    setup.turns(&setup.fixture).await;
    play(&setup).await;
    let told = [("09:00", lines(1, 20)), ("14:00", lines(21, 26))];
    assert_eq!(
        asked(&setup),
        told.map(|(time, lines)| format!("[Mon 5 Jan 2026, {time}]\n{lines}"))
    );
}

#[tokio::test]
async fn what_the_business_sent_meanwhile_keeps_no_message_from_being_read() {
    let setup = burst(3).await;
    let to = setup.fixture.address.clone();
    for _ in 0..130 {
        setup.client_writes(to.as_str()).await;
    }
    write(&setup, 4, 5).await;
    setup.turns(&setup.fixture).await;
    // (The client's words stand before what is to be answered.)
    assert_eq!(asked(&setup), [lines(1, 5)]);
    let known = conversation(&setup).await;
    assert!(!known.owes_answer());
    let mine = all(&setup).await;
    let users = mine.iter().filter(|message| message.role == Role::User).count();
    assert_eq!((users, mine.len()), (5, 136));
}

#[tokio::test]
async fn a_long_message_is_read_to_its_bound_and_a_long_burst_in_parts() {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    for number in 0..6 {
        let text = "x".repeat(65_000);
        setup
            .message(&setup.fixture, &format!("W{number}"), &text, false)
            .await;
    }
    setup.pass(60);
    play(&setup).await;
    let cut = format!("{}… [cut: the first 8000 of 65000 characters]", "x".repeat(8_000));
    let read = asked(&setup);
    assert_eq!(read[0], [&cut[..]; 4].join("\n"));
    assert_eq!(read[1], [&cut[..]; 2].join("\n"));
    assert_eq!(covered(&setup).await, [4, 6]);
}

#[tokio::test]
async fn announcements_put_the_answer_off_for_no_longer_than_a_burst_may() {
    let mut setup = burst(0).await;
    setup.world.deps_mut().settings_mut().debounce =
        Debounce::Adaptive(setup.world.settings().debounce_bounds);
    let announces = |id| setup.message(&setup.fixture, id, "Vou mandar uma foto", false);
    announces("A").await;
    setup.world.system.pass(15_900);
    announces("B").await;
    for (milliseconds, calls) in [(100, 0), (3_999, 0), (1, 1)] {
        setup.world.system.pass(milliseconds);
        play(&setup).await;
        assert_eq!(asked(&setup).len(), calls);
    }
    assert!(!conversation(&setup).await.owes_answer());
}
