//! Files that a client puts here and sends.

use crate::world::{FileAnswer, Setup};
use recado_contacts::{ContactQuery, erase_contact, export_contact};
use recado_domain::access::Caller;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::ids::MessageId;
use recado_domain::message::file_key;
use recado_domain::options::SendOptions;
use recado_files::message_file;
use recado_files::message_file::FileSource;
use recado_pipeline::ports::{Conversations, FileBytes, Files, Queues};
use recado_pipeline::{NotSendable, upload};
use recado_sends::{AcceptedMessage, DeliverError};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;

fn picture(source: String) -> Content {
    Content::Media(Media {
        source: Some(source),
        caption: Some("veja".to_owned()),
        ..Media::from_kind(MediaKind::Image)
    })
}

async fn deliver(setup: &Setup, content: Content) -> Result<AcceptedMessage, DeliverError> {
    let send = recado_sends::DeliverRequest {
        to: "5511900000077".to_owned(),
        content,
        options: SendOptions::default(),
        key: None,
        metadata: None,
        send_at: None,
        correlation: correlation(),
    };
    recado_sends::accept_message(
        &setup.world,
        &Caller::installation(),
        setup.fixture.instance(),
        send,
    )
    .await
}

#[tokio::test]
async fn the_bytes_are_given_to_the_provider_and_are_the_file_of_the_message() {
    let setup = Setup::set(Fixture::new()).await;
    let instance = setup.fixture.instance();
    let mime = "image/png".to_owned();
    let source = succeed(upload::store_upload(
        &setup.world,
        &Caller::installation(),
        instance,
        mime,
        Some("a.png".to_owned()),
        b"\x89PNG",
    ))
    .await
    .unwrap();
    let accepted = deliver(&setup, picture(source.clone())).await.unwrap();
    setup.send(accepted.conversation.as_ref().unwrap()).await;
    let given = setup.world.providers.contents();
    let media = given[0].media_file().unwrap();
    assert_eq!(media.source.as_deref(), Some("data:image/png;base64,iVBORw=="));
    assert_eq!(
        (media.file_name.as_deref(), media.caption.as_deref()),
        (Some("a.png"), Some("veja"))
    );
    let stored = succeed(setup.world.store.find_message(&accepted.id))
        .await
        .unwrap();
    assert_eq!(stored.content, picture(source));
    let file = stored.file.as_ref().and_then(|file| file.stored()).unwrap();
    assert_eq!((file.mime_type.as_str(), file.bytes), ("image/png", 4));
    assert_eq!(
        read_file(&setup, &accepted.id).await.as_deref(),
        Some(&b"\x89PNG"[..])
    );
}

#[tokio::test]
async fn what_was_sent_by_its_url_is_fetched_once_it_was_sent_and_goes_with_its_contact() {
    let setup = Setup::set(Fixture::new()).await;
    let source = "https://files.example/a.png".to_owned();
    let accepted = deliver(&setup, picture(source.clone())).await.unwrap();
    let stored = async || {
        succeed(setup.world.store.find_message(&accepted.id))
            .await
            .unwrap()
    };
    assert_eq!(stored().await.file, None, "it was not sent yet");
    setup.send(accepted.conversation.as_ref().unwrap()).await;
    assert_eq!(setup.files_asked(), 0, "the send waits for nothing");
    setup.file_comes(FileAnswer::Fails);
    setup.pass(121);
    setup.reconciles().await;
    assert_eq!(
        (setup.files_asked(), read_file(&setup, &accepted.id).await),
        (1, None)
    );
    setup.file_comes(FileAnswer::Gives(b"\x89PNG", "image/png"));
    setup.pass(61);
    setup.reconciles().await;
    let message = stored().await;
    assert_eq!(message.content, picture(source));
    let file = message.file.as_ref().and_then(|file| file.stored()).unwrap();
    assert_eq!((file.mime_type.as_str(), file.bytes), ("image/png", 4));
    assert_eq!(
        read_file(&setup, &accepted.id).await.as_deref(),
        Some(&b"\x89PNG"[..])
    );
    let query = ContactQuery {
        tenant: setup.fixture.bound.tenant.id.clone(),
        instance: None,
        contact: "5511900000077".to_owned(),
    };
    erase_contact(&setup.world, &Caller::installation(), &query)
        .await
        .unwrap();
    let key = message.file_key().unwrap();
    assert!(succeed(setup.world.store.open_file(&key)).await.is_none());
}

async fn upload_picture(setup: &Setup) -> String {
    let (caller, mime) = (Caller::installation(), "image/png".to_owned());
    let instance = setup.fixture.instance();
    let stored = upload::store_upload(&setup.world, &caller, instance, mime, None, b"\x89PNG");
    succeed(stored).await.unwrap()
}

/// The file of a message as the API serves it.
async fn read_file(setup: &Setup, id: &MessageId) -> Option<Vec<u8>> {
    let found = succeed(message_file::open_message_file(
        &setup.world,
        &Caller::installation(),
        id,
    ))
    .await?;
    let FileSource::Bytes(bytes) = found.source else {
        panic!("a store on one machine signs no URLs");
    };
    Some(bytes.read_all().await.unwrap())
}

#[tokio::test]
async fn what_was_sent_outlives_its_upload_is_exported_and_goes_with_its_contact() {
    let setup = Setup::set(Fixture::new()).await;
    let source = upload_picture(&setup).await;
    let accepted = deliver(&setup, picture(source.clone())).await.unwrap();
    assert!(
        read_file(&setup, &accepted.id).await.is_none(),
        "it is not sent yet"
    );
    setup.send(accepted.conversation.as_ref().unwrap()).await;
    let key =
        recado_domain::outgoing::upload_payload_key(setup.fixture.instance().as_str(), &source).unwrap();
    succeed(setup.world.queues.delete_payload(&key)).await;
    assert!(read_file(&setup, &accepted.id).await.is_some());
    let query = ContactQuery {
        tenant: setup.fixture.bound.tenant.id.clone(),
        instance: None,
        contact: "5511900000077".to_owned(),
    };
    let caller = Caller::installation();
    let part = export_contact(&setup.world, &caller, &query, None).await.unwrap();
    let files: Vec<_> = part
        .message_files
        .iter()
        .map(|file| (&file.message, file.stored.bytes))
        .collect();
    assert_eq!(files, [(&accepted.id, 4)]);
    erase_contact(&setup.world, &caller, &query).await.unwrap();
    let stored = succeed(setup.world.store.find_message(&accepted.id)).await;
    assert!(stored.is_none());
    let key = file_key(&setup.fixture.bound.tenant.id, &accepted.id);
    assert!(succeed(setup.world.store.open_file(&key)).await.is_none());
}

#[tokio::test]
async fn a_message_that_is_never_sent_leaves_no_file_either() {
    let setup = Setup::set(Fixture::new()).await;
    let accepted = deliver(&setup, picture(upload_picture(&setup).await))
        .await
        .unwrap();
    let stored = succeed(setup.world.store.find_message(&accepted.id))
        .await
        .unwrap();
    // A crash after the bytes were stored and before the claim says so.
    let key = stored.file_key().unwrap();
    let bytes = FileBytes::from_bytes(b"\x89PNG".to_vec());
    setup
        .world
        .store
        .put_file(&key, "image/png", bytes)
        .await
        .unwrap();
    let query = ContactQuery {
        tenant: setup.fixture.bound.tenant.id.clone(),
        instance: None,
        contact: "5511900000077".to_owned(),
    };
    erase_contact(&setup.world, &Caller::installation(), &query)
        .await
        .unwrap();
    assert!(succeed(setup.world.store.open_file(&key)).await.is_none());
}

#[tokio::test]
async fn what_was_never_uploaded_is_refused() {
    let setup = Setup::set(Fixture::new()).await;
    let nowhere = picture(format!("upload:{}", "0".repeat(32)));
    let refused = deliver(&setup, nowhere).await;
    assert!(
        matches!(refused, Err(DeliverError::NotSendable(NotSendable::NoSuchUpload))),
        "{refused:?}"
    );
}
