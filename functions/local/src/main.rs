//! The `recado` binary: all functions of Recado in one process on one machine, and the command line.

#[macro_use]
mod output;

mod address_file;
mod catch_up;
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
mod try_command;
mod workers;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use environment::LocalEnvironment;
use recado_pipeline::settings::VariableReader;
use std::process::ExitCode;
use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// A WhatsApp message backbone. Without a command: serves on this machine and shows a message going in and the reply
/// coming out.
#[derive(Debug, Parser)]
#[command(version)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<RecadoCommand>,
}

#[derive(Debug, Subcommand)]
enum RecadoCommand {
    /// Serves on this machine, until Ctrl-C or SIGTERM.
    Serve,
    Apply(configuration::ApplyArguments),
    Try(try_command::TryArguments),
    Connect(connect::ConnectArguments),
    Doctor(doctor::DoctorArguments),
    CatchUp(catch_up::CatchUpArguments),
    Dlq(dlq::DeadLetterArguments),
    Replay(replay::ReplayArguments),
    Record(record::RecordArguments),
}

fn main() -> ExitCode {
    let arguments = CommandLine::parse();
    init_logging(matches!(arguments.command, Some(RecadoCommand::Serve)));
    match run_command(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recado: {}", output::format_error(&error));
            ExitCode::FAILURE
        }
    }
}

/// Logs JSON lines to standard error. `RUST_LOG` selects the lines; without it `recado serve` logs from `info` on,
/// `recado` alone only warnings. Whatever `RUST_LOG` says, libraries that write bodies to the log are limited to
/// warnings.
fn init_logging(serving: bool) {
    let default = if serving { "info" } else { "warn" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_writer(std::io::stderr)
        // A closed standard error must not end the server.
        .log_internal_errors(false);
    let private = filter_fn(|event| {
        event.is_span()
            || !recado_http_client::logs_message_bodies(event.target())
            || *event.level() <= Level::WARN
    });
    tracing_subscriber::registry()
        .with(filter)
        .with(lines.with_filter(private))
        .init();
}

/// Reads the settings. A variable that has no effect is a warning; a value that cannot be used is an error.
fn read_environment() -> Result<LocalEnvironment> {
    let mut reader = VariableReader::new(std::env::vars_os());
    let environment = LocalEnvironment::from_variables(&mut reader);
    for (name, why) in reader.list_warnings() {
        tracing::warn!(name, why, "this variable is ignored");
    }
    let problems = reader.into_problems();
    if !problems.is_empty() {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
        bail!("these settings cannot be used:{}", lines.concat());
    }
    Ok(environment)
}

fn run_command(arguments: CommandLine) -> Result<()> {
    let environment = read_environment()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = match arguments.command {
        None => runtime.block_on(serve::serve_until_signal(environment, true)),
        Some(RecadoCommand::Serve) => runtime.block_on(serve::serve_until_signal(environment, false)),
        Some(RecadoCommand::Apply(command)) => {
            runtime.block_on(configuration::apply_configuration(command, &environment))
        }
        Some(RecadoCommand::Try(command)) => {
            runtime.block_on(try_command::print_try_request(command, &environment))
        }
        Some(RecadoCommand::Connect(command)) => {
            runtime.block_on(connect::run_connect(command, &environment))
        }
        Some(RecadoCommand::Doctor(command)) => runtime.block_on(doctor::run_doctor(command, &environment)),
        Some(RecadoCommand::CatchUp(command)) => {
            runtime.block_on(catch_up::run_catch_up(command, &environment))
        }
        Some(RecadoCommand::Replay(command)) => runtime.block_on(replay::run_replay(command, &environment)),
        Some(RecadoCommand::Record(command)) => record::run_record_command(command),
        Some(RecadoCommand::Dlq(command)) => {
            runtime.block_on(dlq::run_dead_letter_command(command, &environment))
        }
    };
    // Tasks that are still running at this point are not waited for.
    runtime.shutdown_background();
    done
}
