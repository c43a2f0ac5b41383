//! `recado webhooks`: the endpoints to which a running installation posts the published events of a tenant.

use crate::api_command::ApiCommand;
use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::dlq::tables::{AnswerTable, format_fields};
use crate::installation::{InstallationArguments, InstallationClient};
use crate::instant::parse_instant_option;
use crate::json_fields::{find_text, number_or_zero};
use crate::secret::{describe_end, write_overlap};
use crate::tenant::name_tenant;
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use recado_machine::output::print_answer;
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

/// The list of endpoints.
const ENDPOINTS: AnswerTable = AnswerTable {
    nothing: "No webhook endpoints.",
    fields: &["id", "status", "accepted_at", "url"],
    times: &["accepted_at"],
    ..AnswerTable::EMPTY
};

/// The list of events that an endpoint did not accept.
const FAILED: AnswerTable = AnswerTable {
    nothing: "No failed events.",
    fields: &["cursor", "kind", "at", "attempts", "next_attempt_at", "error"],
    times: &["at", "next_attempt_at"],
    ..AnswerTable::EMPTY
};

/// Runs the subcommand and prints its result.
pub(crate) async fn run_webhook_command(
    arguments: WebhookArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let tenant = arguments.tenant;
    let command = match arguments.command.unwrap_or(WebhookCommand::List) {
        WebhookCommand::List => {
            let list = ApiCommand::get(&["v1", "webhooks"]).only_of("tenants", tenant);
            let list = list.show(|answer| ENDPOINTS.format(answer));
            return list.run(&there, arguments.json).await;
        }
        WebhookCommand::Test { id } => {
            let test = ApiCommand::post(&["v1", "webhooks", &id, "test"], json!({}));
            let answer = test.query("tenant", tenant).ask(&there).await?;
            print_answer(&answer, arguments.json, format_fields)?;
            return check_test(&answer);
        }
        WebhookCommand::Change {
            id,
            endpoint_url,
            kinds,
            all_kinds,
        } => {
            let kinds = (all_kinds || !kinds.is_empty()).then(|| json!(kinds));
            let changed = [("url", endpoint_url.map(Value::from)), ("kinds", kinds)];
            replace_fields(&there, tenant.as_deref(), &id, changed).await?
        }
        WebhookCommand::Disable { id } => {
            let changed = [("disabled", Some(json!(true)))];
            replace_fields(&there, tenant.as_deref(), &id, changed).await?
        }
        WebhookCommand::Enable { id } => {
            let changed = [("disabled", Some(json!(false)))];
            replace_fields(&there, tenant.as_deref(), &id, changed).await?
        }
        other => describe_webhook_command(other)?,
    };
    command.query("tenant", tenant).run(&there, arguments.json).await
}

/// Returns the request of a subcommand that needs no other before it. Asks before something is removed or replaced.
fn describe_webhook_command(command: WebhookCommand) -> Result<ApiCommand> {
    Ok(match command {
        WebhookCommand::Create {
            id,
            endpoint_url,
            kinds,
        } => {
            let body = json!({"id": id, "url": endpoint_url, "kinds": kinds});
            ApiCommand::post(&["v1", "webhooks"], body)
                .or_fail(format!("{id} was not created"))
                .show(format_secret)
        }
        WebhookCommand::Show { id } => ApiCommand::get(&["v1", "webhooks", &id]),
        WebhookCommand::Remove { id, yes } => {
            let question = format!("Remove the webhook endpoint {id} with its failed events?");
            confirm_action(&question, yes)?;
            ApiCommand::delete(&["v1", "webhooks", &id])
                .or_fail(format!("{id} was not removed"))
                .tell_done("removed", "Removed", &id)
        }
        WebhookCommand::Rotate {
            id,
            overlap_hours,
            yes,
        } => {
            let until = describe_end(overlap_hours);
            let question = format!("Replace the signing secret of {id}? Its present secret ends {until}.");
            confirm_action(&question, yes)?;
            let path = ["v1", "webhooks", &id, "secret", "rotate"];
            ApiCommand::post(&path, write_overlap(overlap_hours))
                .or_fail(format!("the secret of {id} was not rotated"))
                .show(format_secret)
        }
        WebhookCommand::Failed { id, limit, cursor } => ApiCommand::get(&["v1", "webhooks", &id, "failed"])
            .query("limit", Some(limit))
            .query("cursor", cursor)
            .show(format_failed),
        WebhookCommand::Redrive { id, event } => {
            let path = ["v1", "webhooks", &id, "failed", "redrive"];
            ApiCommand::post(&path, json!({ "cursor": event })).show(|answer| {
                let count = number_or_zero(answer, "redriven");
                format!("{count} events are tried again.\n")
            })
        }
        WebhookCommand::Replay { id, since } => {
            ApiCommand::post(&["v1", "webhooks", &id, "replay"], json!({ "since": since }))
        }
        // They run in `run_webhook_command`.
        WebhookCommand::List
        | WebhookCommand::Change { .. }
        | WebhookCommand::Disable { .. }
        | WebhookCommand::Enable { .. }
        | WebhookCommand::Test { .. } => ApiCommand::get(&["v1", "webhooks"]),
    })
}

/// Returns the request that replaces fields of an endpoint. A field without a value stays as it is.
async fn replace_fields<const COUNT: usize>(
    there: &InstallationClient,
    tenant: Option<&str>,
    id: &str,
    changed: [(&str, Option<Value>); COUNT],
) -> Result<ApiCommand> {
    let path = ["v1", "webhooks", id];
    let stored = there.get_json(&path, &name_tenant(tenant)).await?;
    let mut fields: Map<String, Value> = ENDPOINT_FIELDS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), stored.get(*name)?.clone())))
        .collect();
    for (name, value) in changed {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    }
    let replace = ApiCommand::new(Method::PUT, &path).body(Value::Object(fields));
    Ok(replace.or_fail(format!("{id} was not changed")))
}

/// Fails if an endpoint did not accept the test event.
fn check_test(answer: &Value) -> Result<()> {
    if answer["accepted"] == false {
        let why = find_text(answer, "error").unwrap_or("no reason");
        bail!("the endpoint did not accept the test: {why}");
    }
    Ok(())
}

fn format_secret(answer: &Value) -> String {
    format_fields(answer) + "\nKeep `secret` where posts are received: it is shown only here.\n"
}

fn format_failed(answer: &Value) -> String {
    let table = FAILED.format(answer);
    match find_text(answer, "next_cursor") {
        Some(cursor) => format!("{table}\nMore: --cursor {cursor}\n"),
        None => table,
    }
}
