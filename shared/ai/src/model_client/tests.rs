//! Against a stand-in of Anthropic's API that answers what each test wants.

mod files;
mod other_providers;
mod tools;

use super::*;
use async_trait::async_trait;
use recado_domain::Timestamp;
use recado_domain::decision::OfferedDecisions;
use recado_ports::ports::{ChatTurn, Speaker};
use recado_testkit::servers::scripted::{Does, StandIn};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tokio::sync::Notify;

/// A clock that only waits move on. The time-out of a request is longer than any wait between two; it is over once its
/// server says that it hangs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Time {
    passed: Arc<AtomicU64>,
    drawn: Arc<AtomicU64>,
    pub(crate) hangs: Arc<Notify>,
}

const SHORTEST_TIMEOUT: Duration = Duration::from_secs(13);

impl Time {
    /// How many milliseconds have passed.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl System for Time {
    fn now(&self) -> Timestamp {
        add_millis(Timestamp::UNIX_EPOCH, i64::try_from(self.passed()).unwrap())
    }

    fn random_u64(&self) -> u64 {
        self.drawn.fetch_add(1 << 60, Ordering::Relaxed)
    }

    async fn sleep(&self, duration: Duration) {
        if duration >= SHORTEST_TIMEOUT {
            self.hangs.notified().await;
        }
        let milliseconds = u64::try_from(duration.as_millis()).unwrap();
        self.passed.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

/// Secrets with at most one key in them.
#[derive(Debug, Clone)]
pub(crate) struct KeyBox {
    name: &'static str,
    key: Option<Secret>,
    forgotten: Arc<AtomicU32>,
}

impl KeyBox {
    pub(crate) fn with(key: &str) -> Self {
        Self::named(ANTHROPIC_API_KEY, Some(key))
    }

    pub(crate) fn empty() -> Self {
        Self::named(ANTHROPIC_API_KEY, None)
    }

    pub(crate) fn named(name: &'static str, key: Option<&str>) -> Self {
        Self {
            name,
            key: key.and_then(Secret::new),
            forgotten: Arc::default(),
        }
    }

    /// How often a key was forgotten.
    pub(crate) fn forgotten(&self) -> u32 {
        self.forgotten.load(Ordering::Relaxed)
    }
}

impl Secrets for KeyBox {
    async fn resolve_secret(&self, reference: &CredentialRef) -> PortResult<Option<Secret>> {
        // Whoever asks for another key gets none.
        let is_named = *reference == CredentialRef::Env(self.name.to_owned());
        Ok(self.key.clone().filter(|_| is_named))
    }

    async fn forget_secret(&self, _: &CredentialRef) {
        self.forgotten.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn said(speaker: Speaker, text: &str) -> ChatTurn {
    ChatTurn::from_text(speaker, text)
}

pub(crate) fn request() -> LlmRequest {
    LlmRequest {
        model: "claude-sonnet-4-5".to_owned(),
        system: "You are Ana.".to_owned(),
        turns: vec![said(Speaker::User, "good morning")],
        max_tokens: 300,
        within: Duration::from_mins(1),
        ..LlmRequest::default()
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");

fn fine() -> Does {
    Does::AnswersWith(200, vec![JSON], FINE.to_owned())
}

fn answer_status(status: u16, kind: &str, after: Option<&'static str>) -> Does {
    let body = json!({"type": "error", "error": {"type": kind, "message": "PRIVATE words"}});
    let after = after.map(|after| ("retry-after", after));
    let headers = [JSON, ("request-id", "req_011")].into_iter().chain(after);
    Does::AnswersWith(status, headers.collect(), body.to_string())
}

fn answer_body(kind: &'static str, body: &str) -> Does {
    Does::AnswersWith(200, vec![("content-type", kind)], body.to_owned())
}

const FINE: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929",
    "content":[{"type":"text","text":"Bom dia!"}],"stop_reason":"end_turn","stop_sequence":null,
    "usage":{"input_tokens":12,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":7}}"#;

struct Trial {
    client: ModelClient<KeyBox, Time>,
    stand_in: StandIn,
    keys: KeyBox,
}

async fn trial(script: Vec<Does>) -> Trial {
    trial_at(Time::default(), script).await
}

async fn trial_at(time: Time, script: Vec<Does>) -> Trial {
    let stand_in = StandIn::start(script).await;
    let base_url = stand_in.url.clone();
    let keys = KeyBox::with("sk-test-1");
    let settings = ModelClientSettings {
        base_url,
        ..ModelClientSettings::default()
    };
    let client = ModelClient::new(
        recado_http_client::build_http_client().unwrap(),
        settings,
        keys.clone(),
        time,
    )
    .unwrap();
    Trial {
        client,
        stand_in,
        keys,
    }
}

impl Trial {
    fn requests(&self) -> usize {
        self.stand_in.requests().len()
    }
}

#[tokio::test]
async fn the_request_has_the_shape_that_the_api_documents() {
    let trial = trial(vec![fine()]).await;
    let mut asked = request();
    asked.turns = vec![
        said(Speaker::User, "hi"),
        said(Speaker::Assistant, "hello"),
        said(Speaker::User, "good morning"),
    ];
    let reply = trial.client.generate_reply(&asked).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.model.as_str()),
        ("Bom dia!", "claude-sonnet-4-5-20250929")
    );
    let usage = TokenUsage {
        input_tokens: 12,
        output_tokens: 7,
        cache_read_tokens: 2000,
        cache_write_tokens: 100,
    };
    assert_eq!(reply.usage, usage);
    let sent = trial.stand_in.requests().remove(0);
    assert_eq!(sent.line, "POST /v1/messages");
    for header in ["x-api-key: sk-test-1", "anthropic-version: 2023-06-01"] {
        assert!(sent.headers.iter().any(|sent| sent == header), "{header}");
    }
    assert_eq!(
        sent.body,
        json!({
            "model": "claude-sonnet-4-5",
            "stream": false,
            "max_tokens": 300,
            "system": [{"type": "text", "text": "You are Ana.", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "hello"},
                {"role": "user", "content": "good morning"},
            ],
        })
    );
}

#[tokio::test]
async fn an_empty_system_prompt_is_left_out() {
    let trial = trial(vec![fine()]).await;
    trial
        .client
        .generate_reply(&LlmRequest {
            system: " \n".to_owned(),
            ..request()
        })
        .await
        .unwrap();
    assert!(trial.stand_in.requests()[0].body.get("system").is_none());
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_retry_after_is_waited_for() {
    let trial = trial(vec![
        answer_status(429, "rate_limit_error", Some("5")),
        answer_status(529, "overloaded_error", None),
        answer_status(500, "api_error", None),
        fine(),
    ])
    .await;
    trial.client.generate_reply(&request()).await.unwrap();
    assert_eq!(trial.requests(), 4);
    // Five seconds, one and two, these give or take a half.
    let passed = trial.client.system.passed();
    assert!((6_500..=9_500).contains(&passed), "{passed}");
}

#[tokio::test]
async fn a_wait_that_does_not_fit_is_not_begun() {
    let trial = trial(vec![answer_status(429, "rate_limit_error", Some("90"))]).await;
    let error = trial.client.generate_reply(&request()).await.unwrap_err();
    assert_eq!(
        error,
        LlmError::Unavailable("status 429 rate_limit_error, retry after 90 s, request req_011".to_owned())
    );
    assert_eq!(trial.requests(), 1);
}

#[tokio::test]
async fn attempts_end_at_their_number() {
    let trial = trial(vec![answer_status(529, "overloaded_error", None)]).await;
    let error = trial.client.generate_reply(&request()).await.unwrap_err();
    assert!(matches!(error, LlmError::Unavailable(_)));
    assert_eq!(trial.requests(), 6);
}

#[tokio::test]
async fn a_refused_key_is_forgotten_and_the_turn_waits_for_another() {
    for status in [401, 403] {
        let trial = trial(vec![answer_status(status, "authentication_error", None)]).await;
        let error = trial.client.generate_reply(&request()).await.unwrap_err();
        assert!(matches!(error, LlmError::Credentials(_)), "{error}");
        assert_eq!((trial.requests(), trial.keys.forgotten()), (1, 1));
    }
}

#[tokio::test]
async fn a_bad_request_is_refused_at_once_and_its_body_is_not_repeated() {
    for (status, kind) in [
        (400, "invalid_request_error"),
        (404, "not_found_error"),
        (307, "moved"),
    ] {
        let trial = trial(vec![answer_status(status, kind, None)]).await;
        let error = trial.client.generate_reply(&request()).await.unwrap_err();
        assert!(matches!(error, LlmError::Refused(_)), "{error}");
        let shown = format!("{error} {error:?}");
        assert!(
            shown.contains(kind) && shown.contains("req_011") && !shown.contains("PRIVATE"),
            "{shown}"
        );
        assert_eq!(trial.requests(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_asked_for_again() {
    let trial = trial(vec![
        answer_body("application/json", "{\"content\": PRIVATE"),
        answer_body("text/html", "<html>PRIVATE</html>"),
        answer_body("application/json", "{\"PRIVATE\": 1}"),
        answer_body(
            "application/json",
            "{\"content\": [], \"stop_reason\": \"end_turn\"}",
        ),
        fine(),
    ])
    .await;
    assert_eq!(
        trial.client.generate_reply(&request()).await.unwrap().text,
        "Bom dia!"
    );
    assert_eq!(trial.requests(), 5);
}

#[tokio::test]
async fn a_model_that_declines_is_not_asked_again() {
    let trial = trial(vec![answer_body(
        "application/json",
        "{\"content\": [], \"stop_reason\": \"refusal\"}",
    )])
    .await;
    let error = trial.client.generate_reply(&request()).await.unwrap_err();
    assert_eq!(
        error,
        LlmError::Refused("the model declined to answer".to_owned())
    );
}

#[tokio::test]
async fn a_slow_attempt_is_cut_off_and_the_whole_ends_in_time() {
    let time = Time::default();
    let slow = || Does::HangsAndTells(Arc::clone(&time.hangs));
    let mut trial = trial_at(time.clone(), vec![slow(), fine()]).await;
    trial.client.settings.attempt_timeout = Duration::from_secs(30);
    trial.client.generate_reply(&request()).await.unwrap();
    assert_eq!(trial.requests(), 2);
    let passed = trial.client.system.passed();
    assert!((30_250..=30_750).contains(&passed), "{passed}");

    let time = Time::default();
    let slow = Does::HangsAndTells(Arc::clone(&time.hangs));
    let trial = trial_at(time, vec![slow]).await;
    let error = trial.client.generate_reply(&request()).await.unwrap_err();
    assert!(matches!(error, LlmError::Unavailable(_)));
    // One attempt of 45 seconds, a wait of half a second, and what is left of 60.
    assert_eq!((trial.requests(), trial.client.system.passed()), (2, 60_000));
}

#[tokio::test]
async fn an_unreachable_server_is_tried_again_and_then_unavailable() {
    let settings = ModelClientSettings {
        base_url: "http://127.0.0.1:9".to_owned(),
        ..ModelClientSettings::default()
    };
    let client = ModelClient::new(
        recado_http_client::build_http_client().unwrap(),
        settings,
        KeyBox::with("k"),
        Time::default(),
    )
    .unwrap();
    let error = client.generate_reply(&request()).await.unwrap_err();
    let why = "http://127.0.0.1:9: the connection was refused: nothing listens there";
    assert_eq!(error, LlmError::Unavailable(why.to_owned()));
}

#[test]
fn a_base_url_is_taken_with_and_without_its_version() {
    assert_eq!(
        versioned_base_url("https://api.anthropic.com", "v1").unwrap(),
        "https://api.anthropic.com/v1/"
    );
    assert_eq!(
        versioned_base_url("http://127.0.0.1:8080/v1/", "v1").unwrap(),
        "http://127.0.0.1:8080/v1/"
    );
    assert_eq!(
        versioned_base_url("https://gateway.example/claude/", "v1").unwrap(),
        "https://gateway.example/claude/v1/"
    );
    for bad in ["", "api.anthropic.com", "ftp://x", "https://x/?key=1"] {
        assert_eq!(
            versioned_base_url(bad, "v1"),
            Err(ModelClientError::BaseUrl),
            "{bad}"
        );
    }
}

fn offered() -> OfferedDecisions {
    OfferedDecisions {
        hand_over: true,
        ..OfferedDecisions::default()
    }
}

/// An answer with these parts of content.
fn answer_parts(parts: &serde_json::Value) -> Does {
    let mut body: serde_json::Value = serde_json::from_str(FINE).unwrap();
    body["content"] = parts.clone();
    body["stop_reason"] = json!("tool_use");
    Does::AnswersWith(200, vec![JSON], body.to_string())
}

fn call(name: &str, input: &serde_json::Value) -> serde_json::Value {
    json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": input})
}

fn text(words: &str) -> serde_json::Value {
    json!({"type": "text", "text": words})
}

#[tokio::test]
async fn tools_are_named_only_where_a_decision_is_offered_and_instructions_follow_the_cached_prompt() {
    let trial = trial(vec![fine()]).await;
    trial.client.generate_reply(&request()).await.unwrap();
    let asked = LlmRequest {
        decisions: offered(),
        instructions: vec!["Step two.".to_owned()],
        ..request()
    };
    trial.client.generate_reply(&asked).await.unwrap();
    let sent = trial.stand_in.requests();
    assert_eq!(sent[0].body.get("tools"), None);
    let tools = &sent[1].body["tools"];
    assert_eq!(
        (tools.as_array().map(Vec::len), &tools[0]["name"]),
        (Some(1), &json!("hand_over"))
    );
    assert_eq!(tools[0]["input_schema"]["required"], json!(["reason", "message"]));
    assert_eq!(
        sent[1].body["system"],
        json!([
            {"type": "text", "text": "You are Ana.", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "Step two."},
        ])
    );
}

/// Returns the bytes of a request up to the end of what the provider caches.
fn cached_prefix(body: &serde_json::Value) -> String {
    let (tools, prompt) = (&body["tools"], &body["system"][0]);
    assert_eq!(prompt["cache_control"]["type"], "ephemeral");
    format!("{} {tools} {prompt}", body["model"])
}

#[tokio::test]
async fn the_cached_prefix_is_the_same_in_every_turn_whatever_its_time_and_its_knowledge() {
    let trial = trial(vec![fine(), fine(), fine()]).await;
    let known = [
        "<knowledge>90 euros</knowledge>",
        "<knowledge>95 euros</knowledge>",
    ];
    for (knowledge, question) in [
        (None, "oi"),
        (Some(known[0]), "price?"),
        (Some(known[1]), "and now?"),
    ] {
        let asked = LlmRequest {
            decisions: offered(),
            instructions: vec![format!("Step of {question}.")],
            present: Some(format!("Now it is the time of {question}.")),
            knowledge: knowledge.map(str::to_owned),
            turns: vec![said(Speaker::User, question)],
            ..request()
        };
        trial.client.generate_reply(&asked).await.unwrap();
    }
    let sent = trial.stand_in.requests();
    let prefixes: Vec<String> = sent.iter().map(|sent| cached_prefix(&sent.body)).collect();
    assert_eq!(prefixes[0], prefixes[1]);
    assert_eq!(prefixes[1], prefixes[2]);
    assert_eq!(sent[1].body["system"][2], text("Now it is the time of price?."));
    assert_eq!(sent[1].body["system"][3], text(known[0]));
    assert_eq!(sent[2].body["system"][3], text(known[1]));
    assert_eq!(sent[0].body["system"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn a_decision_comes_with_its_words_or_with_those_beside_it() {
    let sound = json!({"reason": "wants a refund", "message": "Já chamo alguém."});
    let silent = json!({"reason": "wants a refund"});
    let malformed = json!({"message": "Já chamo alguém."});
    let note = "wants a refund".to_owned();
    let handed = Some(AgentDecision::HandOver { note });
    for (parts, words, decision, ignored) in [
        (
            json!([call("hand_over", &sound)]),
            "Já chamo alguém.",
            handed.clone(),
            0,
        ),
        (
            json!([text("Let me think."), call("hand_over", &sound)]),
            "Já chamo alguém.",
            handed.clone(),
            0,
        ),
        (
            json!([text("Um momento."), call("hand_over", &silent)]),
            "Um momento.",
            handed.clone(),
            0,
        ),
        (json!([call("hand_over", &silent)]), "", handed.clone(), 0),
        (
            json!([text("Um momento."), call("hand_over", &malformed)]),
            "Um momento.",
            None,
            1,
        ),
        (
            json!([call("hand_over", &malformed)]),
            "Já chamo alguém.",
            None,
            1,
        ),
        (
            json!([text("Um momento."), call("resolve", &sound)]),
            "Um momento.",
            None,
            1,
        ),
        (
            json!([text("Um momento."), call("fly", &json!("away"))]),
            "Um momento.",
            None,
            1,
        ),
    ] {
        let trial = trial(vec![answer_parts(&parts)]).await;
        let asked = LlmRequest {
            decisions: offered(),
            ..request()
        };
        let reply = trial.client.generate_reply(&asked).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.decision, reply.ignored_calls),
            (words, decision, ignored),
            "{parts}"
        );
        assert_eq!(trial.requests(), 1);
    }
}

#[tokio::test]
async fn a_call_that_neither_says_nor_decides_anything_is_asked_again() {
    let nothing = json!([call("hand_over", &json!({}))]);
    let trial = trial(vec![answer_parts(&nothing), fine()]).await;
    let asked = LlmRequest {
        decisions: offered(),
        ..request()
    };
    let reply = trial.client.generate_reply(&asked).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.decision, trial.requests()),
        ("Bom dia!", None, 2)
    );
}
