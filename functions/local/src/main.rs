//! The `recado` binary: every function of Recado in one process on one machine, and the command line.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line speaks to its user"
)]

mod compose;
mod configuration;
mod demonstration;
mod dlq;
mod environment;
mod keyring;
mod serve;
mod workers;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use environment::Environment;
use recado_domain::secret::Secret;
use std::path::PathBuf;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// A WhatsApp message backbone. Without a command: serves on this machine and shows a message going in and the reply
/// coming out.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves on this machine, until Ctrl-C or SIGTERM.
    Serve,
    /// Brings a configuration file to a running installation, here or on AWS, and shows what that changes.
    Apply {
        /// The file.
        #[arg(default_value = "recado.toml")]
        file: PathBuf,
        /// Where the installation is.
        #[arg(long, env = "RECADO_URL", default_value = "http://127.0.0.1:8080")]
        url: String,
        /// The operators' token; on the machine that serves, the one kept in the data folder.
        #[arg(long, env = "RECADO_TOKEN", hide_env_values = true)]
        token: Option<String>,
    },
    /// Dead letters of a running installation, here or on AWS: list, show, redrive, purge.
    Dlq {
        #[command(subcommand)]
        command: dlq::Dlq,
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
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log(matches!(arguments.command, Some(Command::Serve)));
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recado: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// JSON lines on standard error. `RUST_LOG` says which; `recado serve` logs each event, `recado` alone only warnings.
fn log(serving: bool) {
    let default = if serving { "info" } else { "warn" };
    // genai writes bodies at TRACE: no filter may let that through.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let filter = match "genai=warn".parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    };
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}

fn run(arguments: Arguments) -> Result<()> {
    let environment = Environment::read(|name| std::env::var(name).ok());
    let environment = match environment {
        Ok(environment) => environment,
        Err(problems) => {
            let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
            bail!("these settings cannot be used:{}", lines.concat());
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = match arguments.command {
        None => runtime.block_on(serve::serve(environment, true)),
        Some(Command::Serve) => runtime.block_on(serve::serve(environment, false)),
        Some(Command::Apply { file, url, token }) => {
            let token = operators_token(token.as_deref(), &environment)?;
            runtime.block_on(configuration::apply(&file, &url, &token))
        }
        Some(Command::Dlq {
            command,
            url,
            token,
            json,
        }) => {
            let token = operators_token(token.as_deref(), &environment)?;
            runtime.block_on(dlq::run(command, &url, &token, json))
        }
    };
    // What was not to be waited for is not waited for here either.
    runtime.shutdown_background();
    done
}

/// The token that was given, else the one that this machine keeps.
fn operators_token(given: Option<&str>, environment: &Environment) -> Result<Secret> {
    given
        .and_then(Secret::new)
        .or_else(|| keyring::kept_token(&environment.data))
        .context("no operators' token: set RECADO_TOKEN or give --token")
}
