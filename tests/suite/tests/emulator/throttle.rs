//! Functions that AWS does not let run for a while.
//!
//! The emulator knows reserved concurrency: at 0 the HTTP API answers 429, and a batch for a queue's function is not handled
//! and stays hidden until its visibility time is over. It throttles neither DynamoDB nor SQS.

use crate::account::{REGION, emulator};
use crate::bench::Bench;
use crate::stack::{ACCOUNT, BALANCED};
use recado_testkit::chance::seed;
use recado_testkit::soak::load::Load;
use reqwest::Method;
use serde_json::json;
use std::time::Duration;

/// A batch that was not handled comes again after the queue's visibility time: 30 s, and 60 s for the sender's. A machine that
/// builds beside needs several such rounds; one that does nothing else two minutes.
const COMES_AGAIN_WITHIN: Duration = Duration::from_secs(480);

/// How long writing takes, and how long a function is stopped meanwhile.
const OVER: Duration = Duration::from_secs(12);
const STOPPED: Duration = Duration::from_secs(3);

impl Bench {
    /// Lets a function run not at all, or again as it could before.
    async fn stop(&self, function: &str, stopped: bool) {
        // One operation of a service whose SDK nothing else here needs. The emulator reads only the account from the
        // signature.
        let credential = format!("Credential={ACCOUNT}/20260101/{REGION}/lambda/aws4_request");
        let method = if stopped { Method::PUT } else { Method::DELETE };
        let address = format!(
            "{}/2017-10-31/functions/recado-{function}/concurrency",
            emulator()
        );
        let request = self.http.request(method, address).header(
            "authorization",
            format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0"),
        );
        let request = if stopped {
            request.json(&json!({"ReservedConcurrentExecutions": 0}))
        } else {
            request
        };
        let status = request.send().await.unwrap().status();
        assert!(status.is_success(), "{function}: {status}");
    }
}

#[tokio::test]
async fn functions_that_are_throttled_for_a_while_lose_and_double_nothing() {
    let bench = Bench::alone().await;
    let load = Load::new(seed(), &[BALANCED], 5_521_910_000_000, 6, 30, OVER);
    let client = bench.client();
    let throttled = async {
        for function in ["webhook", "processor", "sender"] {
            tokio::time::sleep(STOPPED / 3).await;
            bench.stop(function, true).await;
            tokio::time::sleep(STOPPED).await;
            bench.stop(function, false).await;
        }
    };
    tokio::join!(load.run(&client), throttled);
    let balance = bench.balance(&load, COMES_AGAIN_WITHIN).await;
    assert!(balance.holds(), "{balance}");
    assert_eq!(
        (balance.received, balance.answered, balance.duplicates),
        (30, 30, 0),
        "{balance}"
    );
}
