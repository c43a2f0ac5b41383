//! The `webhook` function: records the events of a webhook, enqueues them, and only then acknowledges the webhook.

use crate::Deps;
use crate::ports::{DeadLetters, PortResult};
use crate::steps::give_up::{dead_letter_poison, unreadable_letter_id};
pub use crate::steps::webhook_items::{IngestReport, ingest};
use recado_domain::dead_letter::QueueName;

/// Makes a dead letter of a webhook that came by a queue and cannot be read. Over HTTP the sender would get an error;
/// here nobody would be told. `why` is the reason and must not contain text of the body.
pub async fn keep_unreadable_webhook(deps: &impl Deps, body: &str, why: String) -> PortResult<()> {
    let id = unreadable_letter_id(QueueName::Inbound, body);
    if deps.store().find_dead_letter(&id).await?.is_some() {
        return Ok(());
    }
    dead_letter_poison(deps, QueueName::Inbound, body, why).await
}
