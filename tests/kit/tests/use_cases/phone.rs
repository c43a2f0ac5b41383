//! What somebody of the business types on its phone.

use crate::world::Setup;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::event::EventKind;
use recado_domain::ids::{Ordinal, TokenName};
use recado_pipeline::Verdict;
use recado_pipeline::ports::Conversations;
use recado_testkit::builders::{Fixture, identity_key};
use serde_json::json;

/// A message arrives that was written so many seconds ago. Its id is its text.
pub(crate) async fn written(setup: &Setup, id: &str, from_me: bool, seconds_ago: i64) {
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
        let handover = found.people.handover.unwrap();
        assert_eq!((handover.by, handover.at), (TokenName::phone(), setup.now()));
        let taken = found.people.taken.unwrap();
        assert_eq!((taken.by, taken.at), (TokenName::phone(), setup.now()));
        assert_eq!(
            (found.human, found.answered),
            (Ordinal(answered), Ordinal(answered)),
            "typed {typed} s ago"
        );
    }
}

const GREETING: &str = "Oi! Recebemos sua mensagem e respondemos logo.";

/// A contact writes, and so many seconds later this text is typed on the phone. Returns who has the conversation then, and the
/// number of its messages.
async fn greeted(setup: &Setup, contact: &str, text: &str, seconds: i64) -> (ConversationMode, usize) {
    let now = setup.now().as_millisecond();
    let written = [
        ("pergunta", false, now - 60_000),
        (text, true, now - 60_000 + seconds * 1_000),
    ];
    for (text, from_me, sent_at) in written {
        let id = format!("{contact}-{text}-{sent_at}");
        let payload =
            json!({"address": contact, "id": id, "text": text, "from_me": from_me, "sent_at": sent_at});
        let job = setup.event(EventKind::Message, payload).await;
        assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    }
    let thread = identity_key().derive_thread_id(setup.fixture.instance(), contact);
    let latest = setup
        .world
        .store
        .find_latest_conversation(&thread)
        .await
        .unwrap()
        .unwrap();
    let (_, messages) = setup
        .world
        .store
        .find_with_history(&latest.id, 10)
        .await
        .unwrap()
        .unwrap();
    (latest.mode, messages.len())
}

async fn set_up_greeting(phone_greets: Option<bool>) -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.instance.phone_greets = phone_greets;
    let setup = Setup::set(fixture).await;
    setup.pass(3_600);
    setup
}

#[tokio::test]
async fn a_greeting_that_the_phone_writes_to_several_contacts_takes_over_the_first_conversation_alone() {
    let setup = set_up_greeting(None).await;
    let [first, second, third, fourth, fifth] =
        [1, 2, 3, 4, 5].map(|number| format!("551190000100{number}@s.whatsapp.net"));
    assert_eq!(
        greeted(&setup, &first, GREETING, 1).await,
        (ConversationMode::Manual, 2)
    );
    assert_eq!(
        greeted(&setup, &second, GREETING, 2).await,
        (ConversationMode::Ai, 2)
    );
    // Other words, or the same words later than any program writes them, are a person's.
    assert_eq!(
        greeted(&setup, &third, "Oi, Ana! Já vejo.", 1).await.0,
        ConversationMode::Manual
    );
    assert_eq!(
        greeted(&setup, &fourth, GREETING, 3).await.0,
        ConversationMode::Manual
    );
    assert_eq!(greeted(&setup, &fifth, GREETING, 0).await.0, ConversationMode::Ai);
    // What follows it is a person's, too.
    assert_eq!(
        greeted(&setup, &fifth, GREETING, 1).await,
        (ConversationMode::Manual, 4)
    );
}

#[tokio::test]
async fn the_setting_says_from_the_first_contact_on_whether_the_phone_greets() {
    let contacts = [6, 7].map(|number| format!("551190000100{number}@s.whatsapp.net"));
    for (phone_greets, mode) in [(true, ConversationMode::Ai), (false, ConversationMode::Manual)] {
        let setup = set_up_greeting(Some(phone_greets)).await;
        for contact in &contacts {
            assert_eq!(
                greeted(&setup, contact, GREETING, 1).await,
                (mode, 2),
                "{phone_greets}"
            );
        }
    }
}
