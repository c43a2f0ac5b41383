use super::*;
use crate::stand_in::{Does, StandIn};
use aws_sdk_socialmessaging::config::{BehaviorVersion, Credentials, Region};
use aws_smithy_http_client::Builder as HttpBuilder;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::ids::{ExternalId, MessageId};
use recado_domain::options::SendOptions;
use serde_json::{Value, json};
use std::time::Duration;

const OWN_ID: &str = "c_0123456789abcdef0123456789abcdef-1.7";

fn config(url: &str) -> Builder {
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
        content: Content::text(text),
        options: SendOptions::default(),
        attempt: 1,
    }
}

async fn sent(config: Builder, message: &OutgoingMessage) -> SendOutcome {
    let client = Client::new(config);
    let endpoint = Endpoint {
        client: &client,
        number: &ExternalId::parse("0123456789abcdef0123456789abcdef").unwrap(),
        version: "v20.0",
        timeout: Duration::from_millis(500),
    };
    send(&endpoint, message).await
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
    let refused = async |status, body| answered(Does::Answers(status, body)).await.0;
    let denied = refused(403, r#"{"__type":"AccessDeniedByMetaException","message":"x"}"#).await;
    assert!(
        matches!(denied, SendOutcome::Credentials { why } if why == "AccessDeniedByMetaException: not allowed by Meta")
    );
    let invalid = refused(
        400,
        r#"{"__type":"ValidationException","message":"to 5511900000001"}"#,
    )
    .await;
    assert!(matches!(invalid, SendOutcome::Permanent { why, .. } if !why.contains("5511")));
    let window = refused(
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
    let unnamed = refused(500, "<html>").await;
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
