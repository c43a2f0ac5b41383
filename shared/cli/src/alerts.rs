//! `recado alerts`: lists alerts of a running installation, tests their destinations, and redrives notifications.

mod runbooks;
mod tables;

use crate::command_environment::CommandEnvironment;
use crate::installation::{InstallationArguments, InstallationClient};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use recado_domain::alert::AlertKind;
use recado_machine::output::print_answer;
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
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
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
    let there = AlertClient {
        there: arguments.there.build_client(environment)?,
    };
    let (answer, table): (Value, fn(&Value) -> String) = match command {
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
            let tenant = tenant.as_deref();
            let alerts = there.list_alerts(state, tenant, limit, cursor.as_deref()).await?;
            there.there.check_filters(&alerts, &[("tenants", tenant)]).await?;
            (alerts, format_alerts)
        }
        AlertCommand::Test { destination, no_wait } => {
            let made = there.post_test(destination.as_deref()).await?;
            if !no_wait {
                return there.wait_for_delivery(&made).await;
            }
            (made, format_notifications)
        }
        AlertCommand::Dead { pending } => {
            let state = if pending { "pending" } else { "dead" };
            (there.list_notifications(state).await?, format_notifications)
        }
        AlertCommand::Redrive { ids } => {
            for id in &ids {
                there.redrive_notification(id).await?;
            }
            (there.list_notifications("pending").await?, format_notifications)
        }
        AlertCommand::Runbook { .. } => return Ok(()),
    };
    print_answer(&answer, arguments.json, table)
}

fn find_runbook(name: &str) -> Result<&'static str> {
    let kind = AlertKind::ALL.into_iter().find(|kind| kind.as_str() == name);
    let known = || {
        let names: Vec<&str> = AlertKind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("there is no alert {name}; there is {}", names.join(", "))
    };
    kind.map(runbooks::read_runbook).with_context(known)
}

/// The alerts of an installation.
struct AlertClient {
    there: InstallationClient,
}

impl AlertClient {
    async fn list_alerts(
        &self,
        state: &str,
        tenant: Option<&str>,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Value> {
        let limit = limit.to_string();
        let mut query = vec![("state", state), ("limit", &limit)];
        query.extend(tenant.map(|tenant| ("tenant", tenant)));
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let request = self.there.build_request(Method::GET, &["v1", "alerts"])?;
        self.there.request_json(request.query(&query)).await
    }

    async fn list_notifications(&self, state: &str) -> Result<Value> {
        let path = ["v1", "alerts", "notifications"];
        let request = self.there.build_request(Method::GET, &path)?;
        self.there.request_json(request.query(&[("state", state)])).await
    }

    async fn redrive_notification(&self, id: &str) -> Result<Value> {
        let path = ["v1", "alerts", "notifications", id, "redrive"];
        let request = self.there.build_request(Method::POST, &path)?;
        let redriven = self.there.request_json(request).await;
        redriven.with_context(|| format!("{id} was not redriven"))
    }

    async fn post_test(&self, destination: Option<&str>) -> Result<Value> {
        let mut request = self
            .there
            .build_request(Method::POST, &["v1", "alerts", "test"])?;
        if let Some(destination) = destination {
            request = request.query(&[("destination", destination)]);
        }
        self.there.request_json(request).await
    }

    /// Waits until each destination took its test or failed, and prints the result of each.
    async fn wait_for_delivery(&self, made: &Value) -> Result<()> {
        let mut open: BTreeMap<String, String> = items(made)
            .filter_map(|test| Some((text_at(test, "id")?, text_at(test, "destination")?)))
            .collect();
        eprintln!("Tests go out within a minute …");
        let begun = Instant::now();
        let mut failed = 0;
        while !open.is_empty() {
            if begun.elapsed() > TEST_TIMEOUT {
                let names: Vec<String> = open.into_values().collect();
                bail!(
                    "nothing was tried: {}. Is Recado running there?",
                    names.join(", ")
                );
            }
            tokio::time::sleep(TEST_INTERVAL).await;
            let pending = self.list_notifications("pending").await?;
            let tried: BTreeMap<String, Option<String>> = items(&pending)
                .filter_map(|test| Some((text_at(test, "id")?, text_at(test, "last_error"))))
                .collect();
            open.retain(|id, destination| match tried.get(id) {
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
}

fn items(answer: &Value) -> impl Iterator<Item = &Value> {
    answer
        .get("items")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn text_at(item: &Value, name: &str) -> Option<String> {
    item.get(name).and_then(Value::as_str).map(str::to_owned)
}
