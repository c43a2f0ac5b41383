//! E-mails of invitations whose job was lost, or whose time came.

use crate::email_outbox::wake_overdue_email;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::{InvitationId, TenantId};
use recado_pipeline::Deps;
use recado_pipeline::hooks::feature_timer::{DueRecord, DueRecords, FeatureTimer, box_records};
use recado_ports::ports::PortResult;
use recado_ports::records::invitations::list_due_emails;

/// The e-mail of an invitation gets another job where its job was lost, or where its time came.
#[derive(Debug)]
pub struct OverdueEmails;

#[async_trait]
impl FeatureTimer for OverdueEmails {
    fn name_in_report(&self) -> &'static str {
        "send_jobs"
    }

    async fn list_due_records(&self, deps: &Deps, now: Timestamp, limit: usize) -> PortResult<DueRecords> {
        let due = list_due_emails(deps.store(), now, limit).await?.into_iter();
        Ok(box_records(due.map(|(tenant, id)| DueEmail(tenant, id))))
    }
}

/// An invitation whose e-mail is to be sent. It needs no instance.
#[derive(Debug)]
struct DueEmail(TenantId, InvitationId);

#[async_trait]
impl DueRecord for DueEmail {
    async fn handle_due_record(&self, deps: &Deps, _until: Timestamp) -> PortResult<bool> {
        wake_overdue_email(deps, &self.0, &self.1).await
    }
}
