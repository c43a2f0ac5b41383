//! The shape of a command that is no more than a request: its route, what it sends, and how its answer is shown.

use crate::command_environment::CommandEnvironment;
use crate::dlq::tables::format_fields;
use crate::installation::{InstallationArguments, InstallationClient};
use anyhow::{Context, Result};
use clap::{Args, Subcommand, ValueEnum};
use recado_machine::output::print_answer;
use reqwest::Method;
use serde_json::{Value, json};

/// The installation that a command asks, and the form in which it prints the answer.
#[derive(Debug, Args)]
pub(crate) struct AskedArguments {
    #[command(flatten)]
    pub(crate) there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl AskedArguments {
    /// Runs a command that is no more than a request.
    pub(crate) async fn run(&self, command: ApiCommand, environment: &CommandEnvironment) -> Result<()> {
        let there = self.there.build_client(environment)?;
        command.run(&there, self.json).await
    }
}

/// A command that is one of several subcommands.
#[derive(Debug, Args)]
pub struct CommandGroup<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
    #[command(flatten)]
    pub(crate) asked: AskedArguments,
}

/// A command that is one of several subcommands, all of which are about a tenant.
#[derive(Debug, Args)]
pub struct TenantGroup<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
    /// The tenant, if there are several.
    #[arg(long, global = true)]
    pub(crate) tenant: Option<String>,
    #[command(flatten)]
    pub(crate) asked: AskedArguments,
}

/// Returns the name of a choice, as it is written on the command line and in the API.
pub(crate) fn name_choice(choice: &impl ValueEnum) -> String {
    let value = choice.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A request that a command sends, and the way in which it shows the answer.
pub(crate) struct ApiCommand {
    method: Method,
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    body: Option<Value>,
    /// The most items of a list that is read page by page.
    most: Option<usize>,
    /// The entries to which the answer is limited, each with its list of the API.
    named: Vec<(&'static str, String)>,
    failure: Option<String>,
    /// The JSON that is told in place of the answer.
    told: Option<Value>,
    show: Box<dyn FnOnce(&Value) -> String>,
}

impl ApiCommand {
    /// Makes a command of a route, which shows the fields of the answer.
    pub(crate) fn new(method: Method, path: &[&str]) -> Self {
        Self {
            method,
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            query: Vec::new(),
            body: None,
            most: None,
            named: Vec::new(),
            failure: None,
            told: None,
            show: Box::new(format_fields),
        }
    }

    /// Makes a command that reads.
    pub(crate) fn get(path: &[&str]) -> Self {
        Self::new(Method::GET, path)
    }

    /// Makes a command that deletes.
    pub(crate) fn delete(path: &[&str]) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// Makes a command that posts a body.
    pub(crate) fn post(path: &[&str], body: Value) -> Self {
        Self::new(Method::POST, path).body(body)
    }

    /// Sends a body.
    pub(crate) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Adds a parameter to the query, if it has a value.
    pub(crate) fn query(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    /// Limits the answer to an entry of a list, such as one of `tenants`. An empty answer is an error if there is no such entry.
    pub(crate) fn only_of(mut self, list: &'static str, id: Option<String>) -> Self {
        self.named.extend(id.clone().map(|id| (list, id)));
        self.query(list.trim_end_matches('s'), id)
    }

    /// Reads a list page by page, up to so many items.
    pub(crate) fn up_to(mut self, most: usize) -> Self {
        self.most = Some(most);
        self
    }

    /// Says what was not done if the request fails.
    pub(crate) fn or_fail(mut self, failure: String) -> Self {
        self.failure = Some(failure);
        self
    }

    /// Shows the answer by a function.
    pub(crate) fn show(mut self, show: impl FnOnce(&Value) -> String + 'static) -> Self {
        self.show = Box::new(show);
        self
    }

    /// Tells what was done to an entry, in place of the answer.
    pub(crate) fn tell_done(mut self, done: &str, told: &str, entry: &str) -> Self {
        self.told = Some(json!({ done: entry }));
        let told = format!("{told} {entry}.\n");
        self.show(|_| told)
    }

    /// Sends the request, and prints the answer.
    pub(crate) async fn run(self, there: &InstallationClient, json: bool) -> Result<()> {
        let answer = self.ask(there).await?;
        print_answer(self.told.as_ref().unwrap_or(&answer), json, self.show)
    }

    /// Sends the request, and returns the answer.
    pub(crate) async fn ask(&self, there: &InstallationClient) -> Result<Value> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let answer = match self.most {
            Some(usize::MAX) => there.list_all_items(&path, &self.query).await?,
            Some(most) => {
                let (items, cursor) = there.list_first_items(&path, &self.query, most).await?;
                json!({ "items": items, "next_cursor": cursor })
            }
            None => {
                let request = there
                    .build_request(self.method.clone(), &path)?
                    .query(&self.query);
                let request = match &self.body {
                    Some(body) => request.json(body),
                    None => request,
                };
                let answer = there.request_json(request).await;
                match &self.failure {
                    Some(failure) => answer.with_context(|| failure.clone())?,
                    None => answer?,
                }
            }
        };
        let named = self.named.iter().map(|(list, id)| (*list, Some(id.as_str())));
        there.check_filters(&answer, &named.collect::<Vec<_>>()).await?;
        Ok(answer)
    }
}
