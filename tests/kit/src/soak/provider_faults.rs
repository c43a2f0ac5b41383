//! What goes wrong at a provider, by chance.

use super::load::WebhookClient;
use crate::chance::SeededRng;
use crate::servers::{Behaviour, ConnectionState, Journal, RandomBehaviours};
use crate::webhooks::evolution_connection;
use recado_domain::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// The behaviours of a request to send, of 100, where the client waits for `patience` before it gives up, and looks for evidence
/// for some time more before it repeats.
pub fn random_faults(seed: u64, patience: Duration) -> RandomBehaviours {
    let refusal = |code: u16, message: Value| {
        Behaviour::status(
            code,
            json!({"status": code, "error": "x", "response": {"message": message}}),
        )
    };
    let busy = json!({"status": 429, "error": "Too Many Requests"});
    RandomBehaviours::new(
        seed,
        vec![
            (62, Behaviour::Normal),
            (6, Behaviour::Drop),
            (6, Behaviour::AcceptThenDrop),
            (5, refusal(500, json!("Internal server error"))),
            (6, Behaviour::status_with(429, busy, "retry-after", "1")),
            (3, refusal(400, json!(["Error: failed"]))),
            (
                3,
                refusal(400, json!([{"exists": false, "jid": "x", "number": "x"}])),
            ),
            // Slow, but in time; too late, and found; so late that it was repeated meanwhile.
            (3, Behaviour::Hang(patience / 2)),
            (2, Behaviour::Hang(patience + Duration::from_millis(300))),
            (2, Behaviour::Hang(patience * 6)),
            (2, Behaviour::Swallow(patience * 2)),
        ],
    )
}

/// Every few seconds one of the instances loses its connection, says so by webhook, and comes back. Never ends.
pub async fn drop_connections(seed: u64, instances: &[&str], provider: &Journal, client: &WebhookClient) {
    let mut rng = SeededRng::new(seed, "connection");
    loop {
        tokio::time::sleep(Duration::from_millis(1_500 + rng.below(3_000))).await;
        let chosen = usize::try_from(rng.below(instances.len() as u64)).unwrap_or(0);
        let instance = instances[chosen];
        provider.set_connection_of(instance, ConnectionState::Close);
        client.post(&state(instance, "close"), &mut rng).await;
        tokio::time::sleep(Duration::from_millis(500 + rng.below(2_000))).await;
        provider.set_connection_of(instance, ConnectionState::Open);
        client.post(&state(instance, "open"), &mut rng).await;
    }
}

/// All is well again, and every instance says that it is connected.
pub async fn clear_faults(instances: &[&str], provider: &Journal, client: &WebhookClient) {
    provider.at_random(None);
    provider.set_connection(ConnectionState::Open);
    for instance in instances {
        say_open(instance, client).await;
    }
}

/// An instance says that it is connected, as Evolution does whenever it connects anew.
pub async fn say_open(instance: &str, client: &WebhookClient) {
    client
        .post(&state(instance, "open"), &mut SeededRng::new(0, instance))
        .await;
}

fn state(instance: &str, state: &str) -> Value {
    evolution_connection(instance, state, &Timestamp::now().to_string())
}
