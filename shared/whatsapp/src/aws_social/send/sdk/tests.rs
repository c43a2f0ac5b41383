use super::*;
use crate::stand_in::{Does, Request, StandIn};
use aws_sdk_socialmessaging::config::{BehaviorVersion, Credentials, Region};
use aws_smithy_http_client::Builder as HttpBuilder;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::ids::{ExternalId, MessageId};
use recado_domain::message::FileLoss;
use recado_domain::options::SendOptions;
use recado_domain::reason::Reason;
use recado_ports::ports::{FetchedFile, FileBytes, FileError, FileRequest};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const OWN_ID: &str = "c_0123456789abcdef0123456789abcdef-1.7";

pub(super) fn config(url: &str) -> Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("sa-east-1"))
        .endpoint_url(url)
        .http_client(HttpBuilder::new().build_http())
}

fn message(to: &str, text: &str) -> OutgoingMessage {
    OutgoingMessage {
        id: MessageId::parse(OWN_ID).unwrap(),
        to: ContactAddress::parse(to).unwrap(),
        content: Content::from_text(text),
        options: SendOptions::default(),
        attempt: 1,
        model: None,
    }
}

async fn sent(config: Builder, message: &OutgoingMessage) -> SendOutcome {
    let client = AwsSocialClient::new(config);
    let endpoint = AwsSocialEndpoint {
        client: &client,
        number: &ExternalId::parse("0123456789abcdef0123456789abcdef").unwrap(),
        version: "v20.0",
        timeout: Duration::from_millis(500),
    };
    send_message(&endpoint, message).await
}

async fn answered(does: Does) -> (SendOutcome, StandIn) {
    let stand_in = StandIn::start(vec![does]).await;
    let keys = Credentials::new("key", "secret", None, None, "test");
    let config = config(&stand_in.url).credentials_provider(keys);
    (sent(config, &message("5511900000001", "Olá")).await, stand_in)
}

#[tokio::test]
async fn aws_gets_metas_body_once_encoded_with_our_id_in_it() {
    let (outcome, stand_in) = answered(Does::Answers(200, r#"{"messageId":"aws-1"}"#)).await;
    let expected = SendOutcome::Accepted {
        provider_message_id: Some("aws-1".to_owned()),
        simulated: false,
        held: None,
    };
    assert_eq!(outcome, expected);
    let request = &stand_in.requests()[0];
    assert_eq!(request.line, "POST /v1/whatsapp/send");
    assert_eq!(
        request.body["originationPhoneNumberId"],
        "phone-number-id-0123456789abcdef0123456789abcdef"
    );
    assert_eq!(request.body["metaApiVersion"], "v20.0");
    let bytes = STANDARD
        .decode(request.body["message"].as_str().unwrap())
        .unwrap();
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        body,
        json!({"messaging_product": "whatsapp", "recipient_type": "individual", "type": "text",
            "text": {"body": "Olá", "preview_url": false}, "to": "+5511900000001", "biz_opaque_callback_data": OWN_ID})
    );
}

#[tokio::test]
async fn nothing_is_repeated_by_the_sdk() {
    for does in [
        Does::Answers(500, r#"{"__type":"InternalServiceException","message":"x"}"#),
        Does::Answers(429, r#"{"__type":"ThrottledRequestException","message":"x"}"#),
        Does::Answers(503, ""),
        Does::Breaks,
    ] {
        let (_, stand_in) = answered(does.clone()).await;
        assert_eq!(stand_in.requests().len(), 1, "{does:?}");
    }
}

#[tokio::test]
async fn a_refusal_is_classed_by_its_name() {
    let with_body = async |status, body| answered(Does::Answers(status, body)).await.0;
    let denied = with_body(403, r#"{"__type":"AccessDeniedByMetaException","message":"x"}"#).await;
    assert!(
        matches!(denied, SendOutcome::Credentials { why } if why == "AccessDeniedByMetaException: not allowed by Meta")
    );
    let invalid = with_body(
        400,
        r#"{"__type":"ValidationException","message":"to 5511900000001"}"#,
    )
    .await;
    assert!(matches!(invalid, SendOutcome::Permanent { why, .. } if !why.contains("5511")));
    let window = with_body(
        502,
        r#"{"__type":"DependencyException","message":"(#131047) Re-engagement"}"#,
    )
    .await;
    assert!(matches!(
        window,
        SendOutcome::Permanent {
            reason: Reason::WindowClosed,
            ..
        }
    ));
    let unnamed = with_body(500, "<html>").await;
    assert!(
        matches!(unnamed, SendOutcome::Unknown { timed_out: false, .. }),
        "{unnamed:?}"
    );
}

#[tokio::test]
async fn a_time_out_and_a_broken_connection_are_not_known() {
    assert!(matches!(
        answered(Does::Hangs).await.0,
        SendOutcome::Unknown { timed_out: true, .. }
    ));
    assert!(matches!(
        answered(Does::Breaks).await.0,
        SendOutcome::Unknown { timed_out: false, .. }
    ));
}

#[tokio::test]
async fn without_a_connection_nothing_has_left_and_any_answer_shows_that_there_is_one_again() {
    let keys = || Credentials::new("key", "secret", None, None, "test");
    let nowhere = config("http://127.0.0.1:9").credentials_provider(keys());
    let outcome = sent(nowhere.clone(), &message("5511900000001", "Olá")).await;
    assert!(matches!(outcome, SendOutcome::Unreached { .. }), "{outcome:?}");
    let time = Duration::from_millis(500);
    assert_eq!(
        fetch_connection(&AwsSocialClient::new(nowhere), time).await,
        ConnectionAnswer::Unreachable
    );
    let denied = Does::Answers(403, r#"{"__type":"AccessDeniedException","message":"x"}"#);
    for (does, expected) in [
        (
            Does::Answers(200, r#"{"linkedAccounts":[]}"#),
            ConnectionAnswer::Open,
        ),
        (denied, ConnectionAnswer::Open),
        (Does::Answers(503, "{}"), ConnectionAnswer::Unreachable),
        (Does::Hangs, ConnectionAnswer::Unreachable),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let client = AwsSocialClient::new(config(&stand_in.url).credentials_provider(keys()));
        assert_eq!(fetch_connection(&client, time).await, expected, "{does:?}");
    }
}

#[tokio::test]
async fn without_credentials_nothing_leaves_and_it_says_so() {
    let stand_in = StandIn::start(vec![Does::Answers(200, "{}")]).await;
    let outcome = sent(config(&stand_in.url), &message("5511900000001", "Olá")).await;
    assert!(matches!(outcome, SendOutcome::Credentials { .. }), "{outcome:?}");
    assert!(stand_in.requests().is_empty());
}

#[tokio::test]
async fn a_text_over_metas_limit_is_refused_here() {
    let outcome = sent(
        config("http://127.0.0.1:9"),
        &message("5511900000001", &"x".repeat(4097)),
    )
    .await;
    assert!(matches!(outcome, SendOutcome::Permanent { why, .. } if why == "text too long"));
}

/// Puts everything into one bucket, unless it is full.
#[derive(Debug, Default)]
struct FakeBucket {
    full: bool,
    put: Mutex<Vec<(String, String, Vec<u8>)>>,
    /// What AWS wrote into it.
    written: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl MediaBucket for FakeBucket {
    fn put_file<'a>(
        &'a self,
        name: &'a str,
        mime_type: &'a str,
        bytes: Vec<u8>,
    ) -> BoxFuture<'a, Option<S3Location>> {
        let key = format!("payloads/{name}");
        let mut put = self.put.lock().unwrap();
        put.push((name.to_owned(), mime_type.to_owned(), bytes));
        let bucket = "a-bucket".to_owned();
        ready((!self.full).then_some(S3Location { bucket, key })).boxed()
    }

    fn incoming_place(&self) -> S3Location {
        S3Location {
            bucket: "a-bucket".to_owned(),
            key: "payloads/in.".to_owned(),
        }
    }

    fn take_file<'a>(&'a self, key: &'a str, _: u64) -> BoxFuture<'a, Result<Option<FileBytes>, FileError>> {
        let found = self.written.lock().unwrap().remove(key);
        ready(Ok(found.map(FileBytes::from_bytes))).boxed()
    }
}

fn picture() -> OutgoingMessage {
    OutgoingMessage {
        content: Content::Media(Media {
            source: Some("data:image/png;base64,iVBORw0KGgo=".to_owned()),
            caption: Some("olhe".to_owned()),
            ..Media::from_kind(MediaKind::Image)
        }),
        ..message("5511900000001", "")
    }
}

async fn picture_sent(bucket: Option<Arc<FakeBucket>>, script: Vec<Does>) -> (SendOutcome, Vec<Request>) {
    let stand_in = StandIn::start(script).await;
    let keys = Credentials::new("key", "secret", None, None, "test");
    let mut client = AwsSocialClient::new(config(&stand_in.url).credentials_provider(keys));
    if let Some(bucket) = bucket {
        client = client.with_bucket(bucket);
    }
    let endpoint = AwsSocialEndpoint {
        client: &client,
        number: &ExternalId::parse("0123456789abcdef0123456789abcdef").unwrap(),
        version: "v20.0",
        timeout: Duration::from_secs(4),
    };
    (send_message(&endpoint, &picture()).await, stand_in.requests())
}

#[tokio::test]
async fn a_file_is_put_into_the_bucket_named_to_aws_and_sent_by_its_id() {
    let bucket = Arc::new(FakeBucket::default());
    let script = vec![
        Does::Answers(200, r#"{"mediaId":"media-1"}"#),
        Does::Answers(200, r#"{"messageId":"aws-1"}"#),
    ];
    let (outcome, requests) = picture_sent(Some(bucket.clone()), script).await;
    assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    let bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let expected = (OWN_ID.to_owned(), "image/png".to_owned(), bytes);
    assert_eq!(*bucket.put.lock().unwrap(), [expected]);
    assert_eq!(requests[0].line, "POST /v1/whatsapp/media");
    let number = "phone-number-id-0123456789abcdef0123456789abcdef";
    let place = json!({"bucketName": "a-bucket", "key": format!("payloads/{OWN_ID}")});
    let expected = json!({"originationPhoneNumberId": number, "sourceS3File": place});
    assert_eq!(requests[0].body, expected, "exactly one source");
    let body = STANDARD
        .decode(requests[1].body["message"].as_str().unwrap())
        .unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["image"], json!({"id": "media-1", "caption": "olhe"}));
}

#[tokio::test]
async fn nothing_has_left_when_a_file_cannot_be_given_to_aws() {
    let full = Arc::new(FakeBucket {
        full: true,
        ..FakeBucket::default()
    });
    let (outcome, requests) = picture_sent(Some(full), vec![Does::Breaks]).await;
    assert!(
        matches!(outcome, SendOutcome::Retryable { .. }) && requests.is_empty(),
        "{outcome:?}"
    );
    for does in [
        Does::Answers(500, "<html>"),
        Does::Answers(200, "{}"),
        Does::Breaks,
    ] {
        let (outcome, requests) = picture_sent(Some(Arc::default()), vec![does.clone()]).await;
        assert!(
            matches!(outcome, SendOutcome::Retryable { .. }),
            "{does:?} {outcome:?}"
        );
        assert_eq!(requests.len(), 1, "{does:?}");
    }
    let denied = Does::Answers(403, r#"{"__type":"AccessDeniedException","message":"x"}"#);
    let (outcome, requests) = picture_sent(Some(Arc::default()), vec![denied]).await;
    assert!(
        matches!(outcome, SendOutcome::Retryable { .. }),
        "other messages may go: {outcome:?}"
    );
    assert_eq!(requests.len(), 1);
    let (outcome, requests) = picture_sent(None, vec![Does::Breaks]).await;
    assert!(
        matches!(outcome, SendOutcome::Permanent { .. }) && requests.is_empty(),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn every_refusal_of_the_service_model_is_told_apart_over_the_wire() {
    for (status, name) in [
        (400, "ValidationException"),
        (400, "InvalidParametersException"),
        (400, "LimitExceededException"),
    ] {
        assert!(
            matches!(refused(status, name).await, SendOutcome::Permanent { .. }),
            "{name}"
        );
    }
    assert!(matches!(
        refused(404, "ResourceNotFoundException").await,
        SendOutcome::Refused {
            everything: false,
            ..
        }
    ));
    for name in ["AccessDeniedException", "AccessDeniedByMetaException"] {
        assert!(
            matches!(refused(403, name).await, SendOutcome::Credentials { .. }),
            "{name}"
        );
    }
    let throttled = refused(429, "ThrottledRequestException").await;
    assert!(
        matches!(throttled, SendOutcome::Retryable { after: Some(_), .. }),
        "{throttled:?}"
    );
    for (status, name) in [(500, "InternalServiceException"), (502, "DependencyException")] {
        let found = refused(status, name).await;
        assert!(
            matches!(found, SendOutcome::Unknown { timed_out: false, .. }),
            "{name}: {found:?}"
        );
    }
    let nameless = answered(Does::Answers(200, "{}")).await.0;
    assert!(
        matches!(nameless, SendOutcome::Unknown { timed_out: false, .. }),
        "{nameless:?}"
    );
}

async fn fetched(
    bucket: Option<Arc<FakeBucket>>,
    id: &str,
    does: Does,
) -> (Result<FetchedFile, FileError>, Vec<Request>) {
    let stand_in = StandIn::start(vec![does]).await;
    let keys = Credentials::new("key", "secret", None, None, "test");
    let mut client = AwsSocialClient::new(config(&stand_in.url).credentials_provider(keys));
    if let Some(bucket) = bucket {
        client = client.with_bucket(bucket);
    }
    let endpoint = AwsSocialEndpoint {
        client: &client,
        number: &ExternalId::parse("0123456789abcdef0123456789abcdef").unwrap(),
        version: "v20.0",
        timeout: Duration::from_secs(4),
    };
    let media = Media {
        source: Some(id.to_owned()),
        ..Media::from_kind(MediaKind::Image)
    };
    let request = FileRequest {
        media: &media,
        provider_message_id: Some("wamid.1"),
        bytes_max: 1_000,
        within: Duration::from_secs(4),
        was_sent: false,
        private_hosts: false,
    };
    (fetch_file(&endpoint, &request).await, stand_in.requests())
}

#[tokio::test]
async fn a_file_comes_through_the_bucket_into_which_aws_writes_it() {
    let bucket = Arc::new(FakeBucket::default());
    bucket
        .written
        .lock()
        .unwrap()
        .insert("payloads/in.123".to_owned(), b"ab".to_vec());
    let does = Does::Answers(200, r#"{"mimeType":"image/jpeg","fileSize":1}"#);
    let (found, requests) = fetched(Some(Arc::clone(&bucket)), "123", does).await;
    let found = found.unwrap();
    assert_eq!(found.mime_type.as_deref(), Some("image/jpeg"));
    assert_eq!(found.bytes.read_all().await.unwrap(), b"ab");
    assert_eq!(requests[0].line, "POST /v1/whatsapp/media/get");
    let number = "phone-number-id-0123456789abcdef0123456789abcdef";
    let place = json!({"bucketName": "a-bucket", "key": "payloads/in."});
    let expected = json!({"mediaId": "123", "originationPhoneNumberId": number, "destinationS3File": place});
    assert_eq!(requests[0].body, expected);
    assert!(bucket.written.lock().unwrap().is_empty(), "it is taken");
}

#[tokio::test]
async fn a_file_that_aws_does_not_give_comes_later_or_never() {
    let denied = Does::Answers(403, r#"{"__type":"AccessDeniedException","message":"x"}"#);
    let gone = Does::Answers(404, r#"{"__type":"ResourceNotFoundException","message":"x"}"#);
    let throttled = Does::Answers(429, r#"{"__type":"ThrottledRequestException","message":"x"}"#);
    let bucket = || Some(Arc::new(FakeBucket::default()));
    assert!(matches!(
        fetched(bucket(), "1", denied).await.0,
        Err(FileError::Credentials)
    ));
    assert!(matches!(
        fetched(bucket(), "1", gone).await.0,
        Err(FileError::Lost(FileLoss::Gone))
    ));
    for does in [
        throttled,
        Does::Breaks,
        Does::Answers(200, r#"{"mimeType":"image/png"}"#),
    ] {
        let (found, _) = fetched(bucket(), "1", does.clone()).await;
        assert!(matches!(found, Err(FileError::Unavailable { .. })), "{does:?}");
    }
    let (found, requests) = fetched(None, "1", Does::Breaks).await;
    assert!(matches!(found, Err(FileError::Unavailable { .. })) && requests.is_empty());
    let (found, requests) = fetched(bucket(), "../1", Does::Breaks).await;
    assert!(matches!(found, Err(FileError::Lost(FileLoss::Gone))) && requests.is_empty());
}

async fn refused(status: u16, name: &str) -> SendOutcome {
    let body = format!(r#"{{"__type":"{name}","message":"x"}}"#);
    answered(Does::Answers(status, body.leak())).await.0
}
