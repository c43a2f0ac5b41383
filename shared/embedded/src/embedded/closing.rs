//! The end of a store: what was begun is finished, and the folder is released.

use super::memory_databases::take_back_database;
use super::{DatabaseAccess, Embedded, EmbeddedInner};
use std::sync::PoisonError;
use tokio::sync::oneshot;

impl Drop for EmbeddedInner {
    fn drop(&mut self) {
        if let DatabaseAccess::Inline(connection) = &mut self.access {
            take_back_database(connection.get_mut().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Embedded {
    /// Finishes the operations that were begun, and releases the folder. Every later operation is refused as
    /// unavailable. (In memory there is nothing to finish.)
    pub async fn shut_down(&self) {
        let DatabaseAccess::Threads {
            lookups,
            readers,
            intake,
            writer,
        } = &self.inner.access
        else {
            return;
        };
        lookups.close_connections();
        let mut threads = intake.stop_accepting();
        threads.extend(readers.stop_accepting());
        threads.extend(writer.stop_accepting());
        let (ended, all_ended) = oneshot::channel();
        let wait = move || {
            for thread in threads {
                // The thread has ended; the way in which it ended does not matter.
                let _ = thread.join();
            }
            let _ = ended.send(());
        };
        if let Err(error) = std::thread::Builder::new()
            .name("recado-close".to_owned())
            .spawn(wait)
        {
            tracing::error!(%error, "could not wait for the store's threads");
        }
        // An error means that the waiting thread is gone; nothing is left to wait for.
        let _ = all_ended.await;
    }
}
