//! The calls of the tools: requests to the API, with the token of the command.

use super::tools::{ContactAnswer, McpToolCall, RedrivenDeadLetters, SearchedRecord};
use crate::conversation_thread::read_thread;
use crate::find::RecordLookup;
use crate::installation::InstallationClient;
use anyhow::{Context, Result, bail};
use recado_domain::ids::hash_parts;
use reqwest::Method;
use serde::Serialize;
use serde_json::{Value, json};

/// The most messages of each conversation that a search returns, unless the call says another.
const SEARCHED_MESSAGES: u16 = 10;

/// The most messages of a conversation that is read, unless the call says another.
const READ_MESSAGES: u16 = 50;

/// Runs the call of a tool, and returns the answer of the API.
pub(super) async fn run_tool_call(there: &InstallationClient, call: McpToolCall) -> Result<Value> {
    match call {
        McpToolCall::SearchConversations(wanted) => search_records(there, wanted).await,
        McpToolCall::ListConversations(wanted) => list_page(there, "conversations", &wanted).await,
        McpToolCall::ReadConversation(wanted) => {
            read_thread(there, &wanted.conversation, wanted.limit.unwrap_or(READ_MESSAGES)).await
        }
        McpToolCall::ReadMessage(wanted) => there.get_json(&["v1", "messages", &wanted.message], &[]).await,
        McpToolCall::AnswerContact(answer) => send_answer(there, &answer).await,
        McpToolCall::TakeConversation(named) => change_hands(there, &named.conversation, "manual").await,
        McpToolCall::GiveBackConversation(named) => change_hands(there, &named.conversation, "ai").await,
        McpToolCall::ListDeadLetters(wanted) => list_page(there, "dead-letters", &wanted).await,
        McpToolCall::RedriveDeadLetters(wanted) => redrive_named(there, &wanted).await,
    }
}

async fn search_records(there: &InstallationClient, wanted: SearchedRecord) -> Result<Value> {
    let lookup = RecordLookup {
        there: there.clone(),
        tenant: wanted.tenant,
        instance: wanted.instance,
        limit: wanted.limit.unwrap_or(SEARCHED_MESSAGES),
    };
    let found = lookup.find_text(wanted.what.trim()).await?;
    found.with_context(|| format!("nothing is found for {}", wanted.what))
}

/// Requests a page of a list. Options that are absent are left out.
async fn list_page(there: &InstallationClient, list: &str, wanted: &impl Serialize) -> Result<Value> {
    let request = there.build_request(Method::GET, &["v1", list])?;
    there.request_json(request.query(wanted)).await
}

/// Sends an answer. A call that a client repeats has the same key, so the contact gets one message.
async fn send_answer(there: &InstallationClient, answer: &ContactAnswer) -> Result<Value> {
    let ContactAnswer {
        conversation,
        text,
        seen,
    } = answer;
    let key = format!("mcp-{}", hash_parts(&[conversation, &seen.to_string(), text], 16));
    let request = there.build_request(Method::POST, &["v1", "conversations", conversation, "messages"])?;
    let body = json!({"text": text, "seen": seen});
    let request = request.header("Idempotency-Key", key).json(&body);
    there.request_json(request).await
}

async fn change_hands(there: &InstallationClient, conversation: &str, mode: &str) -> Result<Value> {
    let request = there.build_request(Method::PATCH, &["v1", "conversations", conversation])?;
    there.request_json(request.json(&json!({ "mode": mode }))).await
}

async fn redrive_named(there: &InstallationClient, wanted: &RedrivenDeadLetters) -> Result<Value> {
    // Without ids, the API would redrive all.
    if wanted.ids.is_empty() {
        bail!("name at least one dead letter in `ids`");
    }
    let path = ["v1", "dead-letters", "redrive"];
    there.post_json(&path, &json!(wanted)).await
}
