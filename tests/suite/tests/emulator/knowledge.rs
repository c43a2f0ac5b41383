//! Documents of an agent, from the API through S3 to the prompt.

use crate::bench::{Bench, answer, eventually, eventually_within};
use crate::contact::Contact;
use crate::stack::{KNOWING, KNOWING_AGENT};
use recado_testkit::pdf_files::make_pdf;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

/// For how long a function may know an older snapshot: the life of what it keeps of the configuration, and some.
const OLD_SNAPSHOT: Duration = Duration::from_secs(120);

impl Bench {
    /// Adds a document; what the API says of it.
    async fn adds(&self, title: &str, text: impl Into<Vec<u8>>) -> Value {
        let path = format!("/v1/agents/{KNOWING_AGENT}/knowledge?title={title}");
        let request = self
            .http
            .post(self.stack.url(&path))
            .bearer_auth(&self.stack.token)
            .header("content-type", "text/markdown")
            .body(text.into());
        let (status, added) = answer(request).await;
        assert_eq!(status, StatusCode::OK, "{added}");
        added
    }

    /// A contact of its own asks; the system prompt with which the model was asked.
    async fn is_asked(&self, question: &str) -> String {
        let contact = Contact::new();
        self.says(KNOWING, &contact, question).await;
        self.phone(&self.stack.stand_ins.evolution, &contact, 1).await;
        let id = self.conversation(KNOWING, &contact).await;
        let messages = self.messages(&id).await;
        assert_eq!(messages.len(), 2, "{messages:?}");
        eventually("the request to the model", || async {
            let requests = self.stack.stand_ins.anthropic.requests();
            let is_of_it = |body: &Value| body["messages"].to_string().contains(question);
            let mut asked = requests.iter().rev().map(|request| &request.body);
            asked
                .find(|body| is_of_it(body))
                .map(|body| body["system"].to_string())
        })
        .await
    }

    /// Asks anew, with words of their own, until the prompt is as wanted.
    async fn is_asked_until(&self, what: &str, fits: impl Fn(&str) -> bool) {
        let look = || async {
            let question = format!(
                "What does the vaccine cost, please, asks {}?",
                Contact::new().number
            );
            let asked = self.is_asked(&question).await;
            fits(&asked).then_some(())
        };
        eventually_within(OLD_SNAPSHOT, what, look).await;
    }
}

#[tokio::test]
async fn a_document_goes_in_is_answered_from_changes_and_is_gone() {
    let bench = Bench::new().await;
    let added = bench
        .adds("prices.md", "# Prices\nThe vaccine costs 90 euros.")
        .await;
    assert_eq!(
        (&added["outcome"], &added["source"]["blocks"]),
        (&"added".into(), &1.into())
    );
    bench
        .is_asked_until("the document", |asked| asked.contains("90 euros"))
        .await;
    let changed = bench
        .adds("prices.md", "# Prices\nThe vaccine costs 95 euros.")
        .await;
    assert_eq!(changed["outcome"], "replaced");
    bench
        .is_asked_until("the change", |asked| {
            asked.contains("95 euros") && !asked.contains("90 euros")
        })
        .await;
    let source = changed["source"]["id"].as_str().unwrap();
    let path = format!("/v1/agents/{KNOWING_AGENT}/knowledge/{source}");
    let (status, removed) = bench.api(Method::DELETE, &path, None).await;
    assert!(status.is_success(), "{status}: {removed}");
    bench
        .is_asked_until("the removal", |asked| !asked.contains("euros"))
        .await;
    assert_eq!(bench.stack.stand_ins.violations(), []);
}

#[tokio::test]
async fn the_text_of_a_pdf_document_is_read_by_the_function_and_a_private_page_is_refused() {
    let bench = Bench::new().await;
    let pages = ["Parking takes 3 coins.", "The lift is closed."].map(str::to_owned);
    let added = bench.adds("house.pdf", make_pdf(&pages)).await;
    assert_eq!(
        (&added["outcome"], &added["unread_pages"]),
        (&"added".into(), &json!([]))
    );
    let source = added["source"]["id"].as_str().unwrap();
    let path = format!("/v1/agents/{KNOWING_AGENT}/knowledge/{source}");
    let (_, shown) = bench.api(Method::GET, &path, None).await;
    let places: Vec<&Value> = shown["texts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["place"])
        .collect();
    assert_eq!(places, ["page 1", "page 2"], "{shown}");
    let (status, _) = bench.api(Method::DELETE, &path, None).await;
    assert!(status.is_success(), "{status}");
    let body = json!({"urls": ["http://127.0.0.1/prices"]});
    let path = format!("/v1/agents/{KNOWING_AGENT}/knowledge/pages");
    let (status, told) = bench.api(Method::POST, &path, Some(body)).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    assert!(
        told["items"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("private network"),
        "{told}"
    );
}

#[tokio::test]
async fn vectors_stand_in_the_snapshot_and_find_their_document_until_it_is_removed() {
    let bench = Bench::new().await;
    let added = bench
        .adds("garden.md", "# Garden\nThe roses are watered at dawn.")
        .await;
    assert_eq!(
        (&added["vectors"]["blocks"], &added["vectors"]["reason"]),
        (&1.into(), &Value::Null),
        "{added}"
    );
    let question = json!({"question": "gardening rosebush waterings"});
    let search = format!("/v1/agents/{KNOWING_AGENT}/knowledge/search");
    let (status, told) = bench.api(Method::POST, &search, Some(question.clone())).await;
    assert_eq!(
        (status, &told["search"]),
        (StatusCode::OK, &"hybrid".into()),
        "{told}"
    );
    let is_garden = |block: &Value| block["title"] == "garden.md" && block["cosine"].is_number();
    assert!(told["found"].as_array().unwrap().iter().any(is_garden), "{told}");
    let source = added["source"]["id"].as_str().unwrap();
    let path = format!("/v1/agents/{KNOWING_AGENT}/knowledge/{source}");
    let (status, removed) = bench.api(Method::DELETE, &path, None).await;
    assert!(status.is_success(), "{status}: {removed}");
    let (_, told) = bench.api(Method::POST, &search, Some(question)).await;
    assert!(!told["found"].as_array().unwrap().iter().any(is_garden), "{told}");
}
