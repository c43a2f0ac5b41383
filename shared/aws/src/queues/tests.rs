use super::*;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_s3::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use recado_domain::event::InboundJob;
use serde_json::json;

/// AWS, which gives every request the same answer.
#[derive(Debug, Clone)]
struct Says(u16, &'static str);

impl HttpConnector for Says {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let status = StatusCode::try_from(self.0).unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(self.1))))
    }
}

impl HttpClient for Says {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

fn queues(says: Says) -> AwsQueues {
    let shared = SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new(
            "key", "secret", None, None, "test",
        )))
        .http_client(says)
        .build();
    let named = |text: &str| Some(text.to_owned());
    let config = AwsConfig {
        inbound_queue_url: named("https://sqs.us-east-1.amazonaws.com/1/inbound.fifo"),
        turns_queue_arn: named("arn:aws:sqs:us-east-1:1:turns"),
        schedule_group: named("recado"),
        scheduler_role_arn: named("arn:aws:iam::1:role/scheduler"),
        ..AwsConfig::default()
    };
    AwsQueues::new(Clients::new(&shared, false), config, OsSystem)
}

fn event(number: usize) -> InboundEntry {
    let job = json!({
        "event": format!("{number:064}"), "provider": "evolution", "external": "suporte-01", "kind": "message",
        "group": format!("g{number}"), "correlation": "k", "received_at": 0, "payload": {"inline": {}},
    });
    InboundEntry {
        job: serde_json::from_value::<InboundJob>(job).unwrap(),
        deduplication: number.to_string(),
    }
}

#[tokio::test]
async fn of_several_events_one_that_sqs_did_not_take_fails_the_whole() {
    const ONE_FAILED: &str = r#"{"Successful":[{"Id":"0","MessageId":"m","MD5OfMessageBody":"x"}],
        "Failed":[{"Id":"1","Code":"InternalError","SenderFault":false}]}"#;
    const ALL_TAKEN: &str = r#"{"Successful":[{"Id":"0","MessageId":"m","MD5OfMessageBody":"x"},
        {"Id":"1","MessageId":"n","MD5OfMessageBody":"x"}],"Failed":[]}"#;
    let events = [event(1), event(2)];
    let refused = queues(Says(200, ONE_FAILED)).enqueue_inbound(&events).await;
    assert!(refused.unwrap_err().is_retryable());
    let taken = queues(Says(200, ALL_TAKEN)).enqueue_inbound(&events).await;
    assert!(taken.is_ok(), "{taken:?}");
}

#[tokio::test]
async fn a_schedule_that_there_is_already_is_left_alone() {
    const EXISTS: &str = r#"{"__type":"ConflictException","Message":"it exists"}"#;
    const REFUSED: &str = r#"{"__type":"ValidationException","Message":"no"}"#;
    let job = json!({
        "job": "turn", "conversation": "c_0123456789abcdef0123456789abcdef-1", "tenant": "clinic", "ordinal": 1,
        "correlation": "k",
    });
    let job: TurnsJob = serde_json::from_value(job).unwrap();
    let at: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let again = queues(Says(409, EXISTS)).schedule_turns_job(&job, at).await;
    assert!(again.is_ok(), "{again:?}");
    assert!(
        queues(Says(400, REFUSED))
            .schedule_turns_job(&job, at)
            .await
            .is_err()
    );
}

#[test]
fn a_path_is_escaped_for_a_header() {
    assert_eq!(
        url_encode_path("payloads/upload.loja-01.00"),
        "payloads/upload.loja-01.00"
    );
    assert_eq!(url_encode_path("a b/ã?"), "a%20b/%C3%A3%3F");
}

#[test]
fn an_id_that_a_queue_would_refuse_is_hashed() {
    assert_eq!(queue_id("c_00-1"), "c_00-1");
    for odd in ["", "a b", "olá", &"x".repeat(129)] {
        assert_eq!(queue_id(odd).len(), 64, "{odd}");
    }
    assert_ne!(queue_id("a b"), queue_id("a  b"));
    let known = "67392119ec02eba7af36ea5881eea381b8f7a9c41f8cbb3a469b289ea3541216";
    assert_eq!(queue_id("a b"), known);
}
