//! `recado dlq`: dead letters of a running installation, here or on AWS.

use crate::environment::Environment;
use crate::installation;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use recado_domain::secret::Secret;
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long one request may take: as long as a function of the API.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Dead letters of a running installation, here or on AWS: list, show, redrive, purge.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Dlq,
    /// Where the installation is.
    #[arg(
        long,
        global = true,
        env = "RECADO_URL",
        default_value = "http://127.0.0.1:8080"
    )]
    url: String,
    /// The operators' token; on the machine that serves, the one kept in the data folder.
    #[arg(long, global = true, env = "RECADO_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Dlq {
    /// Lists dead letters, the newest first.
    List {
        #[command(flatten)]
        which: Which,
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Where the list before ended.
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Shows one dead letter, with what would be done again.
    Show {
        /// Its id.
        id: String,
    },
    /// Puts dead letters back on their way, each conversation's in order.
    Redrive {
        /// These.
        #[arg(conflicts_with_all = ["all", "queue", "reason", "instance", "since", "until"])]
        ids: Vec<String>,
        /// All there are.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        which: Which,
        /// Only says how many there are, and what a redrive would meet.
        #[arg(long)]
        dry_run: bool,
    },
    /// Deletes dead letters for good. Who did is kept: `recado dlq audit`.
    Purge {
        /// These.
        #[arg(conflicts_with_all = ["all", "queue", "reason", "instance", "since", "until"])]
        ids: Vec<String>,
        /// All there are.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        which: Which,
        /// Who deletes them.
        #[arg(long, env = "USER", default_value = "operator")]
        by: String,
    },
    /// Lists who deleted which dead letters, the newest first.
    Audit {
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
}

/// Which dead letters.
#[derive(Debug, Default, Args)]
struct Which {
    /// Of this queue: inbound, turns or outbound.
    #[arg(long)]
    queue: Option<String>,
    /// With this reason.
    #[arg(long)]
    reason: Option<String>,
    /// Of this instance.
    #[arg(long)]
    instance: Option<String>,
    /// That died then (RFC 3339) or later.
    #[arg(long)]
    since: Option<String>,
    /// That died before then.
    #[arg(long)]
    until: Option<String>,
}

impl Which {
    fn fields(&self) -> Vec<(&'static str, &str)> {
        let fields = [
            ("queue", &self.queue),
            ("reason", &self.reason),
            ("instance", &self.instance),
            ("since", &self.since),
            ("until", &self.until),
        ];
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
            .collect()
    }

    /// What is to be changed must be named: nothing is meant by nothing.
    fn named(&self, ids: &[String], all: bool) -> Result<()> {
        if ids.is_empty() && !all && self.fields().is_empty() {
            bail!("say which: ids, --queue, --reason, --instance, --since, --until or --all");
        }
        Ok(())
    }
}

/// An installation that is asked over HTTP.
struct Installation<'a> {
    url: &'a str,
    token: &'a Secret,
}

impl Installation<'_> {
    fn request(&self, method: Method, path: &[&str], query: &[(&str, &str)]) -> Result<RequestBuilder> {
        let mut url = reqwest::Url::parse(self.url).with_context(|| format!("{} is no URL", self.url))?;
        url.path_segments_mut()
            .map_err(|()| anyhow::anyhow!("{} is no URL of a server", self.url))?
            .pop_if_empty()
            .extend(["v1", "dead-letters"])
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = recado_ai::http_client()?.request(method, url);
        Ok(request.bearer_auth(self.token.expose()).timeout(TIMEOUT))
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Value> {
        let answer = request
            .send()
            .await
            .with_context(|| format!("{} cannot be reached: is Recado running there?", self.url))?;
        let status = answer.status();
        let body: Value = answer.json().await.unwrap_or_default();
        if !status.is_success() {
            bail!("{status}: {}", text(&body, "detail"));
        }
        Ok(body)
    }
}

/// Does what was asked for and prints what came of it, as a table or as JSON.
pub(crate) async fn run(arguments: Arguments, environment: &Environment) -> Result<()> {
    let Arguments {
        command, url, token, ..
    } = arguments;
    let there = Installation {
        url: &url,
        token: &installation::token(token.as_deref(), environment)?,
    };
    let (answer, table): (Value, fn(&Value) -> String) = match command {
        Dlq::List { which, limit, cursor } => (list(&there, &which, limit, cursor).await?, letters),
        Dlq::Show { id } => {
            let request = there.request(Method::GET, &[&id], &[])?;
            (there.answer(request).await?, fields)
        }
        Dlq::Redrive {
            ids,
            all,
            which,
            dry_run,
        } => {
            which.named(&ids, all)?;
            (redrive(&there, &ids, &which, dry_run).await?, fields)
        }
        Dlq::Purge { ids, all, which, by } => {
            which.named(&ids, all)?;
            (purge(&there, &ids, all, &which, &by).await?, fields)
        }
        Dlq::Audit { limit } => {
            let limit = limit.to_string();
            let request = there.request(Method::GET, &["audit"], &[("limit", &limit)])?;
            (there.answer(request).await?, deletions)
        }
    };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        print!("{}", table(&answer));
    }
    Ok(())
}

async fn list(
    there: &Installation<'_>,
    which: &Which,
    limit: usize,
    cursor: Option<String>,
) -> Result<Value> {
    let limit = limit.to_string();
    let mut query = which.fields();
    query.push(("limit", &limit));
    query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
    there.answer(there.request(Method::GET, &[], &query)?).await
}

/// Asks until no more are left, or nothing moves any more.
async fn redrive(there: &Installation<'_>, ids: &[String], which: &Which, dry_run: bool) -> Result<Value> {
    let mut body: Map<String, Value> = which
        .fields()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    body.insert("ids".to_owned(), json!(ids));
    body.insert("dry_run".to_owned(), json!(dry_run));
    body.insert("limit".to_owned(), json!(if dry_run { 1000 } else { 200 }));
    let mut total = Map::new();
    loop {
        let request = there.request(Method::POST, &["redrive"], &[])?.json(&body);
        let part = there.answer(request).await?;
        let moved = number(&part, "redriven") + number(&part, "no_longer_dead");
        let more = add(&mut total, &part);
        if dry_run || !more || moved == 0 {
            return Ok(Value::Object(total));
        }
    }
}

async fn purge(
    there: &Installation<'_>,
    ids: &[String],
    all: bool,
    which: &Which,
    by: &str,
) -> Result<Value> {
    for id in ids {
        let request = there.request(Method::DELETE, &[id], &[("by", by)])?;
        there
            .answer(request)
            .await
            .with_context(|| format!("{id} was not deleted"))?;
    }
    if !ids.is_empty() {
        return Ok(json!({ "deleted": ids.len() }));
    }
    let mut total = Map::new();
    loop {
        let all = if all { "true" } else { "false" };
        let mut query = which.fields();
        query.extend([("by", by), ("limit", "200"), ("all", all)]);
        let part = there.answer(there.request(Method::DELETE, &[], &query)?).await?;
        let more = add(&mut total, &part);
        if !more || number(&part, "deleted") == 0 {
            return Ok(Value::Object(total));
        }
    }
}

/// Adds the numbers of `part` to those of `total` and takes over the rest; returns whether there is more.
fn add(total: &mut Map<String, Value>, part: &Value) -> bool {
    for (name, value) in part.as_object().into_iter().flatten() {
        let known = total.get(name).and_then(Value::as_u64).unwrap_or(0);
        let sum = value
            .as_u64()
            .map_or_else(|| value.clone(), |value| json!(known + value));
        total.insert(name.clone(), sum);
    }
    part.get("more").and_then(Value::as_bool).unwrap_or(false)
}

fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("-")
}

/// A table with a heading; each column as wide as it needs to be.
fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let mut all = line(heading);
    for row in rows {
        all.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    all
}

fn rows(answer: &Value, columns: &[&str]) -> Vec<Vec<String>> {
    let cell = |item: &Value, name: &str| match item.get(name) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let items = answer.get("items").and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .map(|item| columns.iter().map(|name| cell(item, name)).collect())
        .collect()
}

fn letters(answer: &Value) -> String {
    let columns = ["at", "queue", "reason", "instance_id", "attempts", "what", "id"];
    let rows = rows(answer, &columns);
    if rows.is_empty() {
        return "No dead letters.\n".to_owned();
    }
    let mut all = table(&columns, &rows);
    if let Some(cursor) = answer.get("next_cursor").and_then(Value::as_str) {
        all.push_str("There are more: --cursor ");
        all.push_str(cursor);
        all.push('\n');
    }
    all
}

fn deletions(answer: &Value) -> String {
    let columns = ["at", "by", "queue", "reason", "instance_id", "what", "id"];
    let rows = rows(answer, &columns);
    if rows.is_empty() {
        return "None was deleted.\n".to_owned();
    }
    table(&columns, &rows)
}

/// An object, a field to a line.
fn fields(answer: &Value) -> String {
    let fields = answer.as_object().into_iter().flatten();
    let rows: Vec<(String, String)> = fields
        .map(|(name, value)| {
            let value = match value {
                Value::Null => "-".to_owned(),
                Value::String(text) => text.clone(),
                Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
                other => other.to_string(),
            };
            (name.replace('_', " "), value)
        })
        .collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows
        .iter()
        .map(|(name, value)| format!("{name:<width$}  {value}\n"))
        .collect();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_as_wide_as_it_needs_to_be() {
        let answer = json!({"items": [
            {"at": "2026-01-05T12:00:00Z", "queue": "outbound", "reason": "window_closed", "instance_id": null,
             "attempts": 2, "what": "message", "id": "x"},
        ], "next_cursor": "c"});
        let shown = letters(&answer);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].find("queue"), lines[1].find("outbound"));
        assert_eq!(lines[0].find("instance_id"), lines[1].find("-  "));
        assert_eq!(lines[2], "There are more: --cursor c");
        assert_eq!(letters(&json!({"items": []})), "No dead letters.\n");
    }

    #[test]
    fn what_is_to_be_changed_must_be_named() {
        assert!(Which::default().named(&[], false).is_err());
        assert!(Which::default().named(&[], true).is_ok());
        assert!(Which::default().named(&["x".to_owned()], false).is_ok());
        let queue = Some("inbound".to_owned());
        let which = Which {
            queue,
            ..Which::default()
        };
        assert!(which.named(&[], false).is_ok());
    }

    #[test]
    fn parts_add_up_to_a_whole() {
        let mut total = Map::new();
        assert!(add(
            &mut total,
            &json!({"redriven": 200, "failed": 1, "more": true})
        ));
        assert!(!add(
            &mut total,
            &json!({"redriven": 3, "failed": 0, "more": false})
        ));
        assert_eq!(
            Value::Object(total),
            json!({"redriven": 203, "failed": 1, "more": false})
        );
    }
}
