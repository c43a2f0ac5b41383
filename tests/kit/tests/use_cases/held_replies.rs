//! A reply whose draft began early leaves only after the contact had time to write the next line.

use crate::played_lines::{Line, list_messages, millis_between, play_lines};
use crate::world::{Setup, beside};
use futures::future::{Either, select};
use recado_domain::SignedDuration;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::debounce::{Debounce, DebounceBounds};
use recado_domain::millis::add_millis;
use recado_domain::turn::{StepDuration, TurnStep};
use recado_pipeline::ports::Conversations;
use recado_pipeline::{Settings, Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Notify;

const QUESTION: &str = "Vocês abrem no sábado?";

async fn setup(debounce: Debounce) -> Setup {
    let mut setup = Setup::set(Fixture::new()).await;
    setup.world.deps_mut().settings_mut().debounce = debounce;
    *setup.world.llm.says.lock().unwrap() = Some("Das nove ao meio-dia.".to_owned());
    setup
}

/// Lets the contact write these lines, each so many milliseconds after the first. Returns when each reply left after that, and how many of
/// the messages it covers.
async fn play(setup: &Setup, model_ms: i64, lines: &[(i64, &str)]) -> Vec<(i64, u64)> {
    let begin = setup.now();
    let lines = lines.iter().enumerate().map(|(number, (after, text))| Line {
        at: add_millis(begin, *after),
        id: format!("W{number}"),
        content: Content::from_text(*text),
    });
    play_lines(setup, model_ms, lines.collect()).await;
    let messages = list_messages(setup).await;
    let replies = messages.iter().filter_map(|message| {
        let covers = message.out.as_ref()?.covers.0;
        let asked = messages.iter().filter(|asked| asked.out.is_none());
        let covered = asked.filter(|asked| asked.ordinal.0 <= covers).count() as u64;
        Some((millis_between(begin, message.stored_at), covered))
    });
    replies.collect()
}

fn adaptive(short: i64, long: i64) -> Debounce {
    Debounce::Adaptive(DebounceBounds {
        short: SignedDuration::from_millis(short),
        long: SignedDuration::from_millis(long),
    })
}

#[tokio::test]
async fn a_reply_leaves_2_1_seconds_after_the_last_message_and_later_only_where_the_model_takes_longer() {
    let usual = Settings::default().debounce;
    let fixed = Debounce::Fixed(SignedDuration::from_millis(500));
    for (debounce, model_ms, text, left) in [
        (usual, 800, QUESTION, 2_100),
        (usual, 20, QUESTION, 2_100),
        (usual, 1_200, QUESTION, 2_100),
        (usual, 2_000, QUESTION, 2_900),
        (usual, 20, "obrigado", 2_100),
        (usual, 800, "obrigado", 2_780),
        // The settings' own waits are not exceeded.
        (fixed, 100, QUESTION, 600),
        (adaptive(300, 8_000), 100, QUESTION, 700),
        (adaptive(300, 8_000), 800, QUESTION, 1_100),
        (adaptive(900, 1_000), 20, QUESTION, 1_000),
        (adaptive(3_000, 8_000), 20, QUESTION, 3_020),
    ] {
        let setup = setup(debounce).await;
        let replies = play(&setup, model_ms, &[(0, text)]).await;
        assert_eq!(replies, [(left, 1)], "{debounce:?} {model_ms} {text}");
    }
}

#[tokio::test]
async fn the_record_of_the_turn_says_how_long_the_reply_was_held() {
    let setup = setup(Settings::default().debounce).await;
    play(&setup, 800, &[(0, QUESTION)]).await;
    let messages = list_messages(&setup).await;
    let turn = messages[1].out.as_ref().unwrap().turn.as_ref().unwrap();
    let expected = [
        StepDuration(TurnStep::Model, 800),
        StepDuration(TurnStep::Hold, 400),
    ];
    assert_eq!(turn.steps, expected);
}

#[tokio::test]
async fn who_writes_on_before_the_reply_leaves_gets_one_reply_to_all() {
    for (model_ms, lines, replies) in [
        // While it is held.
        (800, &[(0, QUESTION), (1_900, "obrigado")][..], 1),
        // While the model thinks, however long.
        (3_000, &[(0, QUESTION), (1_500, "obrigado")], 1),
        // Too late.
        (800, &[(0, QUESTION), (2_200, "obrigado")], 2),
        (3_000, &[(0, QUESTION), (2_500, "obrigado")], 2),
        // One draft is dropped for it, and not each.
        (
            800,
            &[(0, QUESTION), (1_900, "E no domingo?"), (3_950, "obrigado")],
            2,
        ),
    ] {
        let setup = setup(Settings::default().debounce).await;
        let played = play(&setup, model_ms, lines).await;
        assert_eq!(played.len(), replies, "{lines:?} {played:?}");
        assert_eq!(played.last().unwrap().1, lines.len() as u64, "{played:?}");
        assert!(played[0].0 >= 2_100, "{played:?}");
    }
}

#[tokio::test]
async fn what_follows_a_question_within_two_seconds_never_comes_after_a_reply() {
    let questions = [
        QUESTION,
        "Quanto custa a limpeza?",
        "¿Atienden los sábados?",
        "Do you take Amex?",
    ];
    let rest = ["obrigado", "E no domingo?", "é pra minha filha", "ok", "oi"];
    let pauses = (1..=10).map(|step| step * 200);
    let mut setup = setup(Settings::default().debounce).await;
    for (pause, question) in pauses.flat_map(|pause| questions.map(|question| (pause, question))) {
        for rest in rest {
            setup.fixture = setup.fixture.other_contact();
            let replies = play(&setup, 800, &[(0, question), (pause, rest)]).await;
            assert!(
                replies.len() == 1 && replies[0].0 > pause,
                "{question} {pause} {rest}: {replies:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_takeover_while_a_reply_is_held_discards_it() {
    let setup = setup(Settings::default().debounce).await;
    let (world, thread) = (beside(&setup.world), setup.fixture.thread());
    let at = add_millis(setup.now(), 1_900);
    setup.world.system.happens_at(at, async move {
        let latest = succeed(world.store.find_latest_conversation(&thread)).await;
        let (caller, id) = (Caller::installation(), latest.unwrap().id);
        let mode = ConversationMode::Manual;
        let operation = correlation();
        let taken = recado_operators::set_conversation_mode(&world, &caller, &id, mode, &operation);
        succeed(taken).await;
    });
    assert_eq!(play(&setup, 800, &[(0, QUESTION)]).await, []);
    let known = setup.latest_conversation().await.unwrap();
    assert_eq!((known.mode, known.lease), (ConversationMode::Manual, None));
}

#[tokio::test]
async fn a_worker_that_dies_while_it_holds_a_reply_leaves_the_turn_to_the_next() {
    let setup = setup(Settings::default().debounce).await;
    setup.message(&setup.fixture, "W0", QUESTION, false).await;
    setup.world.system.pass(900);
    let job = setup.due_turns().await.pop().unwrap();
    let body = serde_json::to_string(&job).unwrap();
    let dies = Arc::new(Notify::new());
    let death = Arc::clone(&dies);
    let at = add_millis(setup.now(), 1_000);
    setup
        .world
        .system
        .happens_at(at, async move { death.notify_one() });
    {
        let end = pin!(dies.notified());
        let turn = pin!(handle_turns_message(&setup.world, &body, 1, None));
        let ended = select(end, turn).await;
        assert!(matches!(ended, Either::Left(_)), "the reply was not held");
    }
    assert_eq!(list_messages(&setup).await.len(), 1);
    let again = async || handle_turns_message(&setup.world, &body, 2, None).await;
    assert!(
        matches!(again().await, Verdict::Retry { .. }),
        "the lease is another's"
    );
    setup.pass(96);
    assert_eq!(again().await, Verdict::Done);
    assert_eq!(list_messages(&setup).await.len(), 2);
    assert_eq!(setup.world.llm.asked.lock().unwrap().len(), 2);
}
