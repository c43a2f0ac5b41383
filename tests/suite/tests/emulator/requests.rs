//! What a message costs, counted from the functions' logs: requests to AWS, write units of DynamoDB, and bytes of log lines. The counts
//! are those of `infra/counts.json`, which `infra/price.py` prices; `docs/performance.md` says why each unit is needed.

use crate::bench::Bench;
use crate::contact::{Contact, correlation_id, message_id, seconds};
use crate::counts::{CountedRequest, list_requests, read_counts, read_number};
use crate::request_lines::{Request, count_log_bytes, read_request};
use crate::stack::{INSTANCE, PHONE_NUMBER_ID};
use recado_domain::provider::Provider;
use recado_testkit::servers::{Behaviour, anthropic_message};
use recado_testkit::webhooks::{evolution_status, evolution_text, meta_status, meta_text};
use serde_json::{Value, json};
use std::fmt::Write;

const FUNCTIONS: [&str; 4] = ["webhook", "processor", "deferred-reply", "sender"];

/// A cold function reads configuration and secrets too, and keeps them for at least half a minute. What a message costs
/// is what it costs when they are known: so several are sent, and the cheapest counts whose log is whole. On a busy machine a
/// function may be ended at its time limit; what it did then does not stand in its log.
const ROUNDS: usize = 4;

/// The statuses of a reply, as Evolution tells them: sent, delivered, read.
const STATUSES: [&str; 3] = ["SERVER_ACK", "DELIVERY_ACK", "READ"];

/// The requests of each function, in order.
type Costs = Vec<(&'static str, Vec<Request>)>;

/// A function with its requests as they are counted.
type CountedFunction = (&'static str, Vec<CountedRequest>);

/// What the functions logged of one webhook and of all that followed from it.
#[derive(Default)]
struct Trace {
    costs: Costs,
    log_bytes: usize,
}

impl Trace {
    fn requests(&self) -> impl Iterator<Item = &Request> {
        self.costs.iter().flat_map(|(_, requests)| requests)
    }

    fn total(&self) -> usize {
        self.requests().count()
    }

    fn units(&self) -> f64 {
        self.requests().map(|request| request.units).sum()
    }

    fn writes(&self) -> usize {
        self.requests().filter(|request| request.units > 0.0).count()
    }

    fn to_counted(&self) -> Vec<CountedFunction> {
        let count = |request: &Request| (request.name.clone(), request.units);
        let of_functions = self.costs.iter();
        of_functions
            .map(|(function, requests)| (*function, requests.iter().map(count).collect()))
            .collect()
    }
}

/// The requests of an answered message as `infra/counts.json` has them.
fn list_priced(counts: &Value) -> Vec<CountedFunction> {
    let requests = &counts["answered_message"]["requests"];
    let of_function = |function: &'static str| (function, list_requests(&requests[function]));
    FUNCTIONS.into_iter().map(of_function).collect()
}

fn count_writes(counted: &[CountedFunction]) -> usize {
    let requests = counted.iter().flat_map(|(_, requests)| requests);
    requests.filter(|(_, units)| *units > 0.0).count()
}

fn sum_units(counted: &[CountedFunction]) -> f64 {
    let requests = counted.iter().flat_map(|(_, requests)| requests);
    requests.map(|(_, units)| units).sum()
}

/// The names of the requests of each function.
fn list_names(counted: &[CountedFunction]) -> Vec<(&'static str, Vec<String>)> {
    let names = |requests: &[CountedRequest]| -> Vec<String> {
        let names = requests.iter().map(|(name, _)| name.clone());
        names.collect()
    };
    let of_functions = counted.iter();
    of_functions
        .map(|(function, requests)| (*function, names(requests)))
        .collect()
}

/// A correlation id as long as those that Recado gives.
fn long_correlation_id() -> String {
    format!("{:0<32}", correlation_id())
}

impl Bench {
    async fn trace(&self, correlation: &str) -> Trace {
        let mut trace = Trace::default();
        for function in FUNCTIONS {
            let lines = self.log(function, correlation).await;
            trace.log_bytes += count_log_bytes(&lines);
            let requests = lines.iter().filter_map(read_request);
            trace.costs.push((function, requests.collect()));
        }
        trace
    }

    /// One message of a contact and its reply: what they cost, and the reply's id at the provider.
    async fn round(&self, provider: Provider, contact: &Contact, answered: usize) -> (Trace, String) {
        let counts = read_counts();
        let message = &counts["answered_message"];
        let body_bytes = read_number(&message["body_bytes"]);
        let correlation = long_correlation_id();
        let stand_ins = &self.stack.stand_ins;
        let (is_meta, id) = (provider == Provider::Meta, message_id());
        let text_of = |text: &str| {
            if is_meta {
                meta_text(PHONE_NUMBER_ID, &contact.number, &id, text, seconds())
            } else {
                evolution_text(INSTANCE, &contact.jid, &id, text, seconds())
            }
        };
        let room = body_bytes.saturating_sub(text_of("").to_string().len());
        let body = text_of(&"a".repeat(room.max(1)));
        let reply = "b".repeat(read_number(&message["reply_letters"]));
        let answer = anthropic_message("claude-sonnet-4-5", &reply);
        stand_ins.anthropic.next(Behaviour::status(200, answer));
        let phones = if is_meta {
            self.meta_with(&body, &correlation).await;
            &stand_ins.meta
        } else {
            self.evolution_with(&body, &correlation).await;
            &stand_ins.evolution
        };
        let phone = self.phone(phones, contact, answered).await;
        // A queue's message is gone when its function has ended; then its log is complete.
        self.quiet().await;
        (self.trace(&correlation).await, phone[answered - 1].id.clone())
    }

    /// Some messages of one contact: what the cheapest cost whose log is whole, and the id of the last reply.
    async fn rounds(&self, provider: Provider) -> (Trace, String) {
        let (contact, writes) = (Contact::new(), count_writes(&list_priced(&read_counts())));
        // The first message of a contact begins its conversation, which costs other units than to go on with one.
        let (mut cheapest, mut reply) = self.round(provider, &contact, 1).await;
        for answered in 2..=ROUNDS {
            let (trace, id) = self.round(provider, &contact, answered).await;
            let price = |trace: &Trace| (trace.writes() < writes, trace.total());
            if answered == 2 || price(&trace) < price(&cheapest) {
                cheapest = trace;
            }
            reply = id;
        }
        (cheapest, reply)
    }

    /// What a status of a reply costs.
    async fn tell_status(&self, reply: &str, status: &str) -> Trace {
        let correlation = long_correlation_id();
        self.evolution_with(&evolution_status(INSTANCE, reply, status), &correlation)
            .await;
        self.quiet().await;
        self.trace(&correlation).await
    }
}

fn write_table(message: &Trace, statuses: &[Trace]) -> String {
    let mut text = "\nrequests to AWS made by the functions\n".to_owned();
    let row = |text: &mut String, name: &str, requests: &[Request]| {
        writeln!(text, "  {name}: {}", requests.len()).unwrap();
        for request in requests {
            let (units, of_indexes) = (request.units, &request.of_indexes);
            writeln!(text, "    {:<28} {units:>3}  {of_indexes}", request.name).unwrap();
        }
    };
    text.push_str("a message and its reply:\n");
    for (function, requests) in &message.costs {
        row(&mut text, function, requests);
    }
    writeln!(
        text,
        "  in all: {} requests, {} write units, {} bytes of log lines",
        message.total(),
        message.units(),
        message.log_bytes
    )
    .unwrap();
    for status in statuses {
        writeln!(text, "a status, {} bytes of log lines:", status.log_bytes).unwrap();
        for (function, requests) in status.costs.iter().filter(|(_, requests)| !requests.is_empty()) {
            row(&mut text, function, requests);
        }
    }
    text
}

#[tokio::test]
async fn an_answered_message_and_its_statuses_cost_the_requests_write_units_and_log_bytes_that_are_priced() {
    let (bench, counts) = (Bench::alone().await, read_counts());
    bench.quiet().await;
    let (cheapest, reply) = bench.rounds(Provider::Evolution).await;
    let mut statuses = Vec::new();
    for status in STATUSES {
        statuses.push(bench.tell_status(&reply, status).await);
    }
    let table = write_table(&cheapest, &statuses);
    println!("{table}");
    // `sender` takes part in none: the turn sends its reply itself.
    assert_eq!(cheapest.to_counted(), list_priced(&counts), "{table}");
    // The first status also leaves the list of what was not acknowledged.
    let told: Vec<CountedRequest> = statuses
        .iter()
        .flat_map(Trace::to_counted)
        .flat_map(|(_, requests)| requests)
        .collect();
    assert_eq!(told, list_requests(&counts["status"]["requests"]), "{table}");
    // Numbers in the lines have more digits or fewer.
    let bytes_max = read_number(&counts["answered_message"]["log_bytes"]);
    assert!((1..=bytes_max).contains(&cheapest.log_bytes), "{table}");
    let bytes_max = read_number(&counts["status"]["log_bytes"]);
    assert!(
        statuses.iter().all(|status| status.log_bytes <= bytes_max),
        "{table}"
    );
}

/// The record by which its `wamid` is found takes the place of the list of what was not acknowledged.
#[tokio::test]
async fn an_answered_message_of_meta_costs_the_same_requests_and_the_write_units_more_that_are_counted() {
    let (bench, counts) = (Bench::alone().await, read_counts());
    bench.quiet().await;
    let (cheapest, _) = bench.rounds(Provider::Meta).await;
    let table = write_table(&cheapest, &[]);
    println!("{table}");
    let (counted, priced) = (cheapest.to_counted(), list_priced(&counts));
    assert_eq!(list_names(&counted), list_names(&priced), "{table}");
    let more = counts["answered_message"]["write_units_more_of_meta"].as_f64();
    let more_units = sum_units(&counted) - sum_units(&priced) - more.unwrap();
    assert!(more_units.abs() < f64::EPSILON, "{table}");
}

#[tokio::test]
async fn a_status_with_a_charge_costs_one_request_too() {
    let (bench, counts) = (Bench::alone().await, read_counts());
    let mut cheapest: Option<Trace> = None;
    // The first reads the configuration and the secret with which it is proven.
    for _ in 0..ROUNDS {
        let correlation = long_correlation_id();
        let mut body = meta_status(
            PHONE_NUMBER_ID,
            &format!("wamid.{}", message_id()),
            "delivered",
            None,
        );
        body["entry"][0]["changes"][0]["value"]["statuses"][0]["pricing"] =
            json!({"billable": true, "pricing_model": "PMP", "type": "regular", "category": "utility"});
        bench.meta_with(&body, &correlation).await;
        bench.quiet().await;
        let trace = bench.trace(&correlation).await;
        if cheapest
            .as_ref()
            .is_none_or(|known| trace.total() < known.total())
        {
            cheapest = Some(trace);
        }
    }
    let cheapest = [cheapest.unwrap()];
    let table = write_table(&Trace::default(), &cheapest);
    println!("{table}");
    let [cheapest] = cheapest;
    assert_eq!(cheapest.total(), 1, "{table}");
    // The record of the delivery and the sum of the day, each twice in a transaction.
    let units = counts["status"]["write_units_with_charge"].as_f64().unwrap();
    assert!((cheapest.units() - units).abs() < f64::EPSILON, "{table}");
}
