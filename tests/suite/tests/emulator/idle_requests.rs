//! What a run of `reconcile` asks of AWS where nothing happens, counted from its log: in a stack of its own, with one instance of
//! Evolution and no messages. The counts are those of `infra/counts.json`, which `infra/price.py` prices for an idle month.

use crate::bench::{Bench, eventually_within};
use crate::counts::{read_counts, read_number};
use crate::request_lines::{count_log_bytes, read_request};
use crate::stack::{instance, run_deploy, secret};
use recado_testkit::emf::read_line;
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

/// The stack in which nothing happens. Its other resources are named after it, too.
pub(crate) const IDLE_STACK: &str = "recado-idle";

/// The function, as the tests name it: behind `recado-`.
const RECONCILE: &str = "idle-reconcile";

/// Time within which there is an ordinary run: the first of a process takes more, and so do those of some minutes in five.
const ORDINARY_WITHIN: Duration = Duration::from_secs(420);

/// The requests of a run, by what they are billed as.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct RunRequests {
    queries: usize,
    reads_by_key: usize,
    writes: usize,
    /// Requests to SQS.
    of_queues: usize,
    others: usize,
}

impl RunRequests {
    /// Reads the counts of a run with one instance.
    fn read_priced(run: &Value) -> Self {
        let number = |name: &str| read_number(&run[name]);
        Self {
            queries: number("queries_of_indexes") + number("queries_of_the_table"),
            reads_by_key: number("reads_by_key") + number("reads_by_key_of_an_instance"),
            writes: number("writes"),
            of_queues: number("queue_requests"),
            others: 0,
        }
    }
}

/// A run of `reconcile`, as its log tells it.
#[derive(Debug, Default)]
struct IdleRun {
    requests: RunRequests,
    write_units: f64,
    log_bytes: usize,
}

impl IdleRun {
    fn read_lines(lines: &[Value]) -> Self {
        let mut run = Self {
            log_bytes: count_log_bytes(lines),
            ..Self::default()
        };
        for request in lines.iter().filter_map(read_request) {
            run.write_units += request.units;
            let counted = match request.name.as_str() {
                "DynamoDB Query" => &mut run.requests.queries,
                "DynamoDB GetItem" | "DynamoDB BatchGetItem" => &mut run.requests.reads_by_key,
                name if name.starts_with("SQS ") => &mut run.requests.of_queues,
                _ if request.units > 0.0 => &mut run.requests.writes,
                _ => &mut run.requests.others,
            };
            *counted += 1;
        }
        run
    }
}

/// The id of the run that wrote a line.
fn find_run_id(line: &Value) -> Option<&str> {
    let mut spans = line["spans"].as_array()?.iter();
    spans.find_map(|span| span["requestId"].as_str())
}

impl Bench {
    /// Deploys the idle stack and configures its instance.
    async fn deploy_idle_stack(&self) {
        let outputs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("idle-stack.json");
        let options = ["--stack", IDLE_STACK, "--outputs", outputs.to_str().unwrap()];
        let parameters = [
            format!("EvolutionApiUrl={}", self.stack.stand_ins.evolution.url()),
            "Simulation=off".to_owned(),
            "RECADO_LOG_AWS_REQUESTS=true".to_owned(),
        ];
        let outputs = run_deploy(&options, &parameters);
        let token = secret(&self.aws, &outputs, "OperatorTokenSecret").await;
        let document = json!({
            "tenants": [{"id": "clinic", "time_zone": "UTC"}],
            "agents": [{
                "id": "ana", "tenant": "clinic", "model": "claude-sonnet-4-5",
                "system_prompt": "You are the receptionist of a clinic.",
            }],
            "instances": [instance("calada-01", &json!({}))],
        });
        let url = format!("{}/v1/config", outputs["LocalApiUrl"].as_str().unwrap());
        let request = self.http.put(url).bearer_auth(token).json(&document);
        let response = request.send().await.unwrap();
        let (status, body) = (response.status(), response.text().await.unwrap());
        assert_eq!(status, StatusCode::OK, "{body}");
    }

    /// The runs of `reconcile` in the idle stack that have ended, the oldest first.
    async fn list_idle_runs(&self) -> Vec<IdleRun> {
        let texts = self.log_texts(RECONCILE).await.into_iter();
        let lines: Vec<Value> = texts
            .filter_map(|text| serde_json::from_str(&text).ok())
            .collect();
        let mut runs: Vec<(&str, Vec<Value>)> = Vec::new();
        for line in &lines {
            let Some(id) = find_run_id(line) else { continue };
            match runs.iter_mut().find(|(known, _)| *known == id) {
                Some((_, of_run)) => of_run.push(line.clone()),
                None => runs.push((id, vec![line.clone()])),
            }
        }
        let has_ended = |lines: &[Value]| {
            let mut messages = lines.iter().map(|line| &line["fields"]["message"]);
            messages.any(|message| message == "reconciled")
        };
        let ended = runs.iter().filter(|(_, lines)| has_ended(lines));
        ended.map(|(_, lines)| IdleRun::read_lines(lines)).collect()
    }

    /// The number of metrics that a run of the idle stack writes.
    async fn count_idle_metrics(&self) -> usize {
        let texts = self.log_texts(RECONCILE).await.into_iter();
        let mut lines = texts.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
        let line = lines.rfind(|line| line.get("worst_instances").is_some());
        read_line(&line.unwrap()).unwrap().len()
    }
}

#[tokio::test]
async fn a_run_of_reconcile_where_nothing_happens_takes_the_requests_that_are_priced() {
    let (bench, counts) = (Bench::elsewhere().await, read_counts());
    let priced = &counts["idle"]["run"];
    bench.deploy_idle_stack().await;
    let (requests, shown) = (RunRequests::read_priced(priced), Cell::new(0));
    let what = format!("a run that takes {requests:?}");
    let run = eventually_within(ORDINARY_WITHIN, &what, || async {
        let runs = bench.list_idle_runs().await;
        for run in runs.iter().skip(shown.replace(runs.len())) {
            println!("{run:?}");
        }
        runs.into_iter().find(|run| run.requests == requests)
    })
    .await;
    let units = priced["writes"].as_f64().unwrap();
    assert!(
        (run.write_units - units).abs() < f64::EPSILON,
        "each write is of less than 1 KB: {run:?}"
    );
    // Numbers in the lines have more digits or fewer.
    assert!(run.log_bytes <= read_number(&priced["log_bytes"]), "{run:?}");
    assert_eq!(
        bench.count_idle_metrics().await,
        read_number(&counts["idle"]["metrics"])
    );
}
