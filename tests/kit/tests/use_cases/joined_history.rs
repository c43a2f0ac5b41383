//! What the model reads of two conversations that turned out to be one person's.

use crate::identities::{LID, NUMBER, receive, words};
use crate::joined::{both, shows_both, turns, two};
use crate::world::Setup;

/// What the model read in its last call: the texts of its turns.
fn read(setup: &Setup) -> Vec<String> {
    setup.world.llm.read.lock().unwrap().clone()
}

#[tokio::test]
async fn the_model_reads_both_conversations_of_one_person_as_one_history() {
    let setup = two().await;
    turns(&setup).await;
    setup.pass(60);
    receive(&setup, words("later", LID, None, false)).await;
    turns(&setup).await;
    assert_eq!(read(&setup), ["a", "certo", "later"], "nobody knows yet");
    setup.pass(60);
    shows_both(&setup).await;
    turns(&setup).await;
    let all = read(&setup);
    assert_eq!(all.last().map(String::as_str), Some("c"));
    let contact: Vec<&str> = all.iter().step_by(2).flat_map(|text| text.lines()).collect();
    assert_eq!(contact, ["a", "b", "later", "c"], "{all:?}");
    assert_eq!(all.len(), 5, "the agent's replies stand between: {all:?}");
    // What follows is read from both, too.
    setup.pass(60);
    receive(&setup, words("d", LID, None, false)).await;
    turns(&setup).await;
    let text = read(&setup).join(" ");
    assert!(text.contains("later") && text.ends_with('d'), "{text}");
}

#[tokio::test]
async fn what_is_owed_in_either_conversation_is_read_by_the_turn_that_answers_it() {
    let setup = two().await;
    shows_both(&setup).await;
    turns(&setup).await;
    let asked = setup.world.llm.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for owed in ["a", "b\nc"] {
        assert_eq!(
            asked.iter().filter(|text| text.as_str() == owed).count(),
            1,
            "{asked:?}"
        );
    }
    assert!(!both(&setup).await.0.agent_owes_answer());
}

#[tokio::test]
async fn both_limits_hold_over_both_conversations() {
    let mut setup = two().await;
    turns(&setup).await;
    for text in ["one", "two", "three"] {
        setup.pass(60);
        receive(&setup, words(text, LID, None, false)).await;
        turns(&setup).await;
    }
    setup.pass(60);
    shows_both(&setup).await;
    setup.world.deps_mut().settings_mut().turn_reads.messages = 4;
    turns(&setup).await;
    assert_eq!(
        read(&setup),
        ["[earlier messages are not shown]", "certo", "three", "certo", "c"],
        "with a reply that comes first"
    );
    setup.world.deps_mut().settings_mut().turn_reads.messages = 20;
    setup.world.deps_mut().settings_mut().turn_reads.transcript_chars = 3 * 18;
    setup.pass(60);
    receive(&setup, words("d", NUMBER, None, false)).await;
    turns(&setup).await;
    assert_eq!(read(&setup), ["c", "certo", "d"]);
}
