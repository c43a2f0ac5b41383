//! `recado alerts`: lists alerts of a running installation, tests their destinations, and redrives notifications.

mod runbooks;
mod tables;

use crate::api_command::{ApiCommand, AskedArguments};
use crate::command_environment::CommandEnvironment;
use crate::installation::InstallationClient;
use crate::json_fields::{find_text, list_items};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use recado_domain::alert::AlertKind;
use reqwest::Method;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tables::{format_alerts, format_notifications};

/// Longest time to wait for the delivery of a test: two passes, a minute apart.
const TEST_TIMEOUT: Duration = Duration::from_secs(150);

/// Time between two looks at a test.
const TEST_INTERVAL: Duration = Duration::from_secs(2);

/// Alerts of a running installation, here or on AWS. Without a command: lists those that hold.
#[derive(Debug, Args)]
pub struct AlertArguments {
    #[command(subcommand)]
    command: Option<AlertCommand>,
    #[command(flatten)]
    asked: AskedArguments,
}

#[derive(Debug, Subcommand)]
enum AlertCommand {
    /// Lists alerts.
    List {
        /// Lists those that are over, the newest first.
        #[arg(long)]
        ended: bool,
        /// Lists conditions that hold, but not long enough yet for an alert.
        #[arg(long, conflicts_with = "ended")]
        watched: bool,
        /// Only of this tenant.
        #[arg(long)]
        tenant: Option<String>,
        /// Lists at most so many of those that are over.
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// The cursor that the page before gave.
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Sends a test to each destination, and waits until each took it.
    Test {
        /// Only to this destination.
        destination: Option<String>,
        /// Does not wait.
        #[arg(long)]
        no_wait: bool,
    },
    /// Lists the notifications that were given up.
    Dead {
        /// Lists those that are still tried instead.
        #[arg(long)]
        pending: bool,
    },
    /// Sends notifications again that were given up.
    Redrive {
        /// The ids of the notifications.
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Prints what to do about an alert.
    Runbook {
        /// The kind of the alert, such as `disconnected`.
        kind: String,
    },
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_alert_command(
    arguments: AlertArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let command = arguments.command.unwrap_or(AlertCommand::List {
        ended: false,
        watched: false,
        tenant: None,
        limit: 50,
        cursor: None,
    });
    if let AlertCommand::Runbook { kind } = &command {
        print!("{}", find_runbook(kind)?);
        return Ok(());
    }
    let there = arguments.asked.there.build_client(environment)?;
    let command = match command {
        AlertCommand::List {
            ended,
            watched,
            tenant,
            limit,
            cursor,
        } => {
            let state = match (ended, watched) {
                (true, _) => "ended",
                (false, true) => "watched",
                (false, false) => "firing",
            };
            ApiCommand::get(&["v1", "alerts"])
                .query("state", Some(state))
                .query("limit", Some(limit))
                .only_of("tenants", tenant)
                .query("cursor", cursor)
                .show(format_alerts)
        }
        AlertCommand::Test { destination, no_wait } => {
            let test = ApiCommand::new(Method::POST, &["v1", "alerts", "test"])
                .query("destination", destination)
                .show(format_notifications);
            if !no_wait {
                let made = test.ask(&there).await?;
                return wait_for_delivery(&there, &made).await;
            }
            test
        }
        AlertCommand::Dead { pending: false } => list_notifications("dead"),
        AlertCommand::Dead { pending: true } => list_notifications("pending"),
        AlertCommand::Redrive { ids } => {
            for id in &ids {
                let path = ["v1", "alerts", "notifications", id, "redrive"];
                let redrive = ApiCommand::new(Method::POST, &path);
                let redrive = redrive.or_fail(format!("{id} was not redriven"));
                redrive.ask(&there).await?;
            }
            list_notifications("pending")
        }
        AlertCommand::Runbook { .. } => return Ok(()),
    };
    command.run(&there, arguments.asked.json).await
}

fn list_notifications(state: &str) -> ApiCommand {
    ApiCommand::get(&["v1", "alerts", "notifications"])
        .query("state", Some(state))
        .show(format_notifications)
}

fn find_runbook(name: &str) -> Result<&'static str> {
    let kind = AlertKind::ALL.iter().copied().find(|kind| kind.as_str() == name);
    let known = || {
        let names: Vec<&str> = AlertKind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("there is no alert {name}; there is {}", names.join(", "))
    };
    kind.map(runbooks::read_runbook).with_context(known)
}

/// Waits until each destination took its test or failed, and prints the result of each.
async fn wait_for_delivery(there: &InstallationClient, made: &Value) -> Result<()> {
    let tests = list_items(made, "items").iter();
    let tests = tests.filter_map(|test| Some((find_text(test, "id")?, find_text(test, "destination")?)));
    let mut open: BTreeMap<&str, &str> = tests.collect();
    eprintln!("Tests go out within a minute …");
    let begun = Instant::now();
    let mut failed = 0;
    while !open.is_empty() {
        if begun.elapsed() > TEST_TIMEOUT {
            let names = open.into_values().collect::<Vec<_>>().join(", ");
            bail!("nothing was tried: {names}. Is Recado running there?");
        }
        tokio::time::sleep(TEST_INTERVAL).await;
        let pending = list_notifications("pending").ask(there).await?;
        let tried = list_items(&pending, "items").iter();
        let tried = tried.filter_map(|test| Some((find_text(test, "id")?, find_text(test, "last_error"))));
        let tried: BTreeMap<&str, Option<&str>> = tried.collect();
        open.retain(|id, destination| match tried.get(*id) {
            None => {
                println!("{destination}: delivered");
                false
            }
            Some(Some(error)) => {
                println!("{destination}: failed, and is tried again: {error}");
                failed += 1;
                false
            }
            Some(None) => true,
        });
    }
    if failed > 0 {
        bail!("{failed} of the destinations did not take the test");
    }
    Ok(())
}
