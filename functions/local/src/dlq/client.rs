//! Reads and changes the dead letters of an installation over HTTP.

use super::filters::DeadLetterFilterArguments;
use anyhow::{Context, Result, bail};
use recado_domain::secret::Secret;
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The longest time of one request: longer than the function `api` may run (29 s).
const TIMEOUT: Duration = Duration::from_secs(60);

/// An installation that is called over HTTP.
pub(super) struct DeadLetterClient<'a> {
    pub(super) url: &'a str,
    pub(super) token: &'a Secret,
}

impl DeadLetterClient<'_> {
    fn build_request(&self, method: Method, path: &[&str], query: &[(&str, &str)]) -> Result<RequestBuilder> {
        let mut url = reqwest::Url::parse(self.url).with_context(|| format!("{} is no URL", self.url))?;
        url.path_segments_mut()
            .map_err(|()| anyhow::anyhow!("{} is no URL of a server", self.url))?
            .pop_if_empty()
            .extend(["v1", "dead-letters"])
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = recado_http_client::build_http_client()?.request(method, url);
        Ok(request.bearer_auth(self.token.expose_secret()).timeout(TIMEOUT))
    }

    async fn send_request(&self, request: RequestBuilder) -> Result<Value> {
        let answer = request
            .send()
            .await
            .with_context(|| format!("{} cannot be reached: is Recado running there?", self.url))?;
        let status = answer.status();
        let body: Value = answer.json().await.unwrap_or_default();
        if !status.is_success() {
            bail!("{status}: {}", text_or_dash(&body, "detail"));
        }
        Ok(body)
    }

    /// Lists dead letters, the newest first.
    pub(super) async fn list_dead_letters(
        &self,
        which: &DeadLetterFilterArguments,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Value> {
        let limit = limit.to_string();
        let mut query = which.query_fields();
        query.push(("limit", &limit));
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        self.send_request(self.build_request(Method::GET, &[], &query)?)
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
        loop {
            let request = self.build_request(Method::POST, &["redrive"], &[])?.json(&body);
            let part = self.send_request(request).await?;
            let moved = number_at(&part, "redriven") + number_at(&part, "no_longer_dead");
            let more = add_totals(&mut total, &part);
            if dry_run || !more || moved == 0 {
                return Ok(Value::Object(total));
            }
        }
    }

    /// Deletes the dead letters with these ids, or all that match the filter. Returns the sum of the counts.
    pub(super) async fn purge_dead_letters(
        &self,
        ids: &[String],
        all: bool,
        which: &DeadLetterFilterArguments,
        by: &str,
    ) -> Result<Value> {
        for id in ids {
            let request = self.build_request(Method::DELETE, &[id], &[("by", by)])?;
            self.send_request(request)
                .await
                .with_context(|| format!("{id} was not deleted"))?;
        }
        if !ids.is_empty() {
            return Ok(json!({ "deleted": ids.len() }));
        }
        let mut total = Map::new();
        loop {
            let all = if all { "true" } else { "false" };
            let mut query = which.query_fields();
            query.extend([("by", by), ("limit", "200"), ("all", all)]);
            let part = self
                .send_request(self.build_request(Method::DELETE, &[], &query)?)
                .await?;
            let more = add_totals(&mut total, &part);
            if !more || number_at(&part, "deleted") == 0 {
                return Ok(Value::Object(total));
            }
        }
    }

    /// Returns one dead letter, with the payload that a redrive would process again.
    pub(super) async fn get_dead_letter(&self, id: &str) -> Result<Value> {
        self.send_request(self.build_request(Method::GET, &[id], &[])?)
            .await
    }

    /// Lists deletions of dead letters, the newest first.
    pub(super) async fn list_deletions(&self, limit: usize) -> Result<Value> {
        let limit = limit.to_string();
        let request = self.build_request(Method::GET, &["audit"], &[("limit", &limit)])?;
        self.send_request(request).await
    }
}

/// Adds the numbers of `part` to those of `total` and copies its other fields. Returns whether there is more.
fn add_totals(total: &mut Map<String, Value>, part: &Value) -> bool {
    for (name, value) in part.as_object().into_iter().flatten() {
        let known = total.get(name).and_then(Value::as_u64).unwrap_or(0);
        let sum = value
            .as_u64()
            .map_or_else(|| value.clone(), |value| json!(known + value));
        total.insert(name.clone(), sum);
    }
    part.get("more").and_then(Value::as_bool).unwrap_or(false)
}

fn number_at(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn text_or_dash<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_a_whole() {
        let mut total = Map::new();
        assert!(add_totals(
            &mut total,
            &json!({"redriven": 200, "failed": 1, "more": true})
        ));
        assert!(!add_totals(
            &mut total,
            &json!({"redriven": 3, "failed": 0, "more": false})
        ));
        assert_eq!(
            Value::Object(total),
            json!({"redriven": 203, "failed": 1, "more": false})
        );
    }
}
