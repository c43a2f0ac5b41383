//! The `recado` binary: every function of Recado in one process on one machine, and the command line.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line speaks to its user"
)]

mod catching_up;
mod clock;
mod compose;
mod configuration;
mod connect;
mod consent;
mod credential;
mod demonstration;
mod dlq;
mod doctor;
mod environment;
mod installation;
mod keyring;
mod record;
mod replay;
mod serve;
mod server;
mod trying;
mod workers;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use environment::Environment;
use std::process::ExitCode;
use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

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
    Apply(configuration::Apply),
    Try(trying::Try),
    Connect(connect::Connect),
    Doctor(doctor::Doctor),
    CatchUp(catching_up::CatchUp),
    Dlq(dlq::Arguments),
    Replay(replay::Replay),
    Record(record::Record),
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
/// Whatever it says, libraries that write bodies to the log are held to their warnings.
fn log(serving: bool) {
    let default = if serving { "info" } else { "warn" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_writer(std::io::stderr);
    let private = filter_fn(|event| {
        event.is_span() || !recado_ai::is_talkative(event.target()) || *event.level() <= Level::WARN
    });
    tracing_subscriber::registry()
        .with(filter)
        .with(lines.with_filter(private))
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
        Some(Command::Apply(command)) => runtime.block_on(configuration::apply(command, &environment)),
        Some(Command::Try(command)) => runtime.block_on(trying::run(command, &environment)),
        Some(Command::Connect(command)) => runtime.block_on(connect::run(command, &environment)),
        Some(Command::Doctor(command)) => runtime.block_on(doctor::run(command, &environment)),
        Some(Command::CatchUp(command)) => runtime.block_on(catching_up::run(command, &environment)),
        Some(Command::Replay(command)) => runtime.block_on(replay::run(command, &environment)),
        Some(Command::Record(command)) => record::run(command),
        Some(Command::Dlq(command)) => runtime.block_on(dlq::run(command, &environment)),
    };
    // What was not to be waited for is not waited for here either.
    runtime.shutdown_background();
    done
}
