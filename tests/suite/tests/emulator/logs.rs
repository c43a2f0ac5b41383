//! What the functions log, read from CloudWatch Logs.

use crate::account::{REGION, emulator};
use crate::bench::Bench;
use crate::stack::ACCOUNT;
use serde_json::{Value, json};

impl Bench {
    /// The log lines of a function in whose spans this correlation id stands. Of an invocation they are there all at
    /// once, when it has ended.
    pub(crate) async fn log(&self, function: &str, correlation: &str) -> Vec<Value> {
        let lines = self.log_texts(function).await;
        let lines = lines.iter().filter_map(|line| serde_json::from_str(line).ok());
        let follows = |line: &Value| {
            let spans = line["spans"].as_array();
            spans.is_some_and(|spans| spans.iter().any(|span| span["correlation_id"] == correlation))
        };
        lines.filter(follows).collect()
    }

    /// All that a function has logged, line by line.
    pub(crate) async fn log_texts(&self, function: &str) -> Vec<String> {
        // One operation of a service whose SDK nothing else here needs. The emulator reads only the account from the
        // signature.
        let credential = format!("Credential={ACCOUNT}/20260101/{REGION}/logs/aws4_request");
        let request = self
            .http
            .post(emulator())
            .header("content-type", "application/x-amz-json-1.1")
            .header("x-amz-target", "Logs_20140328.FilterLogEvents")
            .header(
                "authorization",
                format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0"),
            )
            .body(json!({"logGroupName": format!("/aws/lambda/recado-{function}")}).to_string());
        let text = request.send().await.unwrap().text().await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        let events = answer["events"]
            .as_array()
            .unwrap_or_else(|| panic!("no log of {function}: {text}"));
        let text = |event: &Value| event["message"].as_str().map(str::to_owned);
        events.iter().filter_map(text).collect()
    }
}
