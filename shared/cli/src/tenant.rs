//! `recado tenant`: removes a tenant of a running installation, here or on AWS.

use crate::api_command::CommandGroup;
use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::dlq::tables::format_fields;
use crate::installation::{InstallationClient, add_part};
use crate::instant::wait_until;
use crate::json_fields::find_text;
use anyhow::{Result, bail};
use clap::Subcommand;
use jiff::Timestamp;
use recado_domain::counting::count_things;
use recado_machine::output::print_answer;
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The subcommands about tenants.
#[derive(Debug, Subcommand)]
pub enum TenantCommand {
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
    group: CommandGroup<TenantCommand>,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = group.asked.there.build_client(environment)?;
    let TenantCommand::Remove { tenant, force, yes } = &group.command;
    let there_is = request_removal(&there, tenant, &[("dry_run", true)]).await?;
    eprintln!("Tenant {tenant} has: {}", format_counts(&there_is));
    confirm_action("Remove it with all of that, for good?", *yes)?;
    let answer = remove_all(&there, tenant, *force).await?;
    print_answer(&answer, group.asked.json, |answer| format_fields(answer) + "\n")
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
        let until = find_text(&part, "waits_until").map(str::parse::<Timestamp>);
        match until.transpose()? {
            Some(until) => {
                eprintln!("Workers may still work for the tenant; the removal goes on at {until}.");
                wait_until(until).await;
            }
            None => eprintln!("Removed so far: {}", format_counts(&json!(total))),
        }
    }
}

/// Formats the counts that are not 0, in the order of their names, such as "31 conversations, 2 instances".
fn format_counts(answer: &Value) -> String {
    let counts = answer.as_object().into_iter().flatten();
    let counts = counts.filter_map(|(name, value)| Some((name.as_str(), value.as_u64()?)));
    let counts: BTreeMap<&str, u64> = counts.filter(|(_, count)| *count > 0).collect();
    let told = counts
        .into_iter()
        .map(|(name, count)| match name.strip_suffix('s') {
            Some(thing) => count_things(count, &thing.replace('_', " ")),
            // What is to be sent later is counted by an adjective.
            None => format!("{count} {}", name.replace('_', " ")),
        });
    let counts: Vec<String> = told.collect();
    if counts.is_empty() {
        return "nothing".to_owned();
    }
    counts.join(", ")
}

/// Returns the query that names the tenant, if one was given.
pub(crate) fn name_tenant(tenant: Option<&str>) -> Vec<(&'static str, String)> {
    let tenant = tenant.map(|tenant| ("tenant", tenant.to_owned()));
    tenant.into_iter().collect()
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
