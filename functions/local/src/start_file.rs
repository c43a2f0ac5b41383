//! The configuration file of a start, and what is kept of it for the next.

use anyhow::{Context, Result};
use recado_configuration::StartedConfiguration;
use recado_domain::config::{ConfigDocument, KeptEntry};
use recado_embedded::Embedded;
use recado_pipeline::Deps;
use recado_pipeline::records::applied_file::read_applied_file;
use recado_pipeline::table::put_record;

/// Applies what was edited in the file that the installation starts with, and logs what stayed as people changed it.
pub(crate) async fn apply_at_start(
    deps: &Deps,
    embedded: &Embedded,
    document: ConfigDocument,
    source: &str,
) -> Result<StartedConfiguration> {
    let before = read_applied_file(embedded).await?;
    let started = recado_configuration::apply_start_file(deps, document, before)
        .await
        .with_context(|| format!("the configuration ({source}) was not applied"))?;
    put_record(embedded, &started.applied).await?;
    for KeptEntry { name, is_removed } in &started.kept {
        tracing::warn!(entry = %name, is_removed, "not applied: it was changed otherwise since the file was applied");
    }
    Ok(started)
}
