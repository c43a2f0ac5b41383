//! Files that webhooks hold: they become the files of their messages, nobody is asked for them, and none is left over.

use crate::media::{PNG, picture, setup};
use crate::world::{FileAnswer, Setup};
use recado_contacts::{ContactQuery, erase_contact};
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::event::{EventKind, derive_event_id, webhook_file_key};
use recado_domain::ids::EventId;
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_pipeline::ingest::ingest;
use recado_pipeline::ports::{Files, Queues};
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::correlation;
use recado_testkit::ports::succeed;
use serde_json::json;

/// The picture as Base64.
const PNG_BASE64: &str = "iVBORw0KGgo=";

fn id_of(setup: &Setup, id: &str) -> EventId {
    let provider = setup.fixture.bound.instance.provider;
    derive_event_id(provider, &setup.fixture.external(), EventKind::Message, id)
}

/// A webhook with the message `id`, which holds this file.
fn webhook(setup: &Setup, id: &str, from_me: bool, content: &Content, base64: &str) -> Vec<WebhookItem> {
    let address = setup.fixture.address.clone();
    vec![WebhookItem::Event(WebhookEvent {
        id: id_of(setup, id),
        provider: setup.fixture.bound.instance.provider,
        external: setup.fixture.external(),
        kind: EventKind::Message,
        payload: json!({"address": address.as_str(), "id": id, "text": "", "from_me": from_me, "content": content}),
        address: Some(address),
        lookalike: false,
        file: Some(base64.to_owned()),
    })]
}

impl Setup {
    async fn posts(&self, id: &str) {
        let items = webhook(self, id, false, &picture(), PNG_BASE64);
        ingest(&self.world, items, &correlation()).await.unwrap();
    }

    /// Whether the file that this message's webhook held lies there.
    async fn is_kept(&self, id: &str) -> bool {
        let key = webhook_file_key(&id_of(self, id));
        succeed(self.world.queues.find_payload(&key)).await.is_some()
    }

    async fn stored_bytes(&self) -> Option<Vec<u8>> {
        let key = self.newest().await.file_key().unwrap();
        let found = succeed(self.world.store.open_file(&key)).await?;
        Some(found.read_all().await.unwrap())
    }
}

#[tokio::test]
async fn what_a_webhook_holds_becomes_the_file_and_nobody_is_asked() {
    let setup = setup().await;
    setup.posts("A").await;
    assert!(setup.is_kept("A").await);
    setup.due_events().await;
    setup.turn(&setup.fixture).await;
    assert_eq!(setup.stored_bytes().await.as_deref(), Some(PNG));
    let file = setup.newest().await.file.unwrap();
    assert_eq!(file.stored().unwrap().mime_type, "image/png");
    assert_eq!(setup.files_asked(), 0);
    assert!(!setup.is_kept("A").await, "it is stored as the file");
}

#[tokio::test]
async fn a_repeated_webhook_leaves_nothing_and_takes_nothing_away() {
    let setup = setup().await;
    setup.posts("A").await;
    setup.due_events().await;
    setup.posts("A").await;
    assert!(setup.is_kept("A").await, "the message still waits for it");
    setup.turn(&setup.fixture).await;
    setup.posts("A").await;
    assert!(!setup.is_kept("A").await);
    assert_eq!(setup.files_asked(), 0);
}

#[tokio::test]
async fn a_file_that_is_not_stored_or_not_there_any_more_is_asked_for() {
    let setup = setup().await;
    let world = crate::bucket::world(&setup, 1);
    world
        .queues
        .puts_fail
        .store(1, std::sync::atomic::Ordering::SeqCst);
    let items = webhook(&setup, "A", false, &picture(), PNG_BASE64);
    let report = ingest(&world, items, &correlation()).await.unwrap();
    assert_eq!(report.events, 1, "the webhook is taken all the same");
    setup.due_events().await;
    assert!(!setup.newest().await.file.unwrap().from_webhook);
    setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    setup.turn(&setup.fixture).await;
    setup.posts("B").await;
    setup.due_events().await;
    succeed(
        setup
            .world
            .queues
            .delete_payload(&webhook_file_key(&id_of(&setup, "B"))),
    )
    .await;
    setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
    setup.turn(&setup.fixture).await;
    assert_eq!(setup.stored_bytes().await.as_deref(), Some(PNG));
    assert_eq!(setup.files_asked(), 2);
}

#[tokio::test]
async fn bytes_that_are_no_base64_or_too_many_are_asked_for() {
    let mut setup = setup().await;
    setup.world.deps_mut().settings_mut().file_bytes_max = 8;
    for (id, base64, is_kept) in [("A", "é", true), ("B", "iVBORw0KGgoAAAAA", false)] {
        let items = webhook(&setup, id, false, &picture(), base64);
        ingest(&setup.world, items, &correlation()).await.unwrap();
        assert_eq!(setup.is_kept(id).await, is_kept, "{base64}");
        setup.due_events().await;
        setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
        setup.turn(&setup.fixture).await;
        assert_eq!(setup.stored_bytes().await.as_deref(), Some(PNG));
        assert!(!setup.is_kept(id).await);
    }
    assert_eq!(setup.files_asked(), 2);
}

#[tokio::test]
async fn the_file_of_a_message_that_is_not_stored_goes_at_once() {
    let setup = setup().await;
    let mut document = setup.fixture.document();
    document.instances[0].disabled = true;
    succeed(put_configuration(&setup.world.store, &document)).await;
    setup.posts("A").await;
    setup.due_events().await;
    assert!(!setup.is_kept("A").await);
}

#[tokio::test]
async fn the_file_goes_with_the_message_that_waits_for_it() {
    let setup = setup().await;
    setup.posts("A").await;
    setup.due_events().await;
    assert!(setup.newest().await.file.unwrap().from_webhook);
    let address = setup.fixture.address.as_str();
    let payload = json!({"address": address, "changes": "A", "from_me": false});
    let job = setup.event(EventKind::Message, payload).await;
    assert_eq!(setup.receive(&job, 1).await, recado_pipeline::Verdict::Done);
    assert!(!setup.is_kept("A").await);
}

#[tokio::test]
async fn an_erased_contact_leaves_no_file_of_a_webhook() {
    let setup = setup().await;
    setup.posts("A").await;
    setup.due_events().await;
    setup.posts("B").await;
    let query = ContactQuery {
        tenant: setup.fixture.bound.tenant.id.clone(),
        instance: None,
        contact: setup.fixture.address.as_str().to_owned(),
    };
    erase_contact(&setup.world, &Caller::installation(), &query)
        .await
        .unwrap();
    assert!(!setup.is_kept("A").await, "of a message that waits for it");
    assert!(!setup.is_kept("B").await, "of an event that is not applied yet");
    setup.posts("A").await;
    assert!(!setup.is_kept("A").await, "of a webhook that comes again");
}

#[tokio::test]
async fn a_file_that_was_sent_from_the_phone_becomes_the_file_of_its_message() {
    let setup = setup().await;
    setup.posts("A").await;
    setup.due_events().await;
    setup.turn(&setup.fixture).await;
    let items = webhook(&setup, "B", true, &picture(), PNG_BASE64);
    ingest(&setup.world, items, &correlation()).await.unwrap();
    setup.due_events().await;
    assert!(setup.is_kept("B").await, "its message waits for it");
    setup.pass(180);
    setup.reconciles().await;
    assert!(!setup.is_kept("B").await);
    assert_eq!(setup.stored_bytes().await.as_deref(), Some(PNG));
    assert_eq!(setup.files_asked(), 0);
}
