//! What a test works with: the stack, and clients of its own.

use crate::account::clients;
use crate::contact::{Contact, correlation_id, message_id, seconds};
use crate::stack::{ACCOUNT, APP_SECRET, Stack, stack};
use recado_aws::Clients;
use recado_testkit::servers::{Delivered, StandIn};
use recado_testkit::webhooks::{evolution_text, meta_signature};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::Value;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How long anything may take: the emulator looks at its queues every second or so, and the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

static TURNS: RwLock<()> = RwLock::const_new(());

#[expect(dead_code, reason = "they are held, not read")]
enum Turn {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
    Free,
}

/// A test's place at the stack.
pub(crate) struct Bench {
    pub(crate) stack: &'static Stack,
    pub(crate) http: Client,
    pub(crate) aws: Clients,
    _turn: Turn,
}

impl Bench {
    /// Side by side with other tests.
    pub(crate) async fn new() -> Self {
        let stack = stack().await;
        Self::at(stack, Turn::Shared(TURNS.read().await))
    }

    /// While no other test runs.
    pub(crate) async fn alone() -> Self {
        let stack = stack().await;
        Self::at(stack, Turn::Alone(TURNS.write().await))
    }

    /// Whatever other tests do: for what looks at another stack.
    pub(crate) async fn elsewhere() -> Self {
        Self::at(stack().await, Turn::Free)
    }

    fn at(stack: &'static Stack, turn: Turn) -> Self {
        // Clients belong to the runtime they are first used in, so each test has its own.
        Self {
            stack,
            http: recado_http_client::build_http_client().unwrap(),
            aws: clients(ACCOUNT),
            _turn: turn,
        }
    }

    /// Posts a webhook of Evolution with its proof; the answer, once it is 200.
    pub(crate) async fn evolution(&self, body: &Value) -> Value {
        self.evolution_with(body, &correlation_id()).await
    }

    /// As [`Self::evolution`], under a given correlation id.
    pub(crate) async fn evolution_with(&self, body: &Value, correlation: &str) -> Value {
        let secret = self.stack.secret(body["instance"].as_str().unwrap());
        let request = self
            .http
            .post(self.stack.url("/webhooks/evolution"))
            .header("apikey", secret);
        accepted(request.header("x-correlation-id", correlation).json(body)).await
    }

    /// A text of `contact` to an Evolution instance.
    pub(crate) async fn says(&self, instance: &str, contact: &Contact, text: &str) -> Value {
        self.evolution(&evolution_text(
            instance,
            &contact.jid,
            &message_id(),
            text,
            seconds(),
        ))
        .await
    }

    /// Posts a signed webhook of Meta; the answer, once it is 200.
    pub(crate) async fn meta(&self, body: &Value) -> Value {
        self.meta_with(body, &correlation_id()).await
    }

    /// As [`Self::meta`], under a given correlation id.
    pub(crate) async fn meta_with(&self, body: &Value, correlation: &str) -> Value {
        let bytes = body.to_string().into_bytes();
        let signature = meta_signature(APP_SECRET, &bytes);
        let request = self
            .http
            .post(self.stack.url("/webhooks/meta"))
            .header("X-Hub-Signature-256", signature);
        accepted(request.header("x-correlation-id", correlation).body(bytes)).await
    }

    /// Calls the operators' API.
    pub(crate) async fn api(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let mut request = self
            .http
            .request(method, self.stack.url(path))
            .bearer_auth(&self.stack.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        answer(request).await
    }

    /// Reads from the operators' API.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.api(Method::GET, path, None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    /// What `contact` got from a provider, once there are `count`.
    pub(crate) async fn phone(&self, provider: &StandIn, contact: &Contact, count: usize) -> Vec<Delivered> {
        let got = || async {
            let all = provider.phone().into_iter();
            let got: Vec<Delivered> = all
                .filter(|message| message.to.contains(&contact.number))
                .collect();
            (got.len() >= count).then_some(got)
        };
        let got = eventually(&format!("{count} messages on the contact's phone"), got).await;
        assert_eq!(got.len(), count, "{got:?}");
        got
    }

    /// The bodies that are kept aside. One that is deleted meanwhile is left out.
    pub(crate) async fn payloads(&self) -> Vec<String> {
        let (s3, bucket) = (self.aws.s3(), self.stack.output("BucketName"));
        let list = s3.list_objects_v2().bucket(bucket).prefix("payloads/");
        let objects = list.send().await.unwrap().contents.unwrap_or_default();
        let mut bodies = Vec::new();
        for key in objects.iter().filter_map(|object| object.key()) {
            let Ok(found) = s3.get_object().bucket(bucket).key(key).send().await else {
                continue;
            };
            let bytes = found.body.collect().await.unwrap().into_bytes();
            bodies.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        bodies
    }

    /// The id of a contact's conversation, once there is one.
    pub(crate) async fn conversation(&self, instance: &str, contact: &Contact) -> String {
        let phone = format!("+{}", contact.number);
        let path = format!("/v1/conversations?instance={instance}&limit=200");
        eventually("the contact's conversation", || async {
            let list = self.get(&path).await;
            let mut items = list["items"].as_array()?.iter();
            let found = items.find(|item| item["contact"]["phone"] == phone.as_str())?;
            Some(found["id"].as_str()?.to_owned())
        })
        .await
    }

    /// A conversation's messages, the oldest first.
    pub(crate) async fn messages(&self, conversation: &str) -> Vec<Value> {
        let list = self
            .get(&format!("/v1/conversations/{conversation}/messages?limit=100"))
            .await;
        list["items"].as_array().unwrap().iter().rev().cloned().collect()
    }

    /// A conversation's messages, once they are as wanted.
    pub(crate) async fn messages_when(
        &self,
        what: &str,
        conversation: &str,
        fits: impl Fn(&[Value]) -> bool,
    ) -> Vec<Value> {
        let look = || async {
            let messages = self.messages(conversation).await;
            fits(&messages).then_some(messages)
        };
        eventually(what, look).await
    }
}

async fn accepted(request: RequestBuilder) -> Value {
    let (status, body) = answer(request).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body
}

/// The status and the JSON that a request is answered with; what is no JSON, as a string.
pub(crate) async fn answer(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.timeout(PATIENCE).send().await.unwrap();
    let (status, text) = (response.status(), response.text().await.unwrap());
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// What a message in a list says.
pub(crate) fn said(messages: &[Value]) -> Vec<(&str, &str)> {
    messages
        .iter()
        .map(|m| (m["role"].as_str().unwrap(), m["content"].as_str().unwrap()))
        .collect()
}

/// Waits for a condition, for [`PATIENCE`].
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, look: impl FnMut() -> F) -> T {
    eventually_within(PATIENCE, what, look).await
}

/// Waits for a condition, with a limit.
pub(crate) async fn eventually_within<T, F: Future<Output = Option<T>>>(
    limit: Duration,
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < limit, "waited in vain for {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
