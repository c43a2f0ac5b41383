//! Files that are to be fetched and read, or whose period is over.

use crate::file_job::handle_due_file;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::MessageId;
use recado_pipeline::Deps;
use recado_pipeline::hooks::feature_timer::{DueRecord, FeatureTimer};
use recado_ports::ports::{OverdueWork, PortResult};

/// A file is fetched and read even if its job was lost. It is deleted when its period is over.
#[derive(Debug)]
pub struct DueFiles;

#[async_trait]
impl FeatureTimer for DueFiles {
    fn name_in_report(&self) -> &'static str {
        "files"
    }

    fn claim_indexed_record(&self, work: &OverdueWork) -> Option<Box<dyn DueRecord>> {
        match work {
            OverdueWork::File {
                conversation,
                ordinal,
            } => Some(Box::new(DueFile(conversation.message_id(*ordinal)))),
            _ => None,
        }
    }
}

/// A message whose file is due. It owes nobody anything.
#[derive(Debug)]
struct DueFile(MessageId);

#[async_trait]
impl DueRecord for DueFile {
    async fn handle_due_record(&self, deps: &Deps, _until: Timestamp) -> PortResult<bool> {
        handle_due_file(deps, &self.0).await
    }
}
