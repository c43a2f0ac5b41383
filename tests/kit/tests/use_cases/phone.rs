//! What somebody of the business types on its phone.

use crate::world::Setup;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::event::EventKind;
use recado_domain::ids::{Ordinal, TokenName};
use recado_pipeline::Verdict;
use recado_pipeline::ports::Conversations;
use recado_testkit::builders::Fixture;
use serde_json::json;

/// A message arrives that was written so many seconds ago.
async fn written(setup: &Setup, id: &str, from_me: bool, seconds_ago: i64) {
    let sent_at = setup.now().as_millisecond() - seconds_ago * 1_000;
    let address = setup.fixture.address.as_str();
    let payload = json!({"address": address, "id": id, "text": id, "from_me": from_me, "sent_at": sent_at});
    let job = setup.event(EventKind::Message, payload).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
}

async fn conversation(setup: &Setup) -> Conversation {
    let latest = setup
        .world
        .store
        .find_latest_conversation(&setup.fixture.thread())
        .await;
    latest.unwrap().unwrap()
}

#[tokio::test]
async fn typed_words_answer_what_their_author_had_seen_and_no_older_message_that_came_late() {
    for (typed, answered) in [(30, 0), (10, 2)] {
        let setup = Setup::set(Fixture::new()).await;
        setup.pass(3_600);
        written(&setup, "first", false, 20).await;
        // Older than the first, and stored behind it.
        written(&setup, "late", false, 60).await;
        written(&setup, "typed", true, typed).await;
        let found = conversation(&setup).await;
        assert_eq!(found.mode, ConversationMode::Manual);
        let handover = found.handover.unwrap();
        assert_eq!((handover.by, handover.at), (TokenName::phone(), setup.now()));
        let taken = found.taken.unwrap();
        assert_eq!((taken.by, taken.at), (TokenName::phone(), setup.now()));
        assert_eq!(
            (found.human, found.answered),
            (Ordinal(answered), Ordinal(answered)),
            "typed {typed} s ago"
        );
    }
}
