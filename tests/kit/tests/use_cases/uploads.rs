//! Files that a client puts here and sends.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::options::SendOptions;
use recado_pipeline::deliver::{self, AcceptedMessage, DeliverError};
use recado_pipeline::ports::Conversations;
use recado_pipeline::{NotSendable, upload};
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
    let send = deliver::DeliverRequest {
        to: "5511900000077".to_owned(),
        content,
        options: SendOptions::default(),
        key: None,
        metadata: None,
        send_at: None,
        correlation: correlation(),
    };
    deliver::accept_message(
        &setup.world,
        &Caller::installation(),
        setup.fixture.instance(),
        send,
    )
    .await
}

#[tokio::test]
async fn the_bytes_are_given_to_the_provider_and_stored_with_no_message() {
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
