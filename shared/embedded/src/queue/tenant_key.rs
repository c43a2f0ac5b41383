use crate::db_error::DbError;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::{ConversationId, ExternalId, TenantId};
use recado_domain::provider::Provider;
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;

/// Whose a message is: of which instance (`inbound`, `outbound`) or of which tenant (`turns`). What cannot be read, or is
/// about a conversation that is not here, belongs to nobody, which is an owner like any other.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TenantKey(String);

/// What of an `InboundJob` says whose it is.
#[derive(Deserialize)]
struct InboundTenantFields {
    provider: Provider,
    external: ExternalId,
}

/// What of a `TurnJob` says whose it is.
#[derive(Deserialize)]
struct TurnTenantFields {
    tenant: TenantId,
}

/// What of a `SendJob` says whose it is.
#[derive(Deserialize)]
struct OutboundTenantFields {
    conversation: ConversationId,
}

impl TenantKey {
    /// The owner whose column this is.
    pub(super) fn from_column(owner: String) -> Self {
        Self(owner)
    }

    /// As its column holds it.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whose message `body` is on `queue`.
    pub(super) fn for_message(
        connection: &Connection,
        queue: QueueName,
        body: &str,
    ) -> Result<Self, DbError> {
        let owner = match queue {
            QueueName::Inbound => serde_json::from_str::<InboundTenantFields>(body)
                .ok()
                .map(|event| format!("{}/{}", event.provider, event.external)),
            QueueName::Turns => serde_json::from_str::<TurnTenantFields>(body)
                .ok()
                .map(|turn| turn.tenant.as_str().to_owned()),
            QueueName::Outbound => match serde_json::from_str::<OutboundTenantFields>(body) {
                Ok(send) => select_instance(connection, &send.conversation)?,
                Err(_) => None,
            },
        };
        Ok(Self(owner.unwrap_or_default()))
    }
}

/// A kick does not name the instance; its conversation, one step away, does.
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
