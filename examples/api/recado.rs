//! The same few calls in Rust, with `reqwest`, `serde_json` and `standardwebhooks`: sends a message, finds its conversation, answers in
//! it as a person, waits until the answer is sent, and gives the conversation back to the agent. `verify` as the first argument
//! verifies a request that Recado posted.

use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use std::error::Error;
use std::io::Read;
use std::time::Duration;

/// Any failure.
type Failure = Box<dyn Error + Send + Sync>;

/// An installation, with a token for it.
pub(crate) struct Recado {
    pub(crate) http: Client,
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) instance: String,
}

impl Recado {
    fn build_request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.url);
        self.http.request(method, url).bearer_auth(&self.token)
    }

    /// Waits until an event behind a place tells that a message was sent. A stream that ends is opened again behind the last event.
    async fn wait_until_sent(&self, mut place: String, message: &Value) -> Result<(), Failure> {
        loop {
            let query = [("after", place.as_str()), ("kind", "message.status")];
            let request = self.build_request(Method::GET, "/v1/events/stream").query(&query);
            let mut stream = request.send().await?.error_for_status()?;
            let mut read = Vec::new();
            while let Ok(Some(piece)) = stream.chunk().await {
                read.extend_from_slice(&piece);
                while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = read.drain(..=end).collect();
                    let Some(data) = line.strip_prefix(b"data:") else {
                        continue;
                    };
                    let event: Value = serde_json::from_slice(data)?;
                    place = find_text(&event, "cursor")?;
                    if event["message_id"] == *message && event["data"]["status"] == "sent" {
                        return Ok(());
                    }
                }
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Makes the calls, and returns a line for each.
    pub(crate) async fn make_calls(&self) -> Result<Vec<String>, Failure> {
        let newest = self.build_request(Method::GET, "/v1/events?after=now&limit=1");
        let place = find_text(&read_answer(newest).await?, "next")?;

        // A repeat with the same message_id sends nothing.
        let order =
            json!({"to": "+55 11 90000-0104", "text": "Seu pedido saiu.", "message_id": "rust-order-1"});
        let path = format!("/v1/instances/{}/messages", self.instance);
        let sent = read_answer(self.build_request(Method::POST, &path).json(&order)).await?;
        let message = find_text(&sent, "id")?;

        let query = [("instance", self.instance.as_str()), ("limit", "10")];
        let listed = self.build_request(Method::GET, "/v1/conversations").query(&query);
        let listed = read_answer(listed).await?;
        let items = listed["items"].as_array().ok_or("there is no list")?;
        let ours = items.iter().find(|one| one["id"] == sent["conversation_id"]);
        let conversation = find_text(ours.ok_or("the conversation is not listed")?, "id")?;

        let path = format!("/v1/conversations/{conversation}/messages");
        let answer = self
            .build_request(Method::POST, &path)
            .header("Idempotency-Key", "rust-answer-1")
            .json(&json!({"text": "Chega até as 18h."}));
        let answered = read_answer(answer).await?;
        let answer = find_text(&answered, "id")?;

        // A repeated run finds it sent.
        if answered["status"] != "sent" {
            self.wait_until_sent(place, &answered["id"]).await?;
        }

        let path = format!("/v1/conversations/{conversation}");
        let returned = self
            .build_request(Method::PATCH, &path)
            .json(&json!({"mode": "ai"}));
        let mode = find_text(&read_answer(returned).await?, "mode")?;
        Ok(vec![
            format!("message {message}"),
            format!("conversation {conversation}"),
            format!("answer {answer}"),
            format!("sent {answer}"),
            format!("mode {mode}"),
        ])
    }
}

/// Sends a request and returns the JSON of its answer. An answer other than a success is an error with its `detail`.
async fn read_answer(request: RequestBuilder) -> Result<Value, Failure> {
    let answer = request.send().await?;
    let status = answer.status();
    let body: Value = answer.json().await?;
    if status.is_success() {
        return Ok(body);
    }
    Err(format!("{status}: {}", body["detail"]).into())
}

fn find_text(value: &Value, name: &str) -> Result<String, Failure> {
    let text = value[name]
        .as_str()
        .ok_or_else(|| format!("there is no {name}"))?;
    Ok(text.to_owned())
}

/// Fails unless Recado posted this body lately, by the headers of its request (<https://www.standardwebhooks.com>).
pub(crate) fn verify_webhook(secret: &str, headers: &HeaderMap, body: &[u8]) -> Result<(), Failure> {
    Ok(standardwebhooks::Webhook::new(secret)?.verify(body, headers)?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let variable = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    if std::env::args().nth(1).as_deref() == Some("verify") {
        let mut headers = HeaderMap::new();
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            let value = std::env::var(name.to_uppercase().replace('-', "_"))?;
            headers.insert(name, value.parse()?);
        }
        let mut body = Vec::new();
        std::io::stdin().read_to_end(&mut body)?;
        verify_webhook(&std::env::var("WEBHOOK_SECRET")?, &headers, &body)?;
        println!("genuine");
        return Ok(());
    }
    // This repository builds reqwest without a TLS library of its own. With its usual features, `Client::new()` is enough.
    let http = recado_http_client::build_http_client()?;
    let recado = Recado {
        http,
        url: variable("RECADO_URL", "http://127.0.0.1:8080"),
        token: std::env::var("RECADO_TOKEN")?,
        instance: variable("RECADO_INSTANCE", "suporte-01"),
    };
    for line in recado.make_calls().await? {
        println!("{line}");
    }
    Ok(())
}
