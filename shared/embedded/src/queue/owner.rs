use crate::fault::Fault;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::{ConversationId, ExternalId, TenantId};
use recado_domain::provider::Provider;
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;

/// Whose a message is: of which instance (`inbound`, `outbound`) or of which tenant (`turns`). What cannot be read, or is
/// about a conversation that is not here, belongs to nobody, which is an owner like any other.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(String);

/// What of an `InboundJob` says whose it is.
#[derive(Deserialize)]
struct Event {
    provider: Provider,
    external: ExternalId,
}

/// What of a `TurnKick` says whose it is.
#[derive(Deserialize)]
struct Turn {
    tenant: TenantId,
}

/// What of a `SendKick` says whose it is.
#[derive(Deserialize)]
struct Send {
    conversation: ConversationId,
}

impl Owner {
    /// The owner whose column this is.
    pub(super) fn column(owner: String) -> Self {
        Self(owner)
    }

    /// As its column holds it.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whose message `body` is on `queue`.
    pub(super) fn of(connection: &Connection, queue: QueueName, body: &str) -> Result<Self, Fault> {
        let owner = match queue {
            QueueName::Inbound => serde_json::from_str::<Event>(body)
                .ok()
                .map(|event| format!("{}/{}", event.provider, event.external)),
            QueueName::Turns => serde_json::from_str::<Turn>(body)
                .ok()
                .map(|turn| turn.tenant.as_str().to_owned()),
            QueueName::Outbound => match serde_json::from_str::<Send>(body) {
                Ok(send) => instance_of(connection, &send.conversation)?,
                Err(_) => None,
            },
        };
        Ok(Self(owner.unwrap_or_default()))
    }
}

/// A kick does not name the instance; its conversation, one step away, does.
fn instance_of(connection: &Connection, conversation: &ConversationId) -> Result<Option<String>, Fault> {
    let sql = "SELECT instance FROM conversations WHERE id = ?1";
    Ok(connection
        .prepare_cached(sql)?
        .query_row([conversation.to_string()], |row| row.get(0))
        .optional()?)
}
