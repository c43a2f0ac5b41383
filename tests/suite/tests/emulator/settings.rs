//! A setting of the stack that a function cannot read.

use crate::account::{REGION, emulator};
use crate::bench::Bench;
use crate::stack::ACCOUNT;
use reqwest::Method;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const FUNCTIONS: [&str; 8] = [
    "webhook",
    "processor",
    "deferred-reply",
    "sender",
    "api",
    "reconcile",
    "publisher",
    "poster",
];

/// Of these each function has one, and cannot do without it.
const QUEUES: [&str; 4] = [
    "RECADO_INBOUND_QUEUE_URL",
    "RECADO_TURNS_QUEUE_URL",
    "RECADO_OUTBOUND_QUEUE_URL",
    "RECADO_WEBHOOKS_QUEUE_URL",
];

type Variables = BTreeMap<String, String>;

impl Bench {
    /// Asks Lambda's API, a service whose SDK nothing else here needs. The emulator reads only the account from the signature.
    pub(crate) async fn lambda(&self, method: Method, path: &str, body: &Value) -> Value {
        let credential = format!("Credential={ACCOUNT}/20260101/{REGION}/lambda/aws4_request");
        let address = format!("{}/2015-03-31/functions/recado-{path}", emulator());
        let request = self.http.request(method, address).header(
            "authorization",
            format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0"),
        );
        let text = request.json(body).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }

    /// The variables that the stack gives to a function.
    async fn variables(&self, function: &str) -> Variables {
        let path = format!("{function}/configuration");
        let settings = self.lambda(Method::GET, &path, &Value::Null).await;
        serde_json::from_value(settings["Environment"]["Variables"].clone())
            .unwrap_or_else(|_| panic!("{function}: {settings}"))
    }
}

/// Starts a function with these variables, as Lambda does, and says what it wrote until it ended. It must end by itself.
fn started(function: &str, variables: &Variables) -> String {
    let binary =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../target/lambda/{function}/bootstrap"));
    let mut command = Command::new(binary);
    command.env_clear().envs(variables).env("AWS_REGION", REGION);
    let ended = command.output().unwrap();
    assert!(!ended.status.success(), "{function} started");
    [ended.stdout, ended.stderr]
        .map(|written| String::from_utf8_lossy(&written).into_owned())
        .concat()
}

#[tokio::test]
async fn a_function_that_cannot_read_a_setting_or_misses_one_says_which() {
    let bench = Bench::new().await;
    for function in FUNCTIONS {
        let right = bench.variables(function).await;
        let mut wrong = right.clone();
        wrong.insert("RECADO_TURN_ATTEMPTS".to_owned(), "many".to_owned());
        let written = started(function, &wrong);
        assert!(
            written.contains("RECADO_TURN_ATTEMPTS") && written.contains("must be a number"),
            "{function}: {written}"
        );
        let queue = QUEUES.iter().find(|queue| right.contains_key(**queue)).unwrap();
        let mut incomplete = right;
        incomplete.remove(*queue);
        let written = started(function, &incomplete);
        assert!(written.contains(queue), "{function}: {written}");
    }
}
