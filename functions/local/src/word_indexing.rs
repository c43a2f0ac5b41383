//! Indexes the words of new messages, so that conversations are found by them.

use recado_embedded::{Embedded, INDEX_BATCH};
use std::time::Duration;
use tokio::sync::watch;

/// Time between two looks for messages that are not indexed yet.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs until `stop` is `true`. Of many messages each batch is a transaction of its own, and webhooks come in between.
pub(crate) async fn run_word_indexing(store: Embedded, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        match store.index_message_words().await {
            Ok(count) if count == INDEX_BATCH => continue,
            Ok(_) => {}
            Err(error) => tracing::error!(%error, "the words of messages could not be indexed"),
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            _ = stop.changed() => {}
        }
    }
}
