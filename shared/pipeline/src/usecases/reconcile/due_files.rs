//! Enqueues the jobs of files that are to be fetched or read, and deletes files that are kept no longer.

use crate::hooks::feature_timer::{DueRecord, FeatureTimer};
use crate::steps::file_job::handle_due_file;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::MessageId;
use recado_ports::Deps;
use recado_ports::ports::{OverdueWork, PortResult};

/// A file is fetched and read even if its job was lost. It is deleted when its period is over.
pub(crate) struct DueFiles;

#[async_trait]
impl FeatureTimer for DueFiles {
    fn name_in_report(&self) -> &'static str {
        "files"
    }

    fn claim_indexed_record(&self, work: &OverdueWork) -> Option<Box<dyn DueRecord>> {
        let OverdueWork::File {
            conversation,
            ordinal,
        } = work
        else {
            return None;
        };
        let message = conversation.message_id(*ordinal);
        Some(Box::new(DueFile { message }))
    }
}

/// A message whose file is due. It owes nobody anything.
struct DueFile {
    message: MessageId,
}

#[async_trait]
impl DueRecord for DueFile {
    async fn handle_due_record(&self, deps: &Deps, _until: Timestamp) -> PortResult<bool> {
        handle_due_file(deps, &self.message).await
    }
}
