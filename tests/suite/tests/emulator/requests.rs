//! How many requests to AWS a message costs, counted from the functions' logs.

use crate::bench::Bench;
use crate::contact::{Contact, correlation_id, message_id, seconds};
use crate::stack::INSTANCE;
use recado_testkit::webhooks::{evolution_status, evolution_text};
use serde_json::Value;
use std::fmt::Write;

const FUNCTIONS: [&str; 4] = ["webhook", "processor", "deferred-reply", "sender"];

/// A cold function reads configuration and secrets too, and keeps them for at least half a minute. What a message costs
/// is what it costs when they are known: so several are sent, and the cheapest counts.
const ROUNDS: usize = 4;

/// The requests of each function, in order.
type Costs = Vec<(&'static str, Vec<String>)>;

fn total(costs: &Costs) -> usize {
    costs.iter().map(|(_, requests)| requests.len()).sum()
}

impl Bench {
    async fn costs(&self, correlation: &str) -> Costs {
        let mut costs = Costs::new();
        for function in FUNCTIONS {
            let lines = self.log(function, correlation).await;
            let requests = lines
                .iter()
                .filter(|line| line["target"] == "recado::aws")
                .map(request);
            costs.push((function, requests.collect()));
        }
        costs
    }

    /// One message and its reply: what they cost, and the reply's id at the provider.
    async fn round(&self) -> (Costs, String) {
        let (contact, correlation) = (Contact::new(), correlation_id());
        let body = evolution_text(INSTANCE, &contact.jid, &message_id(), "Oi", seconds());
        self.evolution_with(&body, &correlation).await;
        let phone = self.phone(&self.stack.stand_ins.evolution, &contact, 1).await;
        // A queue's message is gone when its function has ended; then its log is complete.
        self.quiet().await;
        (self.costs(&correlation).await, phone[0].id.clone())
    }
}

fn request(line: &Value) -> String {
    let field = |name: &str| line["fields"][name].as_str().unwrap_or_default().to_owned();
    format!("{} {}", field("service"), field("operation"))
}

fn table(message: &Costs, status: &Costs) -> String {
    let mut text = "\nrequests to AWS made by the functions\n".to_owned();
    let row = |text: &mut String, name: &str, requests: &[String]| {
        writeln!(
            text,
            "  {name:<16} {:>3}   {}",
            requests.len(),
            requests.join(", ")
        )
        .unwrap();
    };
    text.push_str("a message and its reply:\n");
    for (function, requests) in message {
        row(&mut text, function, requests);
    }
    writeln!(text, "  {:<16} {:>3}", "in all", total(message)).unwrap();
    text.push_str("a delivery status:\n");
    for (function, requests) in status.iter().filter(|(_, requests)| !requests.is_empty()) {
        row(&mut text, function, requests);
    }
    text
}

#[tokio::test]
async fn an_answered_message_costs_at_most_14_requests_and_a_delivery_status_one() {
    let bench = Bench::alone().await;
    bench.quiet().await;
    let (mut cheapest, mut reply) = bench.round().await;
    for _ in 1..ROUNDS {
        let (costs, id) = bench.round().await;
        if total(&costs) < total(&cheapest) {
            cheapest = costs;
        }
        reply = id;
    }
    let correlation = correlation_id();
    bench
        .evolution_with(&evolution_status(INSTANCE, &reply, "DELIVERY_ACK"), &correlation)
        .await;
    bench.quiet().await;
    let status = bench.costs(&correlation).await;
    let table = table(&cheapest, &status);
    println!("{table}");
    assert!(
        cheapest.iter().all(|(_, requests)| !requests.is_empty()),
        "each function took part: {table}"
    );
    assert_eq!(cheapest[0].1.len(), 2, "{table}");
    assert!(total(&cheapest) <= 14, "{table}");
    assert_eq!(total(&status), 1, "{table}");
}
