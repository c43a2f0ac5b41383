//! Deletes the stored files of messages.

use crate::Deps;
use futures::future::try_join_all;
use recado_domain::message::Message;
use recado_ports::ports::PortResult;

/// Deletes the stored bytes of the files of `messages`, if there are any, also those that their webhooks held.
pub async fn delete_files_of(deps: &Deps, messages: &[Message]) -> PortResult<()> {
    let keys = messages.iter().filter_map(Message::file_key);
    let deletions: Vec<_> = keys
        .map(|key| async move { deps.queues().delete_file(&key).await })
        .collect();
    let of_webhooks = messages.iter().filter_map(Message::webhook_file_key);
    let others: Vec<_> = of_webhooks
        .map(|key| async move { deps.queues().delete_payload(&key).await })
        .collect();
    try_join_all(deletions).await?;
    try_join_all(others).await.map(|_| ())
}
