//! More messages than a turn reads, and longer ones.

use crate::world::Stage;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::message::{Message, Role};
use recado_domain::reason::Reason;
use recado_pipeline::ports::{Conversations, OverdueIndex};
use recado_pipeline::{Verdict, operate, reply};
use recado_testkit::builders::{Scene, correlation};

/// A contact has written so many messages, all owed an answer; the model has a word for everything.
async fn burst(messages: usize) -> Stage {
    let stage = Stage::set(Scene::new()).await;
    *stage.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    write(&stage, 1, messages).await;
    stage
}

async fn write(stage: &Stage, from: usize, upto: usize) {
    for number in from..=upto {
        let (id, text) = (format!("W{number}"), format!("m{number}"));
        stage.message(&stage.scene, &id, &text, false).await;
    }
}

async fn conversation(stage: &Stage) -> Conversation {
    let latest = stage
        .world
        .store
        .find_latest_conversation(&stage.scene.thread())
        .await;
    latest.unwrap().unwrap()
}

async fn all(stage: &Stage) -> Vec<Message> {
    let id = conversation(stage).await.id;
    let (_, messages) = stage
        .world
        .store
        .find_with_history(&id, 500)
        .await
        .unwrap()
        .unwrap();
    messages
}

/// What each call of the model was asked to answer.
fn asked(stage: &Stage) -> Vec<String> {
    stage.world.llm.asked.lock().unwrap().clone()
}

fn lines(from: usize, upto: usize) -> String {
    let lines: Vec<String> = (from..=upto).map(|number| format!("m{number}")).collect();
    lines.join("\n")
}

/// How far each reply answers.
async fn covered(stage: &Stage) -> Vec<u64> {
    let replies = all(stage).await.into_iter().filter_map(|message| message.out);
    replies.map(|out| out.covers.0).collect()
}

/// Plays the turns that are due, and those that they ask for, until none is.
async fn play(stage: &Stage) {
    loop {
        let due = stage.due_turns().await;
        if due.is_empty() {
            return;
        }
        for kick in due {
            let body = serde_json::to_string(&kick).unwrap();
            assert_eq!(
                reply::handle_turn_message(&stage.world, &body, 1).await,
                Verdict::Done
            );
        }
    }
}

#[tokio::test]
async fn thirty_messages_are_read_by_two_turns_the_second_at_once() {
    let stage = burst(30).await;
    stage.turns(&stage.scene).await;
    let known = conversation(&stage).await;
    assert_eq!((known.answered.0, known.needs_person), (20, None));
    let due = stage.due_turns().await;
    assert_eq!(due.len(), 1, "no timer is waited for");
    assert_eq!(due[0].ordinal, known.turn_upto);
    stage.turns(&stage.scene).await;
    assert_eq!(asked(&stage), [lines(1, 20), lines(21, 30)]);
    assert_eq!(covered(&stage).await, [20, 30]);
    assert!(!conversation(&stage).await.owes_answer());
    assert!(stage.due_turns().await.is_empty());
}

#[tokio::test]
async fn of_seventy_messages_three_turns_read_sixty_and_a_person_the_rest() {
    let stage = burst(70).await;
    stage.pass(60);
    play(&stage).await;
    assert_eq!(asked(&stage), [lines(1, 20), lines(21, 40), lines(41, 60)]);
    assert_eq!(covered(&stage).await, [20, 40, 60]);
    let known = conversation(&stage).await;
    assert_eq!(known.needs_person, Some(Reason::TooMuchToRead));
    assert_eq!((known.mode, known.owes_answer()), (ConversationMode::Ai, true));
    stage.pass(3 * 86_400);
    let overdue = stage.world.store.list_overdue(stage.now(), 100).await.unwrap();
    assert!(
        !overdue
            .iter()
            .any(|item| matches!(item, recado_pipeline::ports::OverdueWork::Owed(_))),
        "{overdue:?}"
    );
}

#[tokio::test]
async fn what_waits_for_a_person_is_read_after_the_contacts_next_message() {
    let stage = burst(70).await;
    stage.pass(60);
    play(&stage).await;
    stage.message(&stage.scene, "W71", "m71", false).await;
    stage.pass(3);
    assert!(
        stage.due_turns().await.is_empty(),
        "the debounce is waited for as always"
    );
    stage.pass(1);
    play(&stage).await;
    let read = asked(&stage);
    assert_eq!(read.len(), 4);
    assert_eq!(read[3], lines(61, 70) + "\nm71");
    let known = conversation(&stage).await;
    assert_eq!((known.needs_person, known.owes_answer()), (None, false));
}

#[tokio::test]
async fn what_waits_for_a_person_is_read_after_a_give_back() {
    for taken_over in [true, false] {
        let stage = burst(70).await;
        stage.pass(60);
        play(&stage).await;
        let id = conversation(&stage).await.id;
        stage.send(&id).await;
        let modes = [ConversationMode::Manual, ConversationMode::Ai];
        for mode in modes.into_iter().skip(usize::from(!taken_over)) {
            operate::set_conversation_mode(&stage.world, &id, mode, &correlation())
                .await
                .unwrap();
        }
        play(&stage).await;
        assert_eq!(asked(&stage)[3], lines(61, 70));
        let known = conversation(&stage).await;
        assert_eq!((known.needs_person, known.owes_answer()), (None, false));
    }
}

#[tokio::test]
async fn a_night_of_messages_is_read_from_its_first_one_on() {
    let stage = Stage::set(Scene::new()).await;
    *stage.world.llm.says.lock().unwrap() = Some("bom dia".to_owned());
    for number in 1..=26 {
        write(&stage, number, number).await;
        stage.pass(900);
    }
    stage.due_turns().await;
    stage.turns(&stage.scene).await;
    play(&stage).await;
    assert_eq!(asked(&stage), [lines(1, 20), lines(21, 26)]);
}

#[tokio::test]
async fn what_the_business_sent_meanwhile_keeps_no_message_from_being_read() {
    let stage = burst(3).await;
    let to = stage.scene.address.clone();
    for _ in 0..130 {
        stage.client_writes(to.as_str()).await;
    }
    write(&stage, 4, 5).await;
    stage.turns(&stage.scene).await;
    // (The client's words stand before what is to be answered.)
    assert_eq!(asked(&stage), [lines(1, 5)]);
    let known = conversation(&stage).await;
    assert!(!known.owes_answer());
    let mine = all(&stage).await;
    let users = mine.iter().filter(|message| message.role == Role::User).count();
    assert_eq!((users, mine.len()), (5, 136));
}

#[tokio::test]
async fn a_long_message_is_read_to_its_bound_and_a_long_burst_in_parts() {
    let stage = Stage::set(Scene::new()).await;
    *stage.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    for number in 0..6 {
        let text = "x".repeat(65_000);
        stage
            .message(&stage.scene, &format!("W{number}"), &text, false)
            .await;
    }
    stage.pass(60);
    play(&stage).await;
    let cut = format!("{}… [cut: the first 8000 of 65000 characters]", "x".repeat(8_000));
    let read = asked(&stage);
    assert_eq!(read[0], [&cut[..]; 4].join("\n"));
    assert_eq!(read[1], [&cut[..]; 2].join("\n"));
    assert_eq!(covered(&stage).await, [4, 6]);
}
