//! An agent that the user runs: it repeats what it was asked, and leaves words that end with `-hush` without an answer.

use super::{FakeWorld, Shown};
use serde_json::Value;

/// The end of words to which the agent says nothing.
pub const HUSH: &str = "-hush";

impl FakeWorld {
    /// Notes what the agent was shown at `read_ms`, and returns its answer.
    pub(super) fn answer_as_http_agent(&self, body: &Value, read_ms: i64) -> Option<String> {
        let messages = body["data"]["messages"].as_array();
        let of_contact = messages
            .into_iter()
            .flatten()
            .filter(|message| message["role"] == "user");
        let words = |message: &Value| -> Vec<String> {
            let text = message["text"].as_str().unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        };
        let (mut asked, mut shown) = (
            Vec::new(),
            Shown {
                read_ms,
                ..Shown::default()
            },
        );
        for message in of_contact {
            shown.words.extend(words(message));
            if message["owed"] == true {
                asked.extend(words(message));
            }
        }
        let mut state = self.state();
        state.read.extend(asked.iter().cloned());
        state.shown.push(shown);
        let answers = asked.iter().any(|word| !word.ends_with(HUSH));
        answers.then(|| format!("re {}", asked.join(" ")))
    }
}
