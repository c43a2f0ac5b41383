//! Enqueues the jobs of e-mails that are overdue.

use crate::hooks::feature_timer::{DueRecord, DueRecords, FeatureTimer, box_records};
use crate::steps::email_outbox::wake_overdue_email;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::{InvitationId, TenantId};
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::invitations::list_due_emails;

/// The e-mail of an invitation gets another job where its job was lost, or where its time came.
pub(crate) struct OverdueEmails;

#[async_trait]
impl FeatureTimer for OverdueEmails {
    fn name_in_report(&self) -> &'static str {
        "send_jobs"
    }

    async fn list_due_records(&self, deps: &Deps, now: Timestamp, limit: usize) -> PortResult<DueRecords> {
        Ok(box_records(list_due_emails(deps.store(), now, limit).await?))
    }
}

/// An invitation whose e-mail is to be sent. It needs no instance.
#[async_trait]
impl DueRecord for (TenantId, InvitationId) {
    async fn handle_due_record(&self, deps: &Deps, _until: Timestamp) -> PortResult<bool> {
        wake_overdue_email(deps, &self.0, &self.1).await
    }
}
