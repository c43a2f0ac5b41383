use crate::db_error::DbError;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::InboundJob;
use recado_domain::ids::{ConversationId, ExternalId, InstanceId, TenantId};
use recado_domain::provider::Provider;
use recado_domain::wake_up::{EmailJob, TurnJob};
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;

/// The tenant of a message for fair queueing: its instance (`inbound`, `outbound`) or its tenant (`turns`). A message
/// that cannot be read, or whose conversation is unknown, gets the empty key, which is treated as a tenant of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantKey(String);

/// The fields of an `InboundJob` that determine its tenant key.
#[derive(Deserialize)]
struct InboundTenantFields {
    provider: Provider,
    external: ExternalId,
}

/// The fields of a `TurnJob` that determine its tenant key.
#[derive(Deserialize)]
struct TurnTenantFields {
    tenant: TenantId,
}

/// The fields of a `SendJob` that determine its tenant key.
#[derive(Deserialize)]
struct OutboundTenantFields {
    conversation: ConversationId,
}

impl TenantKey {
    /// Creates the key from its column.
    pub(super) fn from_column(owner: String) -> Self {
        Self(owner)
    }

    /// Returns the text of the key, as its column stores it.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the tenant key of an event.
    pub(super) fn for_event(job: &InboundJob) -> Self {
        Self::of_instance(job.provider, &job.external)
    }

    /// Returns the tenant key of a turn job.
    pub(super) fn for_turn(job: &TurnJob) -> Self {
        Self(job.tenant.as_str().to_owned())
    }

    /// Returns the tenant key of the job of an e-mail: those of a tenant share the workers among themselves.
    pub(super) fn for_email(job: &EmailJob) -> Self {
        Self(job.tenant.as_str().to_owned())
    }

    /// Returns the tenant key of a send job of a conversation of `instance`.
    pub(super) fn for_send(instance: &InstanceId) -> Self {
        Self(instance.as_str().to_owned())
    }

    fn of_instance(provider: Provider, external: &ExternalId) -> Self {
        Self(format!("{provider}/{external}"))
    }

    /// Determines the tenant key of the message `body` on `queue`.
    pub(super) fn for_message(
        connection: &Connection,
        queue: QueueName,
        body: &str,
    ) -> Result<Self, DbError> {
        let owner = match queue {
            QueueName::Inbound => serde_json::from_str::<InboundTenantFields>(body)
                .ok()
                .map(|event| Self::of_instance(event.provider, &event.external).0),
            QueueName::Turns => serde_json::from_str::<TurnTenantFields>(body)
                .ok()
                .map(|turn| turn.tenant.as_str().to_owned()),
            QueueName::Outbound => match serde_json::from_str::<OutboundTenantFields>(body) {
                Ok(send) => select_instance(connection, &send.conversation)?,
                Err(_) => serde_json::from_str::<EmailJob>(body)
                    .ok()
                    .map(|job| Self::for_email(&job).0),
            },
        };
        Ok(Self(owner.unwrap_or_default()))
    }
}

/// Looks up the instance of a send job. The job names only its conversation.
fn select_instance(
    connection: &Connection,
    conversation: &ConversationId,
) -> Result<Option<String>, DbError> {
    let sql = "SELECT instance FROM conversations WHERE id = ?1";
    Ok(connection
        .prepare_cached(sql)?
        .query_row([conversation.to_string()], |row| row.get(0))
        .optional()?)
}
