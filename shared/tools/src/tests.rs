//! Against a stand-in server that answers what each test wants.

use super::*;
use recado_ports::ports::PortResult;
use recado_testkit::servers::scripted::{Does, StandIn};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub(crate) const CANARY: &str = "canary-3f9a1c";

/// Holds the canary under one name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    pub(crate) forgotten: Arc<AtomicU32>,
}

impl Secrets for Keys {
    async fn resolve_secret(&self, reference: &CredentialRef) -> PortResult<Option<Secret>> {
        let is_known = *reference == CredentialRef::Env("RECADO_CREDENTIAL_CLINIC_KEY".to_owned());
        Ok(Secret::new(CANARY).filter(|_| is_known))
    }

    async fn forget_secret(&self, _: &CredentialRef) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }
}

const LIMITS: ToolLimits = ToolLimits {
    within: Duration::from_secs(20),
    private_hosts: true,
};

fn tool(url: &str, change: &Value) -> Tool {
    let mut http = json!({"url": format!("{url}/slots/{{date}}?doctor={{doctor}}"),
        "credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"});
    for (name, value) in change.as_object().unwrap() {
        http[name] = value.clone();
    }
    serde_json::from_value(
        json!({"id": "slots", "tenant": "clinic", "description": "d", "effect": "reads",
        "arguments": {"type": "object", "required": ["date"], "properties": {"date": {}, "doctor": {}}},
        "http": http}),
    )
    .unwrap()
}

pub(crate) fn answers(status: u16, body: &str) -> Does {
    Does::AnswersWith(
        status,
        vec![("content-type", "application/json")],
        body.to_owned(),
    )
}

async fn call(does: Vec<Does>, change: &Value, arguments: &Value) -> (Result<String, ToolFailure>, StandIn) {
    let stand_in = StandIn::start(does).await;
    let tools = HttpTools::new(GuardedClients::default(), Keys::default());
    let answer = tools
        .call_tool(&tool(&stand_in.url, change), arguments, LIMITS)
        .await;
    (answer, stand_in)
}

#[tokio::test]
async fn a_request_carries_the_arguments_the_headers_and_the_credential() {
    let change = json!({"headers": {"X-Kind": "a b"}, "select": "/slots"});
    let does = vec![answers(200, r#"{"slots": ["9:00"]}"#)];
    let arguments = json!({"date": "2026-01-31", "doctor": "a/b"});
    let (answer, stand_in) = call(does, &change, &arguments).await;
    assert_eq!(answer.as_deref(), Ok(r#"["9:00"]"#));
    let sent = stand_in.requests().remove(0);
    assert_eq!(sent.line, "GET /slots/2026-01-31?doctor=a%2Fb");
    for header in [
        "x-kind: a b".to_owned(),
        format!("authorization: bearer {CANARY}"),
    ] {
        assert!(sent.headers.contains(&header), "{:?}", sent.headers);
    }
}

#[tokio::test]
async fn a_body_is_json_and_the_credential_stands_in_the_header_that_is_named() {
    let change = json!({"method": "POST", "body": {"day": "{date}"}, "credential_header": "X-Key", "credential_prefix": ""});
    let (answer, stand_in) = call(vec![answers(201, "[]")], &change, &json!({"date": 7})).await;
    assert_eq!(answer.as_deref(), Ok("[]"));
    let sent = stand_in.requests().remove(0);
    assert_eq!(
        (sent.line.as_str(), &sent.body),
        ("POST /slots/7", &json!({"day": 7}))
    );
    assert!(sent.headers.contains(&format!("x-key: {CANARY}")));
}

#[tokio::test]
async fn a_secret_that_a_tool_repeats_reaches_nobody() {
    let escaped = CANARY.replace('-', "\\u002d");
    for body in [
        format!(r#"{{"headers": {{"authorization": "Bearer {CANARY}"}}}}"#),
        format!(r#"{{"headers": {{"authorization": "Bearer {escaped}"}}}}"#),
    ] {
        for select in ["/headers", "/headers/authorization"] {
            let (answer, _) = call(
                vec![answers(200, &body)],
                &json!({"select": select}),
                &json!({"date": 1}),
            )
            .await;
            let answer = answer.unwrap();
            assert!(
                !answer.contains(CANARY) && answer.contains("[secret]"),
                "{answer}"
            );
        }
    }
    let failing = format!("{{\"error\": \"{CANARY}\"}}");
    for status in [302, 400, 401, 403, 404, 429, 500] {
        let (answer, _) = call(vec![answers(status, &failing)], &json!({}), &json!({"date": 1})).await;
        let failure = answer.unwrap_err();
        assert!(!format!("{failure} {failure:?}").contains(CANARY), "{failure}");
    }
}

#[tokio::test]
async fn each_failure_is_told_and_a_refused_credential_is_forgotten() {
    for (status, expected) in [
        (401, ToolFailure::Credentials),
        (403, ToolFailure::Credentials),
        (
            404,
            ToolFailure::Failed("the server answers with the status 404".to_owned()),
        ),
        (
            302,
            ToolFailure::Failed("the server answers with the status 302".to_owned()),
        ),
    ] {
        let (answer, stand_in) = call(vec![answers(status, "{}")], &json!({}), &json!({"date": 1})).await;
        assert_eq!(answer, Err(expected));
        assert_eq!(stand_in.requests().len(), 1, "no redirect is followed");
    }
    let (answer, stand_in) = call(
        vec![],
        &json!({"credential": "env:RECADO_CREDENTIAL_CLINIC_X"}),
        &json!({"date": 1}),
    )
    .await;
    assert_eq!(
        (answer, stand_in.requests().len()),
        (Err(ToolFailure::Credentials), 0)
    );
    let (answer, stand_in) = call(vec![], &json!({}), &json!({"date": ".."})).await;
    assert!(matches!(answer, Err(ToolFailure::BadArguments(_))));
    assert_eq!(stand_in.requests().len(), 0);
    let stand_in = StandIn::start(vec![answers(401, "{}")]).await;
    let keys = Keys::default();
    let tools = HttpTools::new(GuardedClients::default(), keys.clone());
    let refused = tools
        .call_tool(&tool(&stand_in.url, &json!({})), &json!({"date": 1}), LIMITS)
        .await;
    assert_eq!(refused, Err(ToolFailure::Credentials));
    assert_eq!(keys.forgotten.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read() {
    let large = "x".repeat(usize::try_from(ANSWER_MAX).unwrap() + 1);
    let (answer, _) = call(vec![answers(200, &large)], &json!({}), &json!({"date": 1})).await;
    assert!(matches!(answer, Err(ToolFailure::Failed(_))), "{answer:?}");
}

#[tokio::test]
async fn without_the_setting_only_public_hosts_are_asked_and_only_by_https() {
    let stand_in = StandIn::start(vec![]).await;
    let tools = HttpTools::new(GuardedClients::default(), Keys::default());
    let limits = ToolLimits {
        private_hosts: false,
        ..LIMITS
    };
    for url in [
        stand_in.url.as_str(),
        "http://example.org",
        "https://127.0.0.1:9",
        "https://10.0.0.1",
    ] {
        let answer = tools
            .call_tool(&tool(url, &json!({})), &json!({"date": 1}), limits)
            .await;
        assert!(matches!(answer, Err(ToolFailure::Failed(_))), "{url}: {answer:?}");
    }
    let metadata = tool("http://169.254.169.254", &json!({}));
    let answer = tools.call_tool(&metadata, &json!({"date": 1}), LIMITS).await;
    assert!(matches!(answer, Err(ToolFailure::Failed(_))), "{answer:?}");
    assert_eq!(stand_in.requests().len(), 0);
}
