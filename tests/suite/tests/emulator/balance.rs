//! The audit of the deployed functions: whatever their provider does, all that was acknowledged is answered once, or it is
//! said why not, and nothing is sent twice unmarked.

use crate::bench::{Bench, eventually_within};
use crate::stack::BALANCED;
use recado_testkit::audit::{Audit, Balance};
use recado_testkit::chance::seed;
use recado_testkit::servers::{Behaviour, ConnectionState};
use recado_testkit::soak::console::Console;
use recado_testkit::soak::load::{Load, WebhookClient};
use recado_testkit::soak::provider_faults::say_open;
use recado_testkit::webhooks::evolution_connection;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// A send of unknown outcome is repeated after five minutes without evidence; the rest is done long before.
const REPEATED_WITHIN: Duration = Duration::from_secs(480);

/// Longer than the sender waits for a provider (20 s).
const TOO_LONG: Duration = Duration::from_secs(22);

/// How long writing takes.
const OVER: Duration = Duration::from_secs(20);

impl Bench {
    pub(crate) fn client(&self) -> WebhookClient {
        WebhookClient::new(
            self.http.clone(),
            &self.stack.url(""),
            (self.stack.master(), &self.stack.token),
        )
    }

    /// Waits until nothing that came of `load` is open, and compares.
    pub(crate) async fn balance(&self, load: &Load, limit: Duration) -> Balance {
        let console = Console::new(self.http.clone(), &self.stack.url(""), &self.stack.token);
        let asked = load.asked();
        let numbers: BTreeSet<String> = asked.iter().map(|asked| asked.number.clone()).collect();
        let client = self.client();
        let records = eventually_within(limit, "all open work to be done", || async {
            let health = console
                .look(&format!("/health/whatsapp?instance={BALANCED}"))
                .await?;
            if health["instances"][0]["connection"] != "open" {
                // It was closed because its provider hung; the provider says that it is there.
                say_open(BALANCED, &client).await;
                return None;
            }
            let records = console.records(|number| numbers.contains(number)).await;
            let stored = records.iter().filter(|record| record.inbound).count();
            let last_is_reply = numbers.iter().all(|number| {
                let of_contact = records.iter().filter(|record| record.number == *number);
                let last = of_contact.max_by_key(|record| record.ordinal);
                last.is_some_and(|last| !last.inbound)
            });
            let open = records.iter().any(|record| record.status == "pending");
            (stored >= asked.len() && last_is_reply && !open).then_some(records)
        })
        .await;
        let delivered = self.stack.balanced.phone().into_iter();
        let balance = Audit {
            records,
            dead_letters: console.dead_letters().await,
            delivered: delivered
                .filter(|message| numbers.contains(&message.to))
                .collect(),
            error_message: String::new(),
            asked,
        }
        .balance();
        println!("{balance}");
        balance
    }
}

#[tokio::test]
async fn with_a_provider_that_fails_in_every_way_the_audit_passes() {
    let bench = Bench::new().await;
    let provider = &bench.stack.balanced;
    let failed = |code: u16, message: serde_json::Value| {
        Behaviour::status(
            code,
            json!({"status": code, "error": "x", "response": {"message": message}}),
        )
    };
    let absent = json!([{"exists": false, "jid": "x", "number": "x"}]);
    let busy = json!({"status": 429, "error": "Too Many Requests"});
    provider.next_all([
        Behaviour::Normal,
        failed(500, json!("Internal server error")),
        Behaviour::status_with(429, busy.clone(), "retry-after", "2"),
        failed(503, json!("busy")),
        Behaviour::AcceptThenDrop,
        failed(400, absent),
        // Timed out, and accepted all the same.
        Behaviour::Hang(TOO_LONG),
        Behaviour::status_with(429, busy, "retry-after", "1"),
        Behaviour::Drop,
        Behaviour::Normal,
        // Timed out, and never accepted. With the other one that closes the instance.
        Behaviour::Swallow(TOO_LONG),
    ]);
    let load = Load::new(seed(), &[BALANCED], 5_521_900_000_000, 12, 60, OVER);
    let client = bench.client();
    let disconnected = async {
        tokio::time::sleep(OVER / 2).await;
        provider.set_connection_of(BALANCED, ConnectionState::Close);
        let closed = evolution_connection(BALANCED, "close", "2026-01-05T12:00:00.000Z");
        while !client.post_once(&closed).await {}
        tokio::time::sleep(OVER / 4).await;
        provider.set_connection_of(BALANCED, ConnectionState::Open);
        let open = evolution_connection(BALANCED, "open", "2026-01-05T12:00:05.000Z");
        while !client.post_once(&open).await {}
    };
    tokio::join!(load.run(&client), disconnected);
    let balance = bench.balance(&load, REPEATED_WITHIN).await;
    assert!(balance.holds(), "{balance}");
    assert_eq!(balance.received, 60, "{balance}");
    assert!(balance.repeated > 0, "what never left was repeated: {balance}");
    assert_eq!(provider.violations(), []);
}
