//! The `recado` binary: all functions of Recado in one process on one machine, and the command line.

#[macro_use]
mod output;

mod address_file;
mod agent;
mod alerts;
mod audit;
mod catch_up;
mod clock;
mod compose;
mod configuration;
mod confirm;
mod connect;
mod connect_calendar;
mod consent;
mod contact;
mod conversations;
mod credential;
mod demonstration;
mod dlq;
mod doctor;
mod environment;
mod eval;
mod installation;
mod instant;
mod keyring;
mod knowledge;
mod logging;
mod metrics;
mod record;
mod replay;
mod secret;
mod serve;
mod server;
mod start_checks;
mod stop_signals;
mod tenant;
mod token;
mod trends;
mod try_command;
mod usage;
mod watchman;
mod welcome;
mod workers;

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};
use environment::LocalEnvironment;
use recado_pipeline::settings::VariableReader;
use std::ffi::OsString;
use std::process::ExitCode;

/// The exit status of every command, for scripts.
const EXIT_STATUS: &str = "Exit status: 0 done; 1 failed, refused or (doctor) something to mend; 2 arguments that cannot be used. \
    Results go to standard output, errors, warnings and questions to standard error.";

/// Puts an AI agent on your WhatsApp numbers without losing or doubling a message. Without a command: serves on this
/// machine and shows a message going in and the reply coming out; what has no keys is simulated.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_STATUS)]
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
    Apply(configuration::ApplyArguments),
    Try(try_command::TryArguments),
    Connect(connect::ConnectArguments),
    ConnectCalendar(connect_calendar::ConnectCalendarArguments),
    Doctor(doctor::DoctorArguments),
    CatchUp(catch_up::CatchUpArguments),
    Dlq(dlq::DeadLetterArguments),
    Tenant(tenant::TenantArguments),
    Token(token::TokenArguments),
    Contact(contact::ContactArguments),
    Conversations(conversations::ConversationArguments),
    Trends(trends::TrendArguments),
    Usage(usage::UsageArguments),
    Alerts(alerts::AlertArguments),
    Audit(audit::AuditArguments),
    Agent(agent::AgentArguments),
    Secret(secret::SecretArguments),
    Eval(eval::EvaluationArguments),
    Knowledge(knowledge::KnowledgeArguments),
    Replay(replay::ReplayArguments),
    Record(record::RecordArguments),
    #[command(hide = true)]
    ReadPdf(knowledge::PdfReadingArguments),
}

fn main() -> ExitCode {
    match run_command(CommandLine::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recado: {}", output::format_error(&error));
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
fn read_environment(arguments: &CommandLine) -> Result<(LocalEnvironment, logging::Log)> {
    let mut reader = VariableReader::new(list_variables(arguments));
    let environment = LocalEnvironment::from_variables(&mut reader);
    let serving = matches!(arguments.command, Some(RecadoCommand::Serve(_)));
    let log = logging::start_logging(environment.log, serving)?;
    for (name, why) in reader.list_warnings() {
        tracing::warn!(name, why, "this variable is ignored");
    }
    let problems = reader.into_problems();
    if !problems.is_empty() {
        let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
        bail!("these settings cannot be used:{}", lines.concat());
    }
    Ok((environment, log))
}

fn run_command(arguments: CommandLine) -> Result<()> {
    if let Some(RecadoCommand::ReadPdf(limits)) = &arguments.command {
        return knowledge::print_pdf_text(limits);
    }
    let (environment, log) = read_environment(&arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = match arguments.command {
        None => runtime.block_on(serve::serve_until_signal(environment, true)),
        Some(RecadoCommand::Serve(_)) => runtime.block_on(serve::serve_until_signal(environment, false)),
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
        Some(RecadoCommand::ConnectCalendar(command)) => {
            runtime.block_on(connect_calendar::connect_calendar(command, &environment))
        }
        Some(RecadoCommand::Eval(command)) => runtime.block_on(eval::run_evaluation(command, &environment)),
        Some(RecadoCommand::Knowledge(command)) => {
            runtime.block_on(knowledge::run_knowledge_command(command, &environment))
        }
        Some(RecadoCommand::Alerts(command)) => {
            runtime.block_on(alerts::run_alert_command(command, &environment))
        }
        Some(RecadoCommand::Agent(command)) => {
            runtime.block_on(agent::run_agent_command(command, &environment))
        }
        Some(RecadoCommand::Tenant(command)) => {
            runtime.block_on(tenant::run_tenant_command(command, &environment))
        }
        Some(RecadoCommand::Token(command)) => {
            runtime.block_on(token::run_token_command(command, &environment))
        }
        Some(RecadoCommand::Dlq(command)) => {
            runtime.block_on(dlq::run_dead_letter_command(command, &environment))
        }
        Some(RecadoCommand::Contact(command)) => {
            runtime.block_on(contact::run_contact_command(command, &environment))
        }
        Some(RecadoCommand::Conversations(command)) => {
            runtime.block_on(conversations::list_conversations(command, &environment))
        }
        Some(RecadoCommand::Usage(command)) => runtime.block_on(usage::run_usage(command, &environment)),
        Some(RecadoCommand::Trends(command)) => runtime.block_on(trends::run_trends(command, &environment)),
        Some(RecadoCommand::Secret(command)) => {
            runtime.block_on(secret::run_secret_command(command, &environment))
        }
        Some(RecadoCommand::Audit(command)) => runtime.block_on(audit::show_audit(command, &environment)),
        // It runs above, without settings.
        Some(RecadoCommand::ReadPdf(_)) => Ok(()),
    };
    // Tasks that are still running at this point are not waited for.
    runtime.shutdown_background();
    drop(log);
    done
}
