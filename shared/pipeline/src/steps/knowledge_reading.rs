//! Reads the snapshot of an agent's knowledge, and has its index built in memory.

use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::SnapshotName;
use recado_ports::Deps;
use recado_ports::ports::{LibraryError, PortError, PortResult};
use recado_ports::records::knowledge::find_knowledge;

/// The reason for which a snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadingError {
    /// A store failed, or the file is missing.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The snapshot is damaged.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

/// The snapshot that is in memory now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SnapshotReading {
    /// This one.
    Ready(SnapshotName),
    /// The agent has no knowledge any more.
    Removed,
}

/// Has the index of a snapshot in memory. If its file is gone because it was replaced, that of the present snapshot.
pub(crate) async fn ensure_snapshot_loaded(
    deps: &Deps,
    tenant: &TenantId,
    agent: &AgentId,
    name: &SnapshotName,
) -> Result<SnapshotReading, ReadingError> {
    if deps.llm().has_snapshot(name) {
        return Ok(SnapshotReading::Ready(name.clone()));
    }
    let Some((name, bytes)) = read_snapshot(deps, tenant, agent, Some(name)).await? else {
        return Ok(SnapshotReading::Removed);
    };
    deps.llm().load_snapshot(&name, bytes).await?;
    Ok(SnapshotReading::Ready(name))
}

/// Reads the file of a snapshot. If it is gone because it was replaced, the present one's. `None`: the agent has none.
pub(crate) async fn read_snapshot(
    deps: &Deps,
    tenant: &TenantId,
    agent: &AgentId,
    name: Option<&SnapshotName>,
) -> PortResult<Option<(SnapshotName, Vec<u8>)>> {
    let Some(name) = name else { return Ok(None) };
    if let Some(bytes) = read_file(deps, name).await? {
        return Ok(Some((name.clone(), bytes)));
    }
    let known = find_knowledge(deps.store(), tenant, agent).await?;
    let Some(present) = known.and_then(|known| known.record.snapshot) else {
        return Ok(None);
    };
    match read_file(deps, &present).await? {
        Some(bytes) => Ok(Some((present, bytes))),
        // The file may have been replaced once more; if not, the file is lost.
        None => Err(PortError::unavailable(
            "knowledge",
            "the snapshot's file is not there",
        )),
    }
}

async fn read_file(deps: &Deps, name: &SnapshotName) -> PortResult<Option<Vec<u8>>> {
    match deps.queues().open_file(&name.file_key()).await? {
        Some(bytes) => {
            let read = bytes.read_all().await;
            read.map(Some)
                .map_err(|error| PortError::unavailable("knowledge", error))
        }
        None => Ok(None),
    }
}
