//! What somebody of the business types on its phone.

use crate::world::Stage;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::event::EventKind;
use recado_domain::ids::Ordinal;
use recado_pipeline::Verdict;
use recado_pipeline::ports::Conversations;
use recado_testkit::builders::Scene;
use serde_json::json;

/// A message arrives that was written so many seconds ago.
async fn written(stage: &Stage, id: &str, from_me: bool, seconds_ago: i64) {
    let sent_at = stage.now().as_millisecond() - seconds_ago * 1_000;
    let address = stage.scene.address.as_str();
    let payload = json!({"address": address, "id": id, "text": id, "from_me": from_me, "sent_at": sent_at});
    let job = stage.event(EventKind::Message, payload).await;
    assert_eq!(stage.receive(&job, 1).await, Verdict::Done);
}

async fn conversation(stage: &Stage) -> Conversation {
    let latest = stage
        .world
        .store
        .find_latest_conversation(&stage.scene.thread())
        .await;
    latest.unwrap().unwrap()
}

#[tokio::test]
async fn typed_words_answer_what_their_author_had_seen_and_no_older_message_that_came_late() {
    for (typed, answered) in [(30, 0), (10, 2)] {
        let stage = Stage::set(Scene::new()).await;
        stage.pass(3_600);
        written(&stage, "first", false, 20).await;
        // Older than the first, and stored behind it.
        written(&stage, "late", false, 60).await;
        written(&stage, "typed", true, typed).await;
        let found = conversation(&stage).await;
        assert_eq!(found.mode, ConversationMode::Manual);
        assert_eq!(
            (found.human, found.answered),
            (Ordinal(answered), Ordinal(answered)),
            "typed {typed} s ago"
        );
    }
}
