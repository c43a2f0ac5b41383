//! Requests what people do in a conversation.

use crate::installation::InstallationClient;
use crate::message_lines::{AnswerDetail, format_message};
use anyhow::Result;
use reqwest::Method;
use serde_json::{Value, json};

/// Answers the contact of a conversation as a person.
pub(super) async fn answer_contact(
    there: &InstallationClient,
    id: &str,
    text: &str,
    seen: Option<u64>,
) -> Result<Value> {
    let mut body = json!({ "text": text });
    if let Some(seen) = seen {
        body["seen"] = json!(seen);
    }
    let request = there.build_request(Method::POST, &["v1", "conversations", id, "messages"])?;
    there.request_json(request.json(&body)).await
}

/// Takes a conversation over (`manual`), or gives it back to the agent (`ai`).
pub(super) async fn change_mode(there: &InstallationClient, id: &str, mode: &str) -> Result<Value> {
    patch_conversation(there, id, &json!({ "mode": mode })).await
}

/// Resolves a conversation.
pub(super) async fn resolve_conversation(
    there: &InstallationClient,
    id: &str,
    seen: Option<u64>,
) -> Result<Value> {
    let mut body = json!({"status": "resolved"});
    if let Some(seen) = seen {
        body["seen"] = json!(seen);
    }
    patch_conversation(there, id, &body).await
}

async fn patch_conversation(there: &InstallationClient, id: &str, body: &Value) -> Result<Value> {
    let request = there.build_request(Method::PATCH, &["v1", "conversations", id])?;
    there.request_json(request.json(body)).await
}

/// Formats a person's answer, and how the agent gets the conversation again.
pub(super) fn format_answer(sent: &Value, id: &str) -> String {
    format!(
        "{}You have the conversation now. Give it back to the agent:\n  recado conversations give-back {id}\n",
        format_message(sent, "contact", AnswerDetail::Nothing)
    )
}
