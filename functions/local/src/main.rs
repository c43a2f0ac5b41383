//! The `recado` binary: all functions of Recado in one process on one machine, and the command line.

#[macro_use]
mod output;

mod address_file;
mod agent;
mod alerts;
mod answer_note;
mod api_request;
mod audit;
mod background;
mod backup;
mod catch_up;
mod clock;
mod completions;
mod compose;
mod configuration;
mod confirm;
mod connect;
mod connect_calendar;
mod consent;
mod console;
mod contact;
mod conversation_thread;
mod conversations;
mod credential;
mod deliveries;
mod delivery_batches;
mod delivery_table;
mod demonstration;
mod dlq;
mod doctor;
mod effects;
mod email_senders;
mod endpoint_posts;
mod environment;
mod eval;
mod event_follower;
mod find;
mod guests;
mod init;
mod installation;
mod instant;
mod json_fields;
mod keyring;
mod knowledge;
mod logging;
mod mcp;
mod message_follower;
mod message_lines;
mod metrics;
mod moving;
mod parquet;
mod progress;
mod record;
mod replay;
mod say;
mod secret;
mod serve;
mod server;
mod service_manager;
mod simulated_customer;
mod start_checks;
mod status;
mod stop_signals;
mod style;
mod tail;
mod tenant;
mod text_lines;
mod token;
mod traces;
mod trends;
mod try_command;
mod usage;
mod watchman;
mod webhooks;
mod welcome;
mod word_indexing;
mod workers;

/// Threads hand memory to each other all the time: what a request was read into is freed by the thread that stored it. The C
/// library's allocator makes them wait for each other then.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

use anyhow::{Result, bail};
use clap::{Args, CommandFactory, Parser, Subcommand};
use environment::LocalEnvironment;
use recado_pipeline::settings::VariableReader;
use std::ffi::OsString;
use std::process::ExitCode;
use traces::StartedTraces;

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
    Init(init::InitArguments),
    Apply(configuration::ApplyArguments),
    Status(status::StatusArguments),
    Tail(tail::TailArguments),
    Find(find::FindArguments),
    Say(say::SayArguments),
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
    Deliver(deliveries::DeliveryArguments),
    Guests(guests::GuestArguments),
    Effects(effects::EffectArguments),
    Trends(trends::TrendArguments),
    Usage(usage::UsageArguments),
    Alerts(alerts::AlertArguments),
    Audit(audit::AuditArguments),
    Agent(agent::AgentArguments),
    Secret(secret::SecretArguments),
    Webhooks(webhooks::WebhookArguments),
    Eval(eval::EvaluationArguments),
    Knowledge(knowledge::KnowledgeArguments),
    Replay(replay::ReplayArguments),
    Record(record::RecordArguments),
    Backup(backup::BackupArguments),
    Restore(backup::RestoreArguments),
    Export(moving::ExportFolderArguments),
    Import(moving::ImportFolderArguments),
    Api(api_request::ApiArguments),
    Mcp(mcp::McpArguments),
    Completions(completions::CompletionArguments),
    #[command(hide = true)]
    ReadPdf(knowledge::PdfReadingArguments),
}

fn main() -> ExitCode {
    match run_command(CommandLine::parse()) {
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
fn read_environment(
    arguments: &CommandLine,
) -> Result<(LocalEnvironment, logging::Log, Option<StartedTraces>)> {
    let mut reader = VariableReader::new(list_variables(arguments));
    let environment = LocalEnvironment::from_variables(&mut reader);
    let serving = matches!(arguments.command, Some(RecadoCommand::Serve(_)));
    // Only what serves makes spans that belong to messages.
    let is_server = serving || arguments.command.is_none();
    let traces = StartedTraces::prepare(environment.traces.as_ref().filter(|_| is_server))?;
    let spans = traces.as_ref().map(StartedTraces::create_layer);
    let log = logging::start_logging(environment.log, serving, spans)?;
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

fn run_command(arguments: CommandLine) -> Result<ExitCode> {
    let Some(arguments) = run_without_settings(arguments)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let (environment, log, traces) = read_environment(&arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let traces = traces.map(|traces| traces.start_delivery(runtime.handle()));
    let done = match arguments.command {
        None => runtime
            .block_on(serve::serve_until_signal(environment, true))
            .map(|()| ExitCode::SUCCESS),
        Some(RecadoCommand::Serve(_)) => runtime
            .block_on(serve::serve_until_signal(environment, false))
            .map(|()| ExitCode::SUCCESS),
        Some(RecadoCommand::Api(command)) => {
            runtime.block_on(api_request::send_api_request(command, &environment))
        }
        Some(command) => runtime
            .block_on(run_short_command(command, &environment))
            .map(|()| ExitCode::SUCCESS),
    };
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
        Some(RecadoCommand::ReadPdf(limits)) => knowledge::run_pdf_reading(&limits)?,
        Some(RecadoCommand::Init(command)) => init::write_configuration(command)?,
        Some(RecadoCommand::Completions(command)) => {
            completions::print_completions(&command, CommandLine::command());
        }
        _ => return Ok(Some(arguments)),
    }
    Ok(None)
}

/// Runs a command that ends by itself.
async fn run_short_command(command: RecadoCommand, environment: &LocalEnvironment) -> Result<()> {
    match command {
        RecadoCommand::Apply(command) => configuration::apply_configuration(command, environment).await,
        RecadoCommand::Try(command) => try_command::print_try_request(command, environment).await,
        RecadoCommand::Connect(command) => connect::run_connect(command, environment).await,
        RecadoCommand::Doctor(command) => doctor::run_doctor(command, environment).await,
        RecadoCommand::CatchUp(command) => catch_up::run_catch_up(command, environment).await,
        RecadoCommand::Replay(command) => replay::run_replay(command, environment).await,
        RecadoCommand::Record(command) => record::run_record_command(command),
        RecadoCommand::Backup(command) => backup::run_backup(command, environment).await,
        RecadoCommand::Restore(command) => backup::run_restore(command).await,
        RecadoCommand::Export(command) => moving::run_export(command, environment).await,
        RecadoCommand::Import(command) => moving::run_import(command, environment).await,
        RecadoCommand::ConnectCalendar(command) => {
            connect_calendar::connect_calendar(command, environment).await
        }
        RecadoCommand::Eval(command) => eval::run_evaluation(command, environment).await,
        RecadoCommand::Knowledge(command) => knowledge::run_knowledge_command(command, environment).await,
        RecadoCommand::Alerts(command) => alerts::run_alert_command(command, environment).await,
        RecadoCommand::Agent(command) => agent::run_agent_command(command, environment).await,
        RecadoCommand::Tenant(command) => tenant::run_tenant_command(command, environment).await,
        RecadoCommand::Token(command) => token::run_token_command(command, environment).await,
        RecadoCommand::Dlq(command) => dlq::run_dead_letter_command(command, environment).await,
        RecadoCommand::Contact(command) => contact::run_contact_command(command, environment).await,
        RecadoCommand::Conversations(command) => {
            conversations::run_conversation_command(command, environment).await
        }
        RecadoCommand::Deliver(command) => deliveries::run_delivery_command(command, environment).await,
        RecadoCommand::Guests(command) => guests::run_guest_command(command, environment).await,
        RecadoCommand::Effects(command) => effects::run_effect_command(command, environment).await,
        RecadoCommand::Usage(command) => usage::run_usage(command, environment).await,
        RecadoCommand::Trends(command) => trends::run_trends(command, environment).await,
        RecadoCommand::Secret(command) => secret::run_secret_command(command, environment).await,
        RecadoCommand::Webhooks(command) => webhooks::run_webhook_command(command, environment).await,
        RecadoCommand::Audit(command) => audit::show_audit(command, environment).await,
        RecadoCommand::Status(command) => status::show_status(command, environment).await,
        RecadoCommand::Tail(command) => tail::tail_messages(command, environment).await,
        RecadoCommand::Find(command) => find::find_any_record(command, environment).await,
        RecadoCommand::Say(command) => say::say_text(command, environment).await,
        RecadoCommand::Mcp(command) => mcp::serve_tools(command, environment).await,
        // They run in `run_command`.
        RecadoCommand::Serve(_)
        | RecadoCommand::ReadPdf(_)
        | RecadoCommand::Init(_)
        | RecadoCommand::Completions(_)
        | RecadoCommand::Api(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
