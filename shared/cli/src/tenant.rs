//! `recado tenant`: removes a tenant of a running installation, here or on AWS.

use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::dlq::tables::format_fields;
use crate::installation::{InstallationArguments, InstallationClient, add_part};
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use recado_domain::counting::count_things;
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Tenants of a running installation, here or on AWS: remove one.
#[derive(Debug, Args)]
pub struct TenantArguments {
    #[command(subcommand)]
    command: TenantCommand,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TenantCommand {
    /// Removes a tenant with everything that is stored of it, for good: agents, instances, conversations, messages, tokens.
    /// Shows what there is, and asks. If it is cut off, run it again: it goes on.
    Remove {
        /// The tenant's id.
        tenant: String,
        /// Removes the tenant also if it still owes replies.
        #[arg(long)]
        force: bool,
        /// Removes without a question.
        #[arg(long)]
        yes: bool,
    },
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_tenant_command(
    arguments: TenantArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let TenantCommand::Remove { tenant, force, yes } = &arguments.command;
    let there_is = request_removal(&there, tenant, &[("dry_run", true)]).await?;
    eprintln!("Tenant {tenant} has: {}", format_counts(&there_is));
    confirm_action("Remove it with all of that, for good?", *yes)?;
    let answer = remove_all(&there, tenant, *force).await?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        println!("{}", format_fields(&answer));
    }
    Ok(())
}

async fn request_removal(there: &InstallationClient, tenant: &str, query: &[(&str, bool)]) -> Result<Value> {
    let request = there.build_request(Method::DELETE, &["v1", "tenants", tenant])?;
    there.request_json(request.query(query)).await
}

/// Requests the removal, part by part, until nothing is left. Returns the sum of the counts.
async fn remove_all(there: &InstallationClient, tenant: &str, force: bool) -> Result<Value> {
    let mut total = Map::new();
    loop {
        let part = request_removal(there, tenant, &[("force", force)]).await?;
        add_part(&mut total, &part);
        match part.get("done").and_then(Value::as_bool) {
            Some(true) => {
                total.remove("waits_until");
                return Ok(Value::Object(total));
            }
            Some(false) => {}
            None => bail!("the installation's answer is not a removal"),
        }
        let until = part.get("waits_until").and_then(Value::as_str);
        match until.map(str::parse::<Timestamp>).transpose()? {
            Some(until) => {
                eprintln!("Workers may still work for the tenant; the removal goes on at {until}.");
                let wait = until.duration_since(Timestamp::now()).as_secs().clamp(1, 60);
                tokio::time::sleep(Duration::from_secs(wait.unsigned_abs())).await;
            }
            None => eprintln!("Removed so far: {}", format_counts(&json!(total))),
        }
    }
}

/// Formats the counts that are not 0, in the order of their names, such as "31 conversations, 2 instances".
fn format_counts(answer: &Value) -> String {
    let counts = answer.as_object().into_iter().flatten();
    let counts: BTreeMap<&str, u64> = counts
        .filter_map(|(name, value)| Some((name.as_str(), value.as_u64()?)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(name, count)| match name.strip_suffix('s') {
            Some(thing) => count_things(count, &thing.replace('_', " ")),
            // What is to be sent later is counted by an adjective.
            None => format!("{count} {}", name.replace('_', " ")),
        })
        .collect();
    if counts.is_empty() {
        return "nothing".to_owned();
    }
    counts.join(", ")
}

/// Returns the query that names the tenant, if one was given.
pub(crate) fn name_tenant(tenant: Option<&str>) -> Vec<(&'static str, &str)> {
    tenant.map(|tenant| ("tenant", tenant)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_is_is_counted() {
        let answer =
            json!({"done": false, "waits_until": null, "messages": 12, "dead_letters": 1, "agents": 0});
        assert_eq!(format_counts(&answer), "1 dead letter, 12 messages");
        assert_eq!(format_counts(&json!({"done": true})), "nothing");
    }
}
