//! Edits and deletions are filed where the message lies that they are about, whatever the provider says of the chat.

use crate::world::Setup;
use jiff::SignedDuration;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::event::{EventKind, InboundJob};
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_duration;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{Conversations, Inbox};
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::{Fixture, identity_key};
use recado_testkit::ports::succeed;
use serde_json::json;

/// The business's own number, which a provider may name as the chat of what the contact changed.
const OWN: &str = "5511900000099@s.whatsapp.net";

async fn setup() -> Setup {
    Setup::set(Fixture::new()).await
}

async fn change(setup: &Setup, target: &str, text: Option<&str>, address: &str, from_me: bool) -> InboundJob {
    let payload = json!({"changes": target, "text": text, "address": address, "from_me": from_me});
    setup.event(EventKind::Message, payload).await
}

async fn thread(setup: &Setup, address: &str) -> Option<(Conversation, Vec<Message>)> {
    let store = &setup.world.store;
    let thread = identity_key().derive_thread_id(setup.fixture.instance(), address);
    let latest = store.find_latest_conversation(&thread).await.unwrap()?;
    store.find_with_history(&latest.id, 50).await.unwrap()
}

async fn told(setup: &Setup) -> Vec<(Role, Content)> {
    let (_, history) = thread(setup, setup.fixture.address.as_str()).await.unwrap();
    let mut history: Vec<(u64, Role, Content)> = history
        .into_iter()
        .map(|message| (message.ordinal.0, message.role, message.content))
        .collect();
    history.sort_by_key(|(ordinal, ..)| *ordinal);
    history
        .into_iter()
        .map(|(_, role, content)| (role, content))
        .collect()
}

fn edit(target: &str, text: &str) -> Content {
    Content::Edit {
        target: Some(target.to_owned()),
        content: Box::new(Content::from_text(text)),
    }
}

#[tokio::test]
async fn the_contacts_edit_is_the_contacts_though_the_provider_says_it_is_ours_in_a_chat_with_ourselves() {
    let setup = setup().await;
    setup.message(&setup.fixture, "A", "às 14h", false).await;
    let job = change(&setup, "event-0", Some("às 15h"), OWN, true).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert_eq!(
        told(&setup).await,
        [
            (Role::User, Content::from_text("às 14h")),
            (Role::User, edit("A", "às 15h"))
        ]
    );
    assert!(thread(&setup, OWN).await.is_none());
    let record = setup.world.store.find_event(&job.event).await.unwrap().unwrap();
    assert!(
        format!("{:?}", record.processed).contains("Turn"),
        "an edit asks for an answer"
    );
}

/// An edit of `target` whose new text nobody could decrypt.
async fn encrypted_edit(setup: &Setup, target: &str) -> InboundJob {
    let unreadable =
        json!({"type": "edit", "target": target, "content": {"type": "system", "what": "unreadable"}});
    let address = setup.fixture.address.as_str();
    let payload = json!({"changes": target, "content": unreadable, "address": address, "from_me": false});
    setup.event(EventKind::Message, payload).await
}

#[tokio::test]
async fn an_encrypted_edit_says_of_its_message_that_the_new_text_is_not_known_and_asks_for_no_answer() {
    let setup = setup().await;
    // The provider has the message as it was first: that is not its new text.
    *setup.world.providers.stored_content.lock().unwrap() = Some(Content::from_text("quero duas caixas"));
    setup
        .message(&setup.fixture, "A", "quero duas caixas", false)
        .await;
    let job = encrypted_edit(&setup, "event-0").await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    let (_, history) = thread(&setup, setup.fixture.address.as_str()).await.unwrap();
    assert_eq!(
        history[0].render_present_text(),
        "quero duas caixas [edited; the new text is not known]"
    );
    assert!(history[0].changes.edited_at().is_some());
    assert_eq!(history[1].context.refers_to, Some(history[0].message_id()));
    let record = setup.world.store.find_event(&job.event).await.unwrap().unwrap();
    assert!(format!("{:?}", record.processed).contains("Nothing"));
}

#[tokio::test]
async fn an_encrypted_edit_whose_new_text_the_provider_has_is_read_and_answered() {
    let setup = setup().await;
    *setup.world.providers.stored_content.lock().unwrap() = Some(Content::from_text("quero três caixas"));
    setup
        .message(&setup.fixture, "A", "quero duas caixas", false)
        .await;
    let job = encrypted_edit(&setup, "event-0").await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert_eq!(
        told(&setup).await.last(),
        Some(&(Role::User, edit("A", "quero três caixas")))
    );
    let (_, history) = thread(&setup, setup.fixture.address.as_str()).await.unwrap();
    assert_eq!(history[0].render_present_text(), "quero três caixas");
    let record = setup.world.store.find_event(&job.event).await.unwrap().unwrap();
    assert!(format!("{:?}", record.processed).contains("Turn"));
}

#[tokio::test]
async fn an_edit_that_comes_before_its_message_waits_for_it() {
    let setup = setup().await;
    let early = change(&setup, "event-1", Some("às 15h"), OWN, true).await;
    let Verdict::Retry { after } = setup.receive(&early, 1).await else {
        panic!("it did not wait")
    };
    assert!(after.as_secs() <= 10);
    setup.message(&setup.fixture, "A", "às 14h", false).await;
    setup.pass(5);
    assert_eq!(setup.receive(&early, 2).await, Verdict::Done);
    assert_eq!(told(&setup).await.len(), 2);
}

#[tokio::test]
async fn our_own_message_that_was_edited_or_deleted_on_the_phone_is_known_by_its_providers_id() {
    let setup = setup().await;
    let reply = setup.replied_to(&setup.fixture).await;
    setup.send(&reply.conversation).await;
    for (text, content) in [
        (Some("melhor assim"), edit("P0", "melhor assim")),
        (
            None,
            Content::Deletion {
                target: Some("P0".to_owned()),
            },
        ),
    ] {
        let job = change(&setup, "P0", text, OWN, false).await;
        assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
        let told = told(&setup).await;
        assert_eq!(told.last(), Some(&(Role::Operator, content)));
    }
    let (conversation, _) = thread(&setup, setup.fixture.address.as_str()).await.unwrap();
    // To change one's words is not to answer.
    assert_eq!(conversation.mode, ConversationMode::Ai);
}

#[tokio::test]
async fn a_deletion_asks_for_no_answer() {
    let setup = setup().await;
    setup.message(&setup.fixture, "A", "esquece", false).await;
    let job = change(&setup, "event-0", None, setup.fixture.address.as_str(), false).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert!(matches!(
        told(&setup).await.last(),
        Some((Role::User, Content::Deletion { .. }))
    ));
    let record = setup.world.store.find_event(&job.event).await.unwrap().unwrap();
    assert!(format!("{:?}", record.processed).contains("Nothing"));
}

#[tokio::test]
async fn a_change_of_what_never_came_is_let_go_unless_it_holds_the_contacts_words() {
    let setup = setup().await;
    let contact = setup.fixture.address.as_str().to_owned();
    let lost: [(Option<&str>, &str, bool); 3] =
        [(Some("x"), OWN, true), (None, OWN, true), (None, &contact, false)];
    for (text, address, from_me) in lost {
        let job = change(&setup, "never", text, address, from_me).await;
        assert!(matches!(setup.receive(&job, 1).await, Verdict::Retry { .. }));
        setup.pass(61);
        assert_eq!(setup.receive(&job, 2).await, Verdict::Done);
    }
    assert!(thread(&setup, OWN).await.is_none() && thread(&setup, &contact).await.is_none());
    let job = change(&setup, "never", Some("às 15h"), &contact, false).await;
    setup.pass(61);
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert_eq!(told(&setup).await, [(Role::User, edit("never", "às 15h"))]);
}

#[tokio::test]
async fn who_gets_an_instances_name_at_the_provider_changes_no_message_of_who_had_it() {
    let setup = setup().await;
    setup.message(&setup.fixture, "A", "às 14h", false).await;
    let mut document = setup.fixture.document();
    let mut other = document.instances[0].clone();
    other.id = InstanceId::parse("another").unwrap();
    document.instances[0].external_id = Some(ExternalId::parse("elsewhere").unwrap());
    document.instances.push(other.clone());
    put_configuration(&setup.world.store, &document).await.unwrap();
    let job = change(&setup, "event-0", Some("às 15h"), OWN, true).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert_eq!(told(&setup).await, [(Role::User, Content::from_text("às 14h"))]);
    let theirs = identity_key().derive_thread_id(&other.id, setup.fixture.address.as_str());
    assert!(
        succeed(setup.world.store.find_latest_conversation(&theirs))
            .await
            .is_none()
    );
}

/// Both times are compared by the provider's clock.
#[tokio::test]
async fn words_on_the_phone_answer_nothing_that_was_written_after_them_whatever_the_providers_clock_says() {
    for ahead in [0, 60].map(SignedDuration::from_secs) {
        let setup = setup().await;
        let fixture = setup.fixture.clone();
        let address = fixture.address.as_str();
        let posted = add_duration(setup.now(), ahead);
        let written = |after: SignedDuration| add_duration(posted, after).as_millisecond();
        let typed = json!({"address": address, "id": "T", "text": "já respondo", "from_me": true, "sent_at": written(SignedDuration::ZERO)});
        let asked = json!({"address": address, "id": "A", "text": "alô?", "from_me": false, "sent_at": written(SignedDuration::from_millis(500))});
        setup.pass(2);
        // The contact's comes first, though it was written later.
        for payload in [asked, typed] {
            let job = setup.event(EventKind::Message, payload).await;
            assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
        }
        let (conversation, _) = thread(&setup, address).await.unwrap();
        assert_eq!(conversation.mode, ConversationMode::Manual);
        assert!(conversation.owes_answer(), "nobody saw it, {ahead} ahead");
    }
}
