//! Files whose bytes are here.

use super::*;

const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";

fn picture() -> OutgoingMessage {
    let mut message = message(PHONE);
    message.content = Content::Media(Media {
        source: Some(PNG.to_owned()),
        caption: Some("olhe".to_owned()),
        ..Media::from_kind(MediaKind::Image)
    });
    message
}

#[tokio::test]
async fn meta_gets_a_file_first_and_then_the_message_with_its_id() {
    let stand_in = StandIn::start(vec![
        Does::Answers(200, r#"{"id":"media-1"}"#),
        Does::Answers(200, r#"{"messages":[{"id":"wamid.A"}]}"#),
    ])
    .await;
    let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
    assert_eq!(
        whatsapp.send_message(&meta_number(), &picture()).await,
        accepted("wamid.A")
    );
    let requests = stand_in.requests();
    assert_eq!(requests[0].line, "POST /v24.0/100000000000001/media");
    let multipart = |header: &String| header.starts_with("content-type: multipart/form-data; boundary=");
    assert!(requests[0].headers.iter().any(multipart));
    assert!(
        requests[0]
            .headers
            .contains(&"authorization: bearer key-1".to_owned())
    );
    assert_eq!(requests[1].line, "POST /v24.0/100000000000001/messages");
    assert_eq!(
        requests[1].body["image"],
        json!({"id": "media-1", "caption": "olhe"})
    );
}

#[tokio::test]
async fn nothing_has_left_when_an_upload_fails() {
    for does in [
        Does::Answers(500, "{}"),
        Does::Answers(200, "<html>"),
        Does::Hangs,
        Does::Breaks,
        Does::BreaksHalfway,
    ] {
        let (outcome, stand_in) = sent_to(&meta_number(), &picture(), does.clone()).await;
        assert!(
            matches!(outcome, SendOutcome::Retryable { .. }),
            "{does:?} {outcome:?}"
        );
        assert_eq!(stand_in.requests().len(), 1, "{does:?}");
    }
    let refused = r#"{"error":{"code":131053,"message":"Media upload error"}}"#;
    let mut again = picture();
    again.attempt = 2;
    let (outcome, _) = sent_to(&meta_number(), &again, Does::Answers(400, refused)).await;
    assert!(matches!(outcome, SendOutcome::Permanent { .. }), "{outcome:?}");
}

#[tokio::test]
async fn evolution_gets_the_bytes_bare() {
    let answer = Does::Answers(201, r#"{"key":{"id":"3EB0"}}"#);
    let (outcome, stand_in) = sent_to(&evolution_instance(), &picture(), answer).await;
    assert_eq!(outcome, accepted("3EB0"));
    let request = &stand_in.requests()[0];
    assert_eq!(request.line, "POST /message/sendMedia/suporte%2001%2Fa");
    let expected = json!({"number": "5511900000001", "mediatype": "image", "media": "iVBORw0KGgo=",
        "mimetype": "image/png", "caption": "olhe"});
    assert_eq!(request.body, expected);
}

#[tokio::test]
async fn an_upload_that_is_gone_is_given_up_without_a_request() {
    for bound in [evolution_instance(), meta_number()] {
        let mut gone = picture();
        gone.content = Content::Media(Media {
            source: Some("upload:0123456789abcdef0123456789abcdef".to_owned()),
            ..Media::from_kind(MediaKind::Image)
        });
        let (outcome, stand_in) = sent_to(&bound, &gone, Does::Answers(200, "{}")).await;
        assert!(matches!(outcome, SendOutcome::Permanent { .. }), "{outcome:?}");
        assert!(stand_in.requests().is_empty());
    }
}
