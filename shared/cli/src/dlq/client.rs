//! Reads and changes the dead letters of an installation over HTTP.

use super::filters::DeadLetterFilterArguments;
use crate::installation::{InstallationClient, add_part};
use crate::json_fields::{find_text, list_items};
use crate::message_lines::name_contact;
use crate::progress::ProgressBar;
use anyhow::{Context, Result};
use futures::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The number of dead letters that a preview lists at most. Further ones are only mentioned.
const PREVIEW_MAX: usize = 1000;

/// The number of conversations that are read at most to name the contacts of a page.
const NAMED_MAX: usize = 50;

/// The dead letters of an installation.
pub(super) struct DeadLetterClient {
    pub(super) there: InstallationClient,
}

impl DeadLetterClient {
    fn build_request(&self, method: Method, path: &[&str]) -> Result<RequestBuilder> {
        let path = [&["v1", "dead-letters"], path].concat();
        self.there.build_request(method, &path)
    }

    /// Lists dead letters, the newest first.
    pub(super) async fn list_dead_letters(
        &self,
        which: &DeadLetterFilterArguments,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Value> {
        let mut query = which.query_fields();
        query.push(("limit", limit.to_string()));
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let request = self.build_request(Method::GET, &[])?.query(&query);
        let page = self.there.request_json(request).await?;
        self.there.check_filters(&page, &which.named_entries()).await?;
        Ok(page)
    }

    /// Adds to the dead letters of a page the `contact` that each concerns, if its conversation can be read.
    pub(super) async fn name_contacts(&self, page: &mut Value) {
        let ids = list_items(page, "items").iter();
        let ids = ids.filter_map(|item| find_text(item, "conversation_id"));
        let ids: BTreeSet<String> = ids.map(str::to_owned).collect();
        let there = &self.there;
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

    /// Fails if the filter names an instance that is not there.
    pub(super) async fn check_filter(&self, which: &DeadLetterFilterArguments) -> Result<()> {
        self.there
            .check_filters(&Value::Null, &which.named_entries())
            .await
    }

    /// Redrives dead letters until none are left, or a request changes nothing any more. Returns the sum of the counts.
    pub(super) async fn redrive_dead_letters(
        &self,
        ids: &[String],
        which: &DeadLetterFilterArguments,
        dry_run: bool,
    ) -> Result<Value> {
        let mut body: Map<String, Value> = which
            .query_fields()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        body.insert("ids".to_owned(), json!(ids));
        body.insert("dry_run".to_owned(), json!(dry_run));
        body.insert("limit".to_owned(), json!(if dry_run { 1000 } else { 200 }));
        let mut total = Map::new();
        let mut bar = ProgressBar::start_counting();
        loop {
            let request = self.build_request(Method::POST, &["redrive"])?.json(&body);
            let part = self.there.request_json(request).await?;
            let moved = number_at(&part, "redriven") + number_at(&part, "no_longer_dead");
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
        &self,
        ids: &[String],
        which: &DeadLetterFilterArguments,
    ) -> Result<Value> {
        let mut items = Vec::new();
        for id in ids {
            items.push(self.get_dead_letter(id).await.with_context(|| id.clone())?);
        }
        let mut cursor = None;
        while ids.is_empty() && items.len() < PREVIEW_MAX {
            let page = self.list_dead_letters(which, 200, cursor.take()).await?;
            let found = page.get("items").and_then(Value::as_array);
            items.extend(found.into_iter().flatten().cloned());
            let next = page.get("next_cursor").and_then(Value::as_str);
            cursor = next.map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        Ok(json!({ "items": items, "next_cursor": cursor }))
    }

    /// Deletes the dead letters with these ids, or all that match the filter. Returns the sum of the counts.
    pub(super) async fn purge_dead_letters(
        &self,
        ids: &[String],
        all: bool,
        which: &DeadLetterFilterArguments,
    ) -> Result<Value> {
        let mut bar = ProgressBar::start(ids.len());
        for id in ids {
            bar.show_step(id);
            let request = self.build_request(Method::DELETE, &[id])?;
            self.there
                .request_json(request)
                .await
                .with_context(|| format!("{id} was not deleted"))?;
        }
        if !ids.is_empty() {
            return Ok(json!({ "deleted": ids.len() }));
        }
        let mut total = Map::new();
        let mut bar = ProgressBar::start_counting();
        loop {
            let mut query = which.query_fields();
            query.extend([("limit", "200".to_owned()), ("all", all.to_string())]);
            let request = self.build_request(Method::DELETE, &[])?.query(&query);
            let part = self.there.request_json(request).await?;
            let more = add_part(&mut total, &part);
            if !more || number_at(&part, "deleted") == 0 {
                return Ok(Value::Object(total));
            }
            bar.show_amount(count_field(&total, "deleted"), "deleted:");
        }
    }

    /// Returns one dead letter, with the payload that a redrive would process again.
    pub(super) async fn get_dead_letter(&self, id: &str) -> Result<Value> {
        let request = self.build_request(Method::GET, &[id])?;
        self.there.request_json(request).await
    }
}

fn count_field(total: &Map<String, Value>, name: &str) -> u64 {
    total.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn number_at(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}
