//! Drafts that are dropped because the contact writes while the model thinks (`restart_drafts`).

use crate::world::{Setup, beside};
use recado_domain::conversation::Conversation;
use recado_domain::decision::AgentDecision;
use recado_domain::event::EventKind;
use recado_pipeline::ports::{Conversations, Queues};
use recado_pipeline::{Verdict, handle_turns_message, process};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde_json::json;

/// A contact has written `m1`. Of all instances so many drafts are dropped in a row, and of this one `own`.
async fn setup(of_all: u32, own: Option<u32>) -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.instance.restart_drafts = own;
    let mut setup = Setup::set(fixture).await;
    setup.world.deps_mut().settings_mut().restart_drafts = of_all;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    setup.message(&setup.fixture, "W1", "m1", false).await;
    setup
}

/// The model's next call takes five seconds, and meanwhile the contact writes.
async fn writes_meanwhile(setup: &Setup, number: usize) {
    let (address, id) = (setup.fixture.address.as_str(), format!("W{number}"));
    let payload = json!({"address": address, "id": id, "text": format!("m{number}"), "from_me": false});
    let job = setup.event(EventKind::Message, payload).await;
    let (world, body) = (beside(&setup.world), serde_json::to_string(&job).unwrap());
    setup.world.llm.meanwhile.set(async move {
        world.system.pass(5_000);
        assert_eq!(process::process(&world, &body, 1).await, Verdict::Done);
    });
}

fn asked(setup: &Setup) -> Vec<String> {
    setup.world.llm.asked.lock().unwrap().clone()
}

/// For a minute: handles the turn jobs that are due, and puts back those that come back. During each call of the model the
/// contact writes once more, up to message `last`.
async fn play(setup: &Setup, last: usize) {
    let mut written = 1;
    for _ in 0..60 {
        for job in setup.due_turns().await {
            if written < last && asked(setup).len() == written - 1 {
                written += 1;
                writes_meanwhile(setup, written).await;
            }
            let body = serde_json::to_string(&job).unwrap();
            if let Verdict::Retry { after } = handle_turns_message(&setup.world, &body, 1, None).await {
                let again = setup.world.queues.enqueue_turns_job(&job, after.unsigned_abs());
                again.await.unwrap();
            }
        }
        setup.pass(1);
    }
}

async fn latest(setup: &Setup) -> Conversation {
    setup.latest_conversation().await.unwrap()
}

/// How far each reply answers, and at which attempt it was drafted.
async fn replies(setup: &Setup) -> Vec<(String, u32)> {
    let id = latest(setup).await.id;
    let (_, messages) = succeed(setup.world.store.find_with_history(&id, 500))
        .await
        .unwrap();
    let of = |covers| messages.iter().find(|message| message.ordinal == covers);
    let replies = messages.iter().filter_map(|message| message.out.as_ref());
    let named = replies.map(|out| {
        let attempt = out.turn.as_ref().unwrap().attempt;
        (of(out.covers).unwrap().content.render_text(), attempt)
    });
    named.collect()
}

#[tokio::test]
async fn a_message_that_comes_while_the_model_thinks_drops_the_draft_where_that_is_set() {
    for (of_all, own, drops) in [
        (0, None, false),
        (2, None, true),
        (0, Some(1), true),
        (2, Some(0), false),
    ] {
        let setup = setup(of_all, own).await;
        play(&setup, 2).await;
        let (second, covered) = if drops {
            ("m1\nm2", vec![("m2".to_owned(), 1)])
        } else {
            ("m2", vec![("m1".to_owned(), 1), ("m2".to_owned(), 1)])
        };
        assert_eq!(asked(&setup), ["m1", second], "{of_all} {own:?}");
        assert_eq!(replies(&setup).await, covered, "{of_all} {own:?}");
        assert!(!latest(&setup).await.owes_answer());
    }
}

#[tokio::test]
async fn somebody_who_writes_on_and_on_is_answered_after_the_drafts_that_may_be_dropped() {
    let setup = setup(2, None).await;
    play(&setup, 6).await;
    assert_eq!(
        asked(&setup),
        ["m1", "m1\nm2", "m1\nm2\nm3", "m4", "m4\nm5", "m4\nm5\nm6"]
    );
    let covered = replies(&setup).await;
    assert_eq!(covered, [("m3".to_owned(), 1), ("m6".to_owned(), 1)]);
}

#[tokio::test]
async fn a_draft_that_is_dropped_decides_nothing() {
    let setup = setup(1, None).await;
    let note = "asks for a person".to_owned();
    *setup.world.llm.decides.lock().unwrap() = Some(AgentDecision::HandOver { note });
    play(&setup, 2).await;
    let known = latest(&setup).await;
    assert_eq!((known.needs_person, known.people.hand_over_note), (None, None));
    assert_eq!(replies(&setup).await, [("m2".to_owned(), 1)]);
}
