//! The records with a time of their own for which little is to do: each gets its job, or is handed on.

use crate::hooks::feature_timer::{DueRecord, DueRecords, FeatureTimer, box_records};
use crate::steps::due_message::release_due_message;
use crate::steps::email_outbox::wake_overdue_email;
use crate::steps::file_job::handle_due_file;
use crate::steps::save_conversation::save_conversation;
use crate::steps::wake_up;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{InstanceId, InvitationId, MessageId, TenantId};
use recado_domain::scheduled::ScheduledId;
use recado_ports::Deps;
use recado_ports::ports::{OverdueWork, PortResult, WriteOutcome};
use recado_ports::random_id::generate_correlation_id;
use recado_ports::records::invitations::list_due_emails;
use recado_ports::records::scheduled_messages::{find_scheduled, list_due_scheduled};

/// Each scheduled message becomes one message of its contact within a minute of its time.
pub(crate) struct DueMessages;

#[async_trait]
impl FeatureTimer for DueMessages {
    fn name_in_report(&self) -> &'static str {
        "scheduled"
    }

    async fn list_due_records(&self, deps: &Deps, now: Timestamp, limit: usize) -> PortResult<DueRecords> {
        Ok(box_records(list_due_scheduled(deps.store(), now, limit).await?))
    }
}

/// A scheduled message that is due.
#[async_trait]
impl DueRecord for (TenantId, ScheduledId) {
    async fn handle_due_record(&self, deps: &Deps, _until: Timestamp) -> PortResult<bool> {
        release_due_message(deps, &self.0, &self.1).await
    }

    async fn find_owing_instance(&self, deps: &Deps) -> PortResult<Option<InstanceId>> {
        let found = find_scheduled(deps.store(), &self.0, &self.1).await?;
        Ok(found.map(|found| found.record.instance))
    }
}

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

/// A file is fetched and read even if its job was lost. It is deleted when its period is over.
pub(crate) struct DueFiles;

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
            } => Some(Box::new(conversation.message_id(*ordinal))),
            _ => None,
        }
    }
}

/// A message whose file is due. It owes nobody anything.
#[async_trait]
impl DueRecord for MessageId {
    async fn handle_due_record(&self, deps: &Deps, _until: Timestamp) -> PortResult<bool> {
        handle_due_file(deps, self).await
    }
}

/// The agent comes back to a conversation of people at its time, even if the job was lost.
pub(crate) struct OverdueReturns;

#[async_trait]
impl FeatureTimer for OverdueReturns {
    fn name_in_report(&self) -> &'static str {
        "turns"
    }

    async fn handle_conversation(&self, deps: &Deps, conversation: &Conversation) -> PortResult<bool> {
        let now = deps.system().now();
        let overdue = conversation.return_due_at().is_some() && conversation.answer_overdue_at() <= Some(now);
        if !overdue {
            return Ok(false);
        }
        let mut conversation = conversation.clone();
        conversation.record_nudge(false, now);
        if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
            return Ok(false);
        }
        tracing::warn!(conversation_id = %conversation.id, "the agent did not come back in time: asked for again");
        wake_up::enqueue_return_timer(deps, &conversation, &generate_correlation_id(deps.system())).await?;
        Ok(true)
    }
}
