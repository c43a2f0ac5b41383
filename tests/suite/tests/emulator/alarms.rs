//! The alarms of the stack: each watches a metric that is emitted, of a thing that there is.

use crate::account::{REGION, emulator};
use crate::bench::{Bench, eventually};
use crate::contact::Contact;
use crate::idle_requests::IDLE_STACK;
use crate::stack::{ACCOUNT, KEYLESS};
use reqwest::Method;
use serde_json::{Value, json};

const MONITORING: &str = include_str!("../../../../infra/monitoring.yaml");

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

/// What AWS emits by itself, as its documentation lists it, with the one dimension of each. The emulator emits Lambda's only.
const EMITTED_BY_AWS: [(&str, &str, &str); 6] = [
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName"),
    ("AWS/Lambda", "Errors", "FunctionName"),
    ("AWS/Lambda", "Invocations", "FunctionName"),
    ("AWS/Lambda", "Throttles", ""),
    ("AWS/Lambda", "IteratorAge", "FunctionName"),
];

impl Bench {
    /// Asks a service whose SDK nothing else here needs, in its JSON protocol.
    async fn ask(&self, service: &str, target: &str, body: &Value) -> Value {
        let credential = format!("Credential={ACCOUNT}/20260101/{REGION}/{service}/aws4_request");
        let request = self
            .http
            .post(emulator())
            .header("content-type", "application/x-amz-json-1.1")
            .header("x-amz-target", target)
            .header(
                "authorization",
                format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0"),
            );
        let text = request
            .body(body.to_string())
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{target}: {text}"))
    }

    async fn monitoring(&self, operation: &str, body: &Value) -> Value {
        let target = format!("GraniteServiceVersion20100801.{operation}");
        self.ask("monitoring", &target, body).await
    }

    /// Whether what an alarm watches is there: the queue, the function, the API.
    async fn exists(&self, name: &str, value: &str) -> bool {
        match name {
            "QueueName" => {
                let request = self.aws.sqs.get_queue_url().queue_name(value);
                request.send().await.is_ok()
            }
            "FunctionName" => {
                let function = value.strip_prefix("recado-").unwrap_or(value);
                let found = self
                    .lambda(Method::GET, &format!("{function}/configuration"), &Value::Null)
                    .await;
                found["FunctionName"] == value
            }
            _ => false,
        }
    }

    /// The lines of all functions that a filter of this metric counts.
    async fn counted(&self, namespace: &str, metric: &str) -> Vec<Value> {
        let filters = self
            .ask(
                "logs",
                "Logs_20140328.DescribeMetricFilters",
                &json!({"limit": 50}),
            )
            .await;
        let mut counted = Vec::new();
        for filter in filters["metricFilters"].as_array().unwrap() {
            let to = &filter["metricTransformations"][0];
            if to["metricNamespace"] != namespace || to["metricName"] != metric {
                continue;
            }
            let group = filter["logGroupName"].as_str().unwrap();
            let function = group.strip_prefix("/aws/lambda/recado-").unwrap();
            assert!(FUNCTIONS.contains(&function), "{group}");
            let pattern = filter["filterPattern"].as_str().unwrap();
            let lines = self.log_texts(function).await;
            let lines = lines.iter().filter_map(|line| serde_json::from_str(line).ok());
            counted.extend(lines.filter(|line| matches(pattern, line)));
        }
        counted
    }
}

/// Whether a line is one of those that a pattern of CloudWatch Logs means, of the kinds that the stack uses:
/// `{ $.a = "x" }` and `{ ($.a.b = "x") || ($.c = "x") }`.
fn matches(pattern: &str, line: &Value) -> bool {
    let inner = pattern.trim().trim_start_matches('{').trim_end_matches('}');
    inner.split("||").any(|part| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        let (field, value) = part.split_once('=').unwrap();
        let pointer = field.trim().trim_start_matches('$').replace('.', "/");
        let value: Value = serde_json::from_str(value.trim()).unwrap();
        line.pointer(&pointer) == Some(&value)
    })
}

#[tokio::test]
async fn each_alarm_watches_a_metric_that_is_emitted_of_a_thing_that_there_is() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    // A key that the provider refuses, so that there is a line of each kind that is counted.
    bench.says(KEYLESS, &contact, "Oi").await;
    let alarms = bench
        .monitoring("DescribeAlarms", &json!({"MaxRecords": 100}))
        .await;
    let alarms = alarms["MetricAlarms"].as_array().unwrap().iter();
    let is_of_idle_stack = |alarm: &Value| alarm["AlarmName"].as_str().unwrap().starts_with(IDLE_STACK);
    let alarms: Vec<&Value> = alarms.filter(|alarm| !is_of_idle_stack(alarm)).collect();
    let of_social = 2;
    let written = MONITORING.matches("Type: AWS::CloudWatch::Alarm").count();
    assert_eq!(
        alarms.len(),
        written - of_social,
        "all that infra/monitoring.yaml has"
    );
    for alarm in alarms {
        let text = |name: &str| alarm[name].as_str().unwrap_or_default();
        let (name, namespace, metric) = (text("AlarmName"), text("Namespace"), text("MetricName"));
        let dimensions = alarm["Dimensions"].as_array().cloned().unwrap_or_default();
        for dimension in &dimensions {
            let (kind, value) = (
                dimension["Name"].as_str().unwrap(),
                dimension["Value"].as_str().unwrap(),
            );
            assert!(bench.exists(kind, value).await, "{name}: {kind} {value}");
        }
        if namespace == "Recado/recado" {
            assert!(dimensions.is_empty(), "{name}");
            if metric == "ServerErrors" {
                // No request of these tests is answered 5xx.
                continue;
            }
            eventually(&format!("a line that {name} counts"), || async {
                (!bench.counted(namespace, metric).await.is_empty()).then_some(())
            })
            .await;
            continue;
        }
        let dimension = dimensions.first().and_then(|first| first["Name"].as_str());
        let emitted = (namespace, metric, dimension.unwrap_or_default());
        assert!(EMITTED_BY_AWS.contains(&emitted), "{name}: {emitted:?}");
        if namespace == "AWS/Lambda" && metric != "IteratorAge" && !dimensions.is_empty() {
            // The emulator emits them of a function that is invoked directly only, and never the age of a stream's records. An
            // empty batch changes nothing.
            let function = dimensions[0]["Value"].as_str().unwrap().replace("recado-", "");
            let path = format!("{function}/invocations");
            bench.lambda(Method::POST, &path, &json!({"Records": []})).await;
            let asked = json!({"Namespace": namespace, "MetricName": metric, "Dimensions": dimensions});
            eventually(&format!("the metric of {name}"), || async {
                let listed = bench.monitoring("ListMetrics", &asked).await;
                let found = listed["Metrics"]
                    .as_array()
                    .is_some_and(|found| !found.is_empty());
                found.then_some(())
            })
            .await;
        }
    }
}
