//! The `recado` binary: all functions of Recado in one process on one machine, and the command line.

#[macro_use]
extern crate recado_machine;

mod agent;
mod backup;
mod completions;
mod connect_calendar;
mod document_reading;
mod email_senders;
mod eval;
mod help;
mod moving;

/// Threads hand memory to each other all the time: what a request was read into is freed by the thread that stored it. The C
/// library's allocator makes them wait for each other then.
#[cfg(all(feature = "allocator", target_os = "linux", target_arch = "x86_64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

use anyhow::{Result, bail};
use clap::{Args, CommandFactory, Parser, Subcommand};
use futures::future::LocalBoxFuture;
use recado_cli::demonstration::run_demonstration;
use recado_cli::doctor::{self, DoctorArguments};
use recado_cli::installation::InstalledConfiguration;
use recado_cli::{ClientCommand, CommandEnvironment, run_client_command};
use recado_local::environment::LocalEnvironment;
use recado_local::traces::{self, StartedTraces};
use recado_machine::{output, style};
use recado_onboarding::CheckResult;
use recado_pipeline::settings::VariableReader;
use recado_server::logging::{self, Log};
use recado_server::serve::{Demonstrate, serve_until_signal};
use std::ffi::OsString;
use std::process::ExitCode;

/// The exit status of every command, for scripts.
const EXIT_STATUS: &str = "Exit status: 0 done; 1 failed, refused or (doctor) something to mend; 2 arguments that cannot be used. \
    Results go to standard output, errors, warnings and questions to standard error.";

/// Puts an AI agent on your WhatsApp numbers without losing or doubling a message. Without a command: serves on this
/// machine and shows a message going in and the reply coming out; what has no keys is simulated.
#[derive(Debug, Parser)]
#[command(version = env!("PROGRAM_VERSION"), after_help = EXIT_STATUS)]
struct CommandLine {
    #[command(flatten)]
    serve: ServeArguments,
    /// The data folder (`RECADO_DATA`; otherwise `.recado`).
    #[arg(long, global = true, value_name = "FOLDER")]
    data: Option<String>,
    #[command(subcommand)]
    command: Option<RecadoCommand>,
}

/// The settings of the server that are given as arguments. They count more than the environment.
#[derive(Debug, Default, Args)]
struct ServeArguments {
    /// The address to listen on, such as `localhost:8080` or `8080` (`RECADO_ADDR`).
    #[arg(long, value_name = "ADDRESS")]
    addr: Option<String>,
    /// The configuration to apply at the start (`RECADO_CONFIG`; otherwise `recado.toml` in this folder).
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
}

#[derive(Debug, Subcommand)]
enum RecadoCommand {
    /// Serves on this machine, until Ctrl-C or SIGTERM. Nothing is simulated unless `RECADO_SIMULATION` says so.
    Serve(ServeArguments),
    #[command(flatten)]
    Client(ClientCommand),
    Doctor(DoctorArguments),
    ConnectCalendar(connect_calendar::ConnectCalendarArguments),
    Agent(agent::AgentArguments),
    Eval(eval::EvaluationArguments),
    Backup(backup::BackupArguments),
    Restore(backup::RestoreArguments),
    Export(moving::ExportFolderArguments),
    Import(moving::ImportFolderArguments),
    Completions(completions::CompletionArguments),
    #[command(hide = true)]
    ReadDocument(document_reading::ReadingArguments),
}

fn main() -> ExitCode {
    let arguments: CommandLine = match help::parse_arguments() {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    match run_command(arguments) {
        Ok(status) => status,
        Err(error) => {
            let name = style::paint_text(style::Paint::Bad, "recado:");
            eprintln!("{name} {}", output::format_error(&error));
            ExitCode::FAILURE
        }
    }
}

/// Returns the environment, changed by the arguments that stand for settings.
fn list_variables(arguments: &CommandLine) -> impl Iterator<Item = (OsString, OsString)> {
    let served = match &arguments.command {
        Some(RecadoCommand::Serve(serve)) => serve,
        _ => &arguments.serve,
    };
    let given = [
        (
            "RECADO_ADDR",
            served.addr.as_ref().or(arguments.serve.addr.as_ref()),
        ),
        (
            "RECADO_CONFIG",
            served.config.as_ref().or(arguments.serve.config.as_ref()),
        ),
        ("RECADO_DATA", arguments.data.as_ref()),
    ];
    let given = given.map(|(name, value)| Some((OsString::from(name), OsString::from(value?))));
    std::env::vars_os().chain(given.into_iter().flatten())
}

/// Reads the settings and starts the log. A variable that has no effect is a warning; a value that cannot be used is an
/// error.
fn read_environment(arguments: &CommandLine) -> Result<(LocalEnvironment, Log, Option<StartedTraces>)> {
    let mut reader = VariableReader::new(list_variables(arguments));
    let environment = LocalEnvironment::from_variables(&mut reader);
    let serving = matches!(arguments.command, Some(RecadoCommand::Serve(_)));
    // Only what serves makes spans that belong to messages.
    let is_server = serving || arguments.command.is_none();
    let traces = StartedTraces::prepare(environment.traces.as_ref().filter(|_| is_server))?;
    let log = logging::start_logging(environment.log, serving, traces.as_ref())?;
    for (name, why) in reader.list_warnings() {
        tracing::warn!(name, why, "this variable is ignored");
    }
    let problems = reader.into_problems();
    if !problems.is_empty() {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
        bail!("these settings cannot be used:{}", lines.concat());
    }
    Ok((environment, log, traces))
}

/// Returns what the commands of the command line read of the settings.
fn select_command_settings(environment: &LocalEnvironment) -> CommandEnvironment {
    CommandEnvironment {
        address: environment.address,
        data: environment.data.clone(),
        public_url: environment.public_url.clone(),
        providers: environment.providers.clone(),
        read_pdf: document_reading::read_pdf_beside,
    }
}

fn run_command(arguments: CommandLine) -> Result<ExitCode> {
    let Some(arguments) = run_without_settings(arguments)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let (environment, log, traces) = read_environment(&arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let traces = traces.map(|traces| traces.start_delivery(runtime.handle()));
    let done = runtime.block_on(run_with_settings(arguments.command, environment));
    if let Some(traces) = traces {
        runtime.block_on(traces.flush_spans(traces::LAST_SPANS));
    }
    // Tasks that are still running at this point are not waited for.
    runtime.shutdown_background();
    drop(log);
    done
}

/// Runs a command that needs no settings. Returns the command line back if it is another one.
fn run_without_settings(arguments: CommandLine) -> Result<Option<CommandLine>> {
    match arguments.command {
        Some(RecadoCommand::ReadDocument(limits)) => document_reading::run_document_reading(&limits)?,
        Some(RecadoCommand::Completions(command)) => {
            completions::print_completions(&command, CommandLine::command());
        }
        _ => return Ok(Some(arguments)),
    }
    Ok(None)
}

/// Runs the command with the settings.
fn run_with_settings(
    command: Option<RecadoCommand>,
    environment: LocalEnvironment,
) -> LocalBoxFuture<'static, Result<ExitCode>> {
    Box::pin(async move {
        let commands = select_command_settings(&environment);
        match command {
            None => {
                let demonstrate: Demonstrate = Box::new(|served| {
                    Box::pin(run_demonstration(
                        served.address,
                        served.token,
                        served.is_simulated,
                    ))
                });
                serve_until_signal(environment, Some(demonstrate)).await?;
            }
            Some(RecadoCommand::Serve(_)) => serve_until_signal(environment, None).await?,
            Some(RecadoCommand::Client(command)) => return run_client_command(command, &commands).await,
            Some(RecadoCommand::Doctor(command)) => {
                doctor::run_doctor(command, &commands, &|configured| {
                    Box::pin(check_with_keys(environment.clone(), configured))
                })
                .await?;
            }
            Some(command) => run_local_command(command, &environment, &commands).await?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Checks the calendars and the carriers of e-mail by their keys.
async fn check_with_keys(
    environment: LocalEnvironment,
    configured: &InstalledConfiguration,
) -> Result<Vec<CheckResult>> {
    let mut findings = connect_calendar::check_calendars(&environment, configured).await?;
    findings.extend(email_senders::check_email_senders(&environment, configured).await?);
    Ok(findings)
}

/// Runs a command that needs parts of the server, and ends by itself.
async fn run_local_command(
    command: RecadoCommand,
    environment: &LocalEnvironment,
    commands: &CommandEnvironment,
) -> Result<()> {
    match command {
        RecadoCommand::Backup(command) => backup::run_backup(command, environment).await,
        RecadoCommand::Restore(command) => backup::run_restore(command).await,
        RecadoCommand::Export(command) => moving::run_export(command, environment).await,
        RecadoCommand::Import(command) => moving::run_import(command, environment).await,
        RecadoCommand::ConnectCalendar(command) => {
            connect_calendar::connect_calendar(command, environment, commands).await
        }
        RecadoCommand::Eval(command) => eval::run_evaluation(command, environment).await,
        RecadoCommand::Agent(command) => agent::run_agent_command(command, environment, commands).await,
        // They run in `run_command`.
        RecadoCommand::Serve(_)
        | RecadoCommand::Client(_)
        | RecadoCommand::Doctor(_)
        | RecadoCommand::ReadDocument(_)
        | RecadoCommand::Completions(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
