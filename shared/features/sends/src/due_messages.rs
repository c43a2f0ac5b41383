//! Scheduled messages that are due.

use crate::due_message::release_due_message;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::scheduled::ScheduledId;
use recado_pipeline::Deps;
use recado_pipeline::hooks::feature_timer::{DueRecord, DueRecords, FeatureTimer, box_records};
use recado_ports::ports::PortResult;
use recado_ports::records::scheduled_messages::{find_scheduled, list_due_scheduled};

/// Each scheduled message becomes one message of its contact within a minute of its time.
#[derive(Debug)]
pub struct DueMessages;

#[async_trait]
impl FeatureTimer for DueMessages {
    fn name_in_report(&self) -> &'static str {
        "scheduled"
    }

    async fn list_due_records(&self, deps: &Deps, now: Timestamp, limit: usize) -> PortResult<DueRecords> {
        let due = list_due_scheduled(deps.store(), now, limit).await?.into_iter();
        Ok(box_records(due.map(|(tenant, id)| DueMessage(tenant, id))))
    }
}

/// A scheduled message that is due.
#[derive(Debug)]
struct DueMessage(TenantId, ScheduledId);

#[async_trait]
impl DueRecord for DueMessage {
    async fn handle_due_record(&self, deps: &Deps, _until: Timestamp) -> PortResult<bool> {
        release_due_message(deps, &self.0, &self.1).await
    }

    async fn find_owing_instance(&self, deps: &Deps) -> PortResult<Option<InstanceId>> {
        let found = find_scheduled(deps.store(), &self.0, &self.1).await?;
        Ok(found.map(|found| found.record.instance))
    }
}
