//! The operators' API, read for the audit.

use crate::audit::Record;
use futures::stream::{self, StreamExt};
use reqwest::Client;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// The longest page.
const PAGE: usize = 200;

/// How many reads run side by side.
const AT_ONCE: usize = 8;

/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// See the module.
#[derive(Debug, Clone)]
pub struct Console {
    http: Client,
    base: String,
    token: String,
}

impl Console {
    /// The API of the installation at `base`.
    pub fn new(http: Client, base: &str, token: &str) -> Self {
        Self {
            http,
            base: base.to_owned(),
            token: token.to_owned(),
        }
    }

    /// Reads once; `None` if there is no answer in JSON. Whether all is well (200 or 503) is for the reader to see.
    pub async fn look(&self, path: &str) -> Option<Value> {
        let request = self.http.get(format!("{}{path}", self.base));
        let request = request.bearer_auth(&self.token).timeout(ANSWER_MAX);
        request.send().await.ok()?.json().await.ok()
    }

    /// Reads a text once; `None` if there is none.
    pub async fn look_text(&self, path: &str) -> Option<String> {
        let request = self.http.get(format!("{}{path}", self.base));
        let request = request.bearer_auth(&self.token).timeout(ANSWER_MAX);
        let answer = request.send().await.ok()?.error_for_status().ok()?;
        answer.text().await.ok()
    }

    /// Reads once.
    ///
    /// # Panics
    /// When there is no answer in JSON.
    pub async fn get(&self, path: &str) -> Value {
        let found = self.look(path).await;
        found.unwrap_or_else(|| panic!("no answer to GET {path}"))
    }

    /// All pages of a list.
    ///
    /// # Panics
    /// When it cannot be read.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let mark = if path.contains('?') { '&' } else { '?' };
            let page = self.get(&format!("{path}{mark}limit={PAGE}{cursor}")).await;
            let items = page["items"].as_array();
            all.extend(
                items
                    .unwrap_or_else(|| panic!("{path} is no list: {page}"))
                    .clone(),
            );
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }

    /// All messages of the conversations of contacts for whom `wanted` holds (their numbers, in digits).
    ///
    /// # Panics
    /// When they cannot be read.
    pub async fn records(&self, wanted: impl Fn(&str) -> bool) -> Vec<Record> {
        let conversations = self.list("/v1/conversations").await;
        let chosen = conversations.iter().filter_map(|conversation| {
            let number = conversation["contact"]["phone"].as_str()?.trim_start_matches('+');
            wanted(number).then(|| (text(&conversation["id"]), number.to_owned()))
        });
        let reads = chosen.map(|(id, number)| async move {
            let messages = self.list(&format!("/v1/conversations/{id}/messages")).await;
            messages
                .into_iter()
                .map(move |message| (number.clone(), message))
                .collect::<Vec<_>>()
        });
        let messages: Vec<Vec<(String, Value)>> = stream::iter(reads).buffered(AT_ONCE).collect().await;
        let details = messages
            .into_iter()
            .flatten()
            .map(|(number, message)| async move {
                let detail = self.get(&format!("/v1/messages/{}", text(&message["id"]))).await;
                record(number, &detail)
            });
        stream::iter(details).buffered(AT_ONCE).collect().await
    }

    /// How many messages are neither sent nor given up, as the lists of messages say.
    pub async fn open(&self) -> usize {
        let conversations = self.list("/v1/conversations").await;
        let reads = conversations.iter().map(|conversation| async {
            let id = text(&conversation["id"]);
            let messages = self.list(&format!("/v1/conversations/{id}/messages")).await;
            messages
                .iter()
                .filter(|message| message["status"] == "pending")
                .count()
        });
        stream::iter(reads)
            .buffered(AT_ONCE)
            .fold(0, |sum, open| async move { sum + open })
            .await
    }

    /// The messages that dead letters name.
    ///
    /// # Panics
    /// When they cannot be read.
    pub async fn dead_letters(&self) -> BTreeSet<String> {
        let dead_letters = self.list("/v1/dead-letters").await;
        dead_letters
            .iter()
            .filter_map(|dead_letter| dead_letter["message_id"].as_str().map(str::to_owned))
            .collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn record(number: String, detail: &Value) -> Record {
    let optional = |name: &str| detail[name].as_str().map(str::to_owned);
    let repeated = |step: &&Value| {
        step["what"] == "queued"
            && step["why"]
                .as_str()
                .is_some_and(|why| why.starts_with("no evidence"))
    };
    Record {
        id: text(&detail["id"]),
        number,
        ordinal: detail["ordinal"].as_u64().unwrap_or_default(),
        inbound: detail["role"] == "user",
        text: text(&detail["content"]),
        provider_id: optional("provider_message_id"),
        status: text(&detail["status"]),
        reason: optional("reason"),
        maybe_sent: detail["maybe_sent"] == true,
        repeats: detail["history"]
            .as_array()
            .map_or(0, |steps| steps.iter().filter(repeated).count()),
    }
}
