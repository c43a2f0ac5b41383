//! The way to what the configuration file said: the program brings it where a start applies a file.

use futures::future::BoxFuture;
use recado_domain::config::{AppliedFile, ConfigDocument, KeptEntry, name_entry};
use recado_pipeline::configure::{ConfigurationChange, ConfigurationChangeKind};
use recado_pipeline::ports::PortResult;
use recado_pipeline::records::applied_file::{read_applied_file, save_applied_file};
use recado_pipeline::table::Table;
use std::fmt;
use std::sync::Arc;

/// The part of the program that keeps what the configuration file said when it was applied last.
#[derive(Clone)]
pub struct AppliedFileDesk {
    read: Arc<ReadFile>,
    save: Arc<SaveFile>,
}

type ReadFile = dyn Fn() -> BoxFuture<'static, PortResult<AppliedFile>> + Send + Sync;
type SaveFile = dyn Fn(AppliedFile) -> BoxFuture<'static, PortResult<()>> + Send + Sync;

impl AppliedFileDesk {
    /// Creates it of the store of the record.
    pub fn new(store: impl Table + Clone + 'static) -> Self {
        let reading = store.clone();
        let read = move || -> BoxFuture<'static, PortResult<AppliedFile>> {
            let store = reading.clone();
            Box::pin(async move { read_applied_file(&store).await })
        };
        let save = move |applied| -> BoxFuture<'static, PortResult<()>> {
            let store = store.clone();
            Box::pin(async move { save_applied_file(&store, &applied).await })
        };
        Self {
            read: Arc::new(read),
            save: Arc::new(save),
        }
    }

    /// Returns what the file said.
    pub(crate) async fn read_file(&self) -> PortResult<AppliedFile> {
        (self.read)().await
    }

    /// Notes that a file was applied, and what is `stored` of it since.
    pub(crate) async fn note_file(&self, file: &ConfigDocument, stored: &ConfigDocument) -> PortResult<()> {
        let mut applied = self.read_file().await?;
        applied.note_applied(file, stored, &[], false);
        (self.save)(applied).await
    }
}

/// Warns of changes that replace what was changed `otherwise` since the file was applied last.
pub(crate) fn warn_of_replaced(changes: &[ConfigurationChange], otherwise: &[KeptEntry]) -> Vec<String> {
    let is_written = |change: &&ConfigurationChange| {
        matches!(
            change.what,
            ConfigurationChangeKind::Created | ConfigurationChangeKind::Changed
        )
    };
    let names = changes.iter().filter(is_written);
    let names = names.map(|change| name_entry(change.kind, &change.id));
    let replaced = names.filter(|name| otherwise.iter().any(|entry| entry.name == *name));
    replaced
        .map(|name| {
            format!(
                "{name} was changed otherwise since the file was applied last; the file counts now, and the audit tells what \
                 was there"
            )
        })
        .collect()
}

impl fmt::Debug for AppliedFileDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppliedFileDesk")
    }
}
