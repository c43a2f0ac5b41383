//! Looks for what jobs of the queue `turns` ask for that their queue gave up: another job may have done it meanwhile.

use recado_domain::invitations::{Batch, BatchState};
use recado_domain::wake_up::{BatchJob, TurnsJob};
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::batches::find_batch;

/// Returns `true` if a job's work is still to be done. A turn sees for itself whether anything is owed.
pub(super) async fn is_job_open(deps: &Deps, job: &TurnsJob) -> PortResult<bool> {
    Ok(match job {
        TurnsJob::Turn(_) => true,
        TurnsJob::AgentReturn(job) => {
            let conversation = deps.store().find_conversation(&job.conversation).await?;
            conversation.is_some_and(|conversation| conversation.return_due_at().is_some())
        }
        TurnsJob::File(job) => {
            let message = deps.store().find_message(&job.message_id()).await?;
            let file = message.and_then(|message| message.file);
            file.is_some_and(|file| file.next_fetch_time().or(file.next_reading_time()).is_some())
        }
        TurnsJob::Batch(job) => find_open_batch(deps, job).await?.is_some(),
    })
}

/// Finds the batch that a job goes on with. `None`: it does not run, is gone, or another job went on with it.
pub(super) async fn find_open_batch(deps: &Deps, job: &BatchJob) -> PortResult<Option<Batch>> {
    let found = find_batch(deps.store(), &job.tenant, &job.batch).await?;
    let found = found.map(|found| found.record);
    Ok(found.filter(|batch| batch.state == BatchState::Running && batch.expanded == job.from))
}
