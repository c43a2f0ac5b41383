//! Files that webhooks hold. They lie beside the bodies that are too large for a queue, and expire as these, until a turn stores
//! them as the files of their messages. What goes wrong with one costs nothing else: its provider is asked for it.

use crate::Deps;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::event::{EventState, webhook_file_key};
use recado_domain::ids::EventId;
use recado_domain::message::Message;
use recado_ports::ports::{FetchedFile, FileBytes, PortResult};
use recado_ports::time_limit::run_within;
use serde_json::Value;
use std::error::Error;

/// Stores the file that the webhook of `event` holds, in half of the time that a webhook has. Returns `false` if it is not stored.
pub async fn keep_webhook_file(deps: &Deps, event: &EventId, base64: String) -> bool {
    // Base64 has four characters for three bytes.
    let settings = deps.settings();
    if base64.len() as u64 / 4 * 3 > settings.file_bytes_max.saturating_add(2) {
        return false;
    }
    let (key, file) = (webhook_file_key(event), Value::String(base64));
    let stores = deps.queues().put_payload(&key, &file);
    let limit = settings.webhook_deadline.unsigned_abs() / 2;
    match run_within(deps.system(), limit, stores).await {
        Some(Ok(())) => return true,
        Some(Err(error)) => {
            let error: &dyn Error = &error;
            tracing::warn!(event_id = %event, error, "the file of a webhook was not stored");
        }
        None => {
            tracing::warn!(event_id = %event, "the file of a webhook was not stored in time");
        }
    }
    false
}

/// Returns the file that the webhook of `message` held. `None`: it held none, or the file cannot be read now.
pub async fn open_webhook_file(deps: &Deps, message: &Message) -> Option<FetchedFile> {
    let key = message.webhook_file_key()?;
    let base64 = match deps.queues().find_payload(&key).await {
        Ok(Some(Value::String(base64))) => base64,
        Ok(_) => return None,
        Err(error) => {
            let error: &dyn Error = &error;
            tracing::warn!(message_id = %message.message_id(), error, "the file of a webhook was not read");
            return None;
        }
    };
    let bytes = STANDARD.decode(base64).ok()?;
    Some(FetchedFile {
        bytes: FileBytes::from_bytes(bytes),
        mime_type: None,
        sha256: None,
    })
}

/// Deletes the file that the webhook of `message` held, once the message does not wait for it any more. If that fails, the file
/// expires.
pub async fn delete_used_webhook_file(deps: &Deps, message: &Message) {
    if let Some(key) = message.webhook_file_key()
        && !is_waited_for(message)
    {
        delete_or_let_expire(deps, &key).await;
    }
}

/// Deletes the file that the webhook of `event` held. It stays if the message of the event waits for it, or the event can be
/// redriven. The event is settled. If that fails, the file expires.
pub async fn delete_unneeded_webhook_file(deps: &Deps, event: &EventId) {
    match find_waiting_message(deps, event).await {
        Ok(false) => delete_or_let_expire(deps, &webhook_file_key(event)).await,
        Ok(true) => {}
        Err(error) => {
            let error: &dyn Error = &error;
            tracing::warn!(event_id = %event, error, "nobody knows if the file of a webhook is needed: it expires");
        }
    }
}

/// Returns `true` if a message of `event` waits for the file of its webhook, or may still be stored.
async fn find_waiting_message(deps: &Deps, event: &EventId) -> PortResult<bool> {
    let Some(record) = deps.store().find_event(event).await? else {
        return Ok(false);
    };
    let Some(place) = record.stored else {
        // A person may redrive what was given up.
        return Ok(record.state == EventState::Dead);
    };
    let message = deps
        .store()
        .find_message(&place.conversation.message_id(place.ordinal))
        .await?;
    Ok(message.is_some_and(|message| message.webhook_file_key().is_some() && is_waited_for(&message)))
}

fn is_waited_for(message: &Message) -> bool {
    let file = message.file.as_ref();
    file.is_some_and(|file| file.next_fetch_time().is_some())
}

async fn delete_or_let_expire(deps: &Deps, key: &str) {
    if let Err(error) = deps.queues().delete_payload(key).await {
        tracing::warn!(
            error = &error as &dyn Error,
            "the file of a webhook was not deleted"
        );
    }
}
