//! Applies the configuration file at a start: what was edited in it, and nothing over what people changed otherwise.

use crate::surroundings::read_surroundings;
use crate::{ApplyOptions, ConfigurationChangeKind, ConfigureError, apply_configuration};
use recado_domain::access::Caller;
use recado_domain::config::{AppliedFile, ConfigDocument, ConfigNames, KeptEntry, name_entry};
use recado_pipeline::Deps;
use recado_ports::ports::PortResult;
use std::collections::BTreeSet;

/// The configuration after a start.
#[derive(Debug, Clone, PartialEq)]
pub struct StartedConfiguration {
    /// Entries of the file that were changed otherwise since it was applied. They are as they were.
    pub kept: Vec<KeptEntry>,
    /// Part of the configuration that the file touches, as it is stored now.
    pub document: ConfigDocument,
    /// The record of the file, for the next start.
    pub applied: AppliedFile,
}

/// Applies the entries of `file` that were edited since it was `applied` last. An entry that was changed otherwise since stays as it
/// is stored, and so does one that is stored already and never was applied from a file.
pub async fn apply_start_file(
    deps: &Deps,
    file: ConfigDocument,
    mut applied: AppliedFile,
) -> Result<StartedConfiguration, ConfigureError> {
    let caller = Caller::installation();
    let stored = read_stored(deps, &file).await?;
    let (edited, mut kept) = applied.split_document(&file, &stored);
    if edited != ConfigDocument::default() {
        let preview = ApplyOptions {
            dry_run: true,
            ..ApplyOptions::default()
        };
        let preview = apply_configuration(deps, &caller, edited.clone(), preview);
        let changes = Box::pin(preview).await?.changes.into_iter();
        let is_new = changes.filter(|change| change.what != ConfigurationChangeKind::Unchanged);
        let names = is_new.map(|change| name_entry(change.kind, &change.id));
        let conflicts = applied.list_changed_otherwise(names, &stored);
        let names: BTreeSet<String> = conflicts.iter().map(|kept| kept.name.clone()).collect();
        let chosen = edited.without_entries(&names);
        kept.extend(conflicts);
        if chosen != ConfigDocument::default() {
            let apply = apply_configuration(deps, &caller, chosen, ApplyOptions::default());
            Box::pin(apply).await?;
        }
    }
    let document = read_stored(deps, &file).await?;
    applied.note_applied(&file, &document, &kept, true);
    Ok(StartedConfiguration {
        kept,
        document,
        applied,
    })
}

/// Lists the entries of `file` that are not stored as a file made them when it was `applied` last.
pub async fn list_changed_otherwise(
    deps: &Deps,
    file: &ConfigDocument,
    applied: &AppliedFile,
) -> PortResult<Vec<KeptEntry>> {
    let stored = read_stored(deps, file).await?;
    Ok(applied.list_changed_otherwise(file.name_all_entries(), &stored))
}

/// Reads what is stored of the entries that a file names, and of their surroundings.
async fn read_stored(deps: &Deps, file: &ConfigDocument) -> PortResult<ConfigDocument> {
    let mut names = ConfigNames {
        alerts: true,
        prices: true,
        ..ConfigNames::default()
    };
    names.add_change(file);
    read_surroundings(deps, &names, None).await
}
