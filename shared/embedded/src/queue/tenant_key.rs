use crate::db_error::DbResult;
use crate::sql_records::query_one_value;
use recado_domain::dead_letter::{QueueName, QueuedJob};
use recado_domain::event::InboundJob;
use recado_domain::ids::{ConversationId, InstanceId, TenantId};
use recado_domain::wake_up::OutboundJob;
use rusqlite::Connection;

/// The tenant of a message for fair queueing: its instance (events and send jobs) or its tenant (other jobs). A message
/// that cannot be read, or whose conversation is unknown, gets the empty key, which is treated as a tenant of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantKey(String);

impl TenantKey {
    /// Creates the key from its column.
    pub(crate) fn from_column(owner: String) -> Self {
        Self(owner)
    }

    /// Returns the text of the key, as its column stores it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the tenant key of an event.
    pub(crate) fn for_event(job: &InboundJob) -> Self {
        Self(format!("{}/{}", job.provider, job.external))
    }

    /// Returns the tenant key of a job of `turns` or of an e-mail: those of a tenant share the workers among themselves.
    pub(super) fn for_tenant(tenant: &TenantId) -> Self {
        Self(tenant.as_str().to_owned())
    }

    /// Returns the tenant key of a send job of a conversation of `instance`.
    pub(super) fn for_send(instance: &InstanceId) -> Self {
        Self(instance.as_str().to_owned())
    }

    /// Determines the tenant key of a job of `outbound`. A send job names only its conversation.
    pub(super) fn for_outbound(db: &Connection, job: &OutboundJob) -> DbResult<Self> {
        match job {
            OutboundJob::Send(job) => select_instance(db, &job.conversation),
            OutboundJob::Email(job) => Ok(Self::for_tenant(&job.tenant)),
        }
    }

    /// Determines the tenant key of the message `body`, which comes from the dead-letter queue of `queue`.
    pub(super) fn for_dead_message(db: &Connection, queue: QueueName, body: &str) -> DbResult<Self> {
        match QueuedJob::parse(queue, body) {
            Ok(QueuedJob::Inbound(job)) => Ok(Self::for_event(&job)),
            Ok(QueuedJob::Turns(message)) => Ok(Self::for_tenant(message.job.tenant())),
            Ok(QueuedJob::Outbound(job)) => Self::for_outbound(db, &job),
            Err(_) => Ok(Self::default()),
        }
    }
}

/// Looks up the instance of a conversation.
fn select_instance(db: &Connection, conversation: &ConversationId) -> DbResult<TenantKey> {
    let sql = "SELECT instance FROM conversations WHERE id = ?1";
    let found = query_one_value(db, sql, [conversation.to_string()])?;
    Ok(TenantKey(found.unwrap_or_default()))
}
