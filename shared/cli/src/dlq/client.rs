//! Reads and changes the dead letters of an installation over HTTP.

use super::filters::DeadLetterFilterArguments;
use crate::api_command::ApiCommand;
use crate::installation::{InstallationClient, add_part};
use crate::json_fields::{find_text, list_items, number_or_zero};
use crate::message_lines::name_contact;
use crate::progress::ProgressBar;
use anyhow::{Context, Result};
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The number of dead letters that a preview lists at most. Further ones are only mentioned.
const PREVIEW_MAX: usize = 1000;

/// The number of conversations that are read at most to name the contacts of a page.
const NAMED_MAX: usize = 50;

/// The path of all dead letters.
const DEAD_LETTERS: [&str; 2] = ["v1", "dead-letters"];

/// Lists dead letters, the newest first.
pub(super) async fn list_dead_letters(
    there: &InstallationClient,
    which: &DeadLetterFilterArguments,
    limit: usize,
    cursor: Option<String>,
) -> Result<Value> {
    let mut query = which.query_fields();
    query.push(("limit", limit.to_string()));
    query.extend(cursor.map(|cursor| ("cursor", cursor)));
    let page = there.get_json(&DEAD_LETTERS, &query).await?;
    there.check_filters(&page, &which.named_entries()).await?;
    Ok(page)
}

/// Adds to the dead letters of a page the `contact` that each concerns, if its conversation can be read.
pub(super) async fn name_contacts(there: &InstallationClient, page: &mut Value) {
    let ids = list_items(page, "items").iter();
    let ids = ids.filter_map(|item| find_text(item, "conversation_id"));
    let ids: BTreeSet<String> = ids.map(str::to_owned).collect();
    let reads = ids.into_iter().take(NAMED_MAX).map(|id| async move {
        let conversation = there.get_json(&["v1", "conversations", &id], &[]).await.ok()?;
        Some((id, name_contact(&conversation).to_owned()))
    });
    let names: BTreeMap<String, String> = join_all(reads).await.into_iter().flatten().collect();
    let items = page.get_mut("items").and_then(Value::as_array_mut);
    for item in items.into_iter().flatten() {
        let name = find_text(item, "conversation_id").and_then(|id| names.get(id));
        if let Some(name) = name {
            item["contact"] = json!(name);
        }
    }
}

/// Redrives dead letters until none are left, or a request changes nothing any more. Returns the sum of the counts.
pub(super) async fn redrive_dead_letters(
    there: &InstallationClient,
    ids: &[String],
    which: &DeadLetterFilterArguments,
    dry_run: bool,
) -> Result<Value> {
    let limit = if dry_run { 1000 } else { 200 };
    let mut body = json!({"ids": ids, "dry_run": dry_run, "limit": limit});
    for (name, value) in which.query_fields() {
        body[name] = json!(value);
    }
    let mut total = Map::new();
    let mut bar = ProgressBar::start_counting();
    loop {
        let part = there.post_json(&["v1", "dead-letters", "redrive"], &body).await?;
        let moved = number_or_zero(&part, "redriven") + number_or_zero(&part, "no_longer_dead");
        let more = add_part(&mut total, &part);
        if dry_run || !more || moved == 0 {
            return Ok(Value::Object(total));
        }
        bar.show_amount(count_field(&total, "redriven"), "redriven:");
    }
}

/// Lists the dead letters that a deletion would find: those with these ids, or all that match the filter. Lists at most
/// [`PREVIEW_MAX`]; if there are more, the answer has a `next_cursor`.
pub(super) async fn preview_purge(
    there: &InstallationClient,
    ids: &[String],
    which: &DeadLetterFilterArguments,
) -> Result<Value> {
    let (mut items, mut cursor) = (Vec::new(), None);
    for id in ids {
        let read = there.get_json(&["v1", "dead-letters", id], &[]).await;
        items.push(read.with_context(|| id.clone())?);
    }
    if ids.is_empty() {
        let query = which.query_fields();
        (items, cursor) = there.list_first_items(&DEAD_LETTERS, &query, PREVIEW_MAX).await?;
    }
    Ok(json!({ "items": items, "next_cursor": cursor }))
}

/// Deletes the dead letters with these ids, or all that match the filter. Returns the sum of the counts.
pub(super) async fn purge_dead_letters(
    there: &InstallationClient,
    ids: &[String],
    all: bool,
    which: &DeadLetterFilterArguments,
) -> Result<Value> {
    let mut bar = ProgressBar::start(ids.len());
    for id in ids {
        bar.show_step(id);
        let delete = ApiCommand::delete(&["v1", "dead-letters", id]);
        delete.or_fail(format!("{id} was not deleted")).ask(there).await?;
    }
    if !ids.is_empty() {
        return Ok(json!({ "deleted": ids.len() }));
    }
    let mut query = which.query_fields();
    query.extend([("limit", "200".to_owned()), ("all", all.to_string())]);
    let mut total = Map::new();
    let mut bar = ProgressBar::start_counting();
    loop {
        let request = there.build_request(Method::DELETE, &DEAD_LETTERS)?;
        let part = there.request_json(request.query(&query)).await?;
        let more = add_part(&mut total, &part);
        if !more || number_or_zero(&part, "deleted") == 0 {
            return Ok(Value::Object(total));
        }
        bar.show_amount(count_field(&total, "deleted"), "deleted:");
    }
}

fn count_field(total: &Map<String, Value>, name: &str) -> u64 {
    total.get(name).and_then(Value::as_u64).unwrap_or(0)
}
