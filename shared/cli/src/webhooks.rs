//! `recado webhooks`: the endpoints to which a running installation posts the published events of a tenant.

use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::dlq::tables::{collect_rows, format_fields, format_table};
use crate::installation::{InstallationArguments, InstallationClient};
use crate::instant::{format_local_time, parse_instant_option};
use crate::json_fields::{find_text, number_or_zero};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Map, Value, json};

/// Webhook endpoints of a tenant, to which its published events are posted. Without a command: lists them.
#[derive(Debug, Args)]
pub struct WebhookArguments {
    #[command(subcommand)]
    command: Option<WebhookCommand>,
    #[command(flatten)]
    there: InstallationArguments,
    /// The tenant. Default: that of the token, or the only one.
    #[arg(long, global = true)]
    tenant: Option<String>,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum WebhookCommand {
    /// Lists the endpoints, with the state of their posts.
    List,
    /// Adds an endpoint, and prints its signing secret. It can be replaced, but never be read again.
    Create {
        /// The endpoint's id.
        id: String,
        /// The URL to which events are posted.
        endpoint_url: String,
        /// The kinds of events, such as `message.*`. Default: all.
        #[arg(long = "kind", value_name = "KIND")]
        kinds: Vec<String>,
    },
    /// Shows one endpoint.
    Show {
        /// The endpoint's id.
        id: String,
    },
    /// Changes the URL of an endpoint, or the kinds of its events. All else stays: its place, its secret, its failed events.
    Change {
        /// The endpoint's id.
        id: String,
        /// The URL to which events are posted from now on.
        #[arg(long, value_name = "URL", required_unless_present_any = ["kinds", "all_kinds"])]
        endpoint_url: Option<String>,
        /// The kinds of events from now on, such as `message.*`, in place of those before.
        #[arg(long = "kind", value_name = "KIND")]
        kinds: Vec<String>,
        /// All kinds of events from now on.
        #[arg(long, conflicts_with = "kinds")]
        all_kinds: bool,
    },
    /// Posts nothing to an endpoint until it is enabled. What happens meanwhile is posted then, as far as it is kept.
    Disable {
        /// The endpoint's id.
        id: String,
    },
    /// Posts to a disabled endpoint again, from where it stopped.
    Enable {
        /// The endpoint's id.
        id: String,
    },
    /// Removes an endpoint with its failed events. Asks.
    Remove {
        /// The endpoint's id.
        id: String,
        /// Removes without a question.
        #[arg(long)]
        yes: bool,
    },
    /// Gives an endpoint a new signing secret, and prints it. Asks.
    Rotate {
        /// The endpoint's id.
        id: String,
        /// The number of hours for which posts are signed with the secret before, too. 0: it leaked.
        #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=720))]
        overlap_hours: u32,
        /// Rotates without a question.
        #[arg(long)]
        yes: bool,
    },
    /// Posts a test event now, and prints the endpoint's answer.
    Test {
        /// The endpoint's id.
        id: String,
    },
    /// Lists the events that an endpoint did not accept.
    Failed {
        /// The endpoint's id.
        id: String,
        /// Lists at most so many.
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// The cursor that the page before gave.
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Lets failed events be tried again: one, or all that were given up.
    Redrive {
        /// The endpoint's id.
        id: String,
        /// The place of one event, as `failed` lists it.
        event: Option<String>,
    },
    /// Posts events again: everything since a time, or from where an endpoint stopped that was switched off.
    Replay {
        /// The endpoint's id.
        id: String,
        /// An instant, or a time ago such as `6h`.
        #[arg(long, value_parser = parse_instant_option)]
        since: Option<Timestamp>,
    },
}

/// The fields of an endpoint that a request replaces together.
const ENDPOINT_FIELDS: [&str; 3] = ["url", "kinds", "disabled"];

/// The endpoints of an installation.
struct WebhookClient {
    there: InstallationClient,
    tenant: Option<String>,
}

impl WebhookClient {
    /// Requests a path below `/v1/webhooks`.
    async fn send_request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        body: Option<Value>,
    ) -> Result<Value> {
        let path: Vec<&str> = ["v1", "webhooks"].iter().chain(path).copied().collect();
        let mut request = self.there.build_request(method, &path)?.query(query);
        if let Some(tenant) = &self.tenant {
            request = request.query(&[("tenant", tenant)]);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        self.there.request_json(request).await
    }

    async fn get_json(&self, path: &[&str]) -> Result<Value> {
        self.send_request(Method::GET, path, &[], None).await
    }

    async fn post_json(&self, path: &[&str], body: Value) -> Result<Value> {
        self.send_request(Method::POST, path, &[], Some(body)).await
    }

    /// Runs a subcommand. Returns the answer as JSON and as text.
    async fn run_command(&self, command: WebhookCommand) -> Result<(Value, String)> {
        Ok(match command {
            WebhookCommand::List => {
                let answer = self.get_json(&[]).await?;
                let filters = [("tenants", self.tenant.as_deref())];
                self.there.check_filters(&answer, &filters).await?;
                let text = format_endpoints(&answer);
                (answer, text)
            }
            WebhookCommand::Create {
                id,
                endpoint_url,
                kinds,
            } => {
                let body = json!({"id": id, "url": endpoint_url, "kinds": kinds});
                let made = self.post_json(&[], body).await;
                show_secret(made.with_context(|| format!("{id} was not created"))?)
            }
            WebhookCommand::Show { id } => show_fields(self.get_json(&[&id]).await?),
            WebhookCommand::Change {
                id,
                endpoint_url,
                kinds,
                all_kinds,
            } => {
                let kinds = (all_kinds || !kinds.is_empty()).then(|| json!(kinds));
                let changed = [("url", endpoint_url.map(Value::from)), ("kinds", kinds)];
                self.replace_fields(&id, changed).await?
            }
            WebhookCommand::Disable { id } => {
                self.replace_fields(&id, [("disabled", Some(json!(true)))])
                    .await?
            }
            WebhookCommand::Enable { id } => {
                self.replace_fields(&id, [("disabled", Some(json!(false)))])
                    .await?
            }
            WebhookCommand::Remove { id, yes } => self.remove_endpoint(&id, yes).await?,
            WebhookCommand::Rotate {
                id,
                overlap_hours,
                yes,
            } => self.rotate_secret(&id, overlap_hours, yes).await?,
            WebhookCommand::Failed { id, limit, cursor } => self.list_failed(&id, limit, cursor).await?,
            WebhookCommand::Redrive { id, event } => {
                let body = json!({ "cursor": event });
                let redriven = self.post_json(&[&id, "failed", "redrive"], body).await?;
                let count = number_or_zero(&redriven, "redriven");
                (redriven, format!("{count} events are tried again.\n"))
            }
            WebhookCommand::Replay { id, since } => {
                show_fields(self.post_json(&[&id, "replay"], json!({"since": since})).await?)
            }
            WebhookCommand::Test { id } => show_fields(self.post_json(&[&id, "test"], json!({})).await?),
        })
    }

    /// Replaces fields of an endpoint. A field without a value stays as it is.
    async fn replace_fields<const COUNT: usize>(
        &self,
        id: &str,
        changed: [(&str, Option<Value>); COUNT],
    ) -> Result<(Value, String)> {
        let stored = self.get_json(&[id]).await?;
        let mut fields: Map<String, Value> = ENDPOINT_FIELDS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), stored.get(*name)?.clone())))
            .collect();
        for (name, value) in changed {
            fields.extend(value.map(|value| (name.to_owned(), value)));
        }
        let body = Some(Value::Object(fields));
        let replaced = self.send_request(Method::PUT, &[id], &[], body).await;
        Ok(show_fields(
            replaced.with_context(|| format!("{id} was not changed"))?,
        ))
    }

    async fn remove_endpoint(&self, id: &str, yes: bool) -> Result<(Value, String)> {
        let question = format!("Remove the webhook endpoint {id} with its failed events?");
        confirm_action(&question, yes)?;
        let removed = self.send_request(Method::DELETE, &[id], &[], None).await;
        removed.with_context(|| format!("{id} was not removed"))?;
        Ok((json!({"removed": id}), format!("Removed {id}.\n")))
    }

    async fn list_failed(&self, id: &str, limit: usize, cursor: Option<String>) -> Result<(Value, String)> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let answer = self
            .send_request(Method::GET, &[id, "failed"], &query, None)
            .await?;
        let text = format_failed(&answer);
        Ok((answer, text))
    }

    async fn rotate_secret(&self, id: &str, overlap_hours: u32, yes: bool) -> Result<(Value, String)> {
        let until = match overlap_hours {
            0 => "at once".to_owned(),
            hours => format!("in {hours} hours"),
        };
        let question = format!("Replace the signing secret of {id}? Its present secret ends {until}.");
        confirm_action(&question, yes)?;
        let body = json!({"overlap_seconds": u64::from(overlap_hours) * 3_600});
        let rotated = self.post_json(&[id, "secret", "rotate"], body).await;
        let rotated = rotated.with_context(|| format!("the secret of {id} was not rotated"))?;
        Ok(show_secret(rotated))
    }
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_webhook_command(
    arguments: WebhookArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let client = WebhookClient {
        there: arguments.there.build_client(environment)?,
        tenant: arguments.tenant,
    };
    let command = arguments.command.unwrap_or(WebhookCommand::List);
    let (answer, text) = client.run_command(command).await?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        print!("{text}");
    }
    if answer.get("accepted") == Some(&Value::Bool(false)) {
        let why = find_text(&answer, "error").unwrap_or("no reason");
        bail!("the endpoint did not accept the test: {why}");
    }
    Ok(())
}

fn show_fields(answer: Value) -> (Value, String) {
    let text = format_fields(&answer);
    (answer, text)
}

fn show_secret(answer: Value) -> (Value, String) {
    let text = format!(
        "{}\nKeep `secret` where posts are received: it is shown only here.\n",
        format_fields(&answer)
    );
    (answer, text)
}

fn format_endpoints(answer: &Value) -> String {
    let columns = ["id", "status", "accepted_at", "url"];
    let mut rows = collect_rows(answer, &columns);
    if rows.is_empty() {
        return "No webhook endpoints.\n".to_owned();
    }
    for cell in rows.iter_mut().filter_map(|row| row.get_mut(2)) {
        *cell = format_local_time(cell);
    }
    format_table(&columns, rows)
}

fn format_failed(answer: &Value) -> String {
    let columns = ["cursor", "kind", "at", "attempts", "next_attempt_at", "error"];
    let mut rows = collect_rows(answer, &columns);
    if rows.is_empty() {
        return "No failed events.\n".to_owned();
    }
    for row in &mut rows {
        for place in [2, 4] {
            if let Some(cell) = row.get_mut(place) {
                *cell = format_local_time(cell);
            }
        }
    }
    let table = format_table(&columns, rows);
    match find_text(answer, "next_cursor") {
        Some(cursor) => format!("{table}\nMore: --cursor {cursor}\n"),
        None => table,
    }
}
