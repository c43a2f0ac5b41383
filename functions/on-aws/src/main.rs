//! The `recado-on-aws` binary: moves an installation between AWS and a folder. It runs on the machine of whoever moves, with their
//! credentials of AWS, while the functions of the stack stand still.

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use jiff::{SignedDuration, Timestamp};
use recado_aws::{AwsConfig, AwsQueues, Clients, DynamoStore, OsSystem, variable};
use recado_moving::{ExportOptions, MovingStep, export_installation, import_installation};
use recado_pipeline::records::KINDS;
use recado_pipeline::settings::VariableReader;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Time for which the function `reconcile`, which leaves samples each minute, must not have run.
const QUIET_FOR: SignedDuration = SignedDuration::from_mins(3);

/// The number of records or files after which the progress is shown again.
const SHOWN_EACH: usize = 5_000;

/// Moves an installation on AWS into a folder, or takes it from one. `RECADO_TABLE` and `RECADO_BUCKET` name the table and the bucket
/// of the stack; credentials and region are read as the AWS command line reads them.
#[derive(Debug, Parser)]
#[command(version)]
struct MoveCommandLine {
    #[command(subcommand)]
    command: Move,
}

#[derive(Debug, Subcommand)]
enum Move {
    /// Writes all records and files into a new folder. The functions of the stack must stand still. The export holds personal data, and
    /// no secrets. If it is cut off, run it again.
    Export(MoveArguments),
    /// Takes an export into the table and the bucket of a new stack, and compares all that it took. If it is cut off, run it again.
    Import(MoveArguments),
}

#[derive(Debug, Args)]
struct MoveArguments {
    /// The folder of the export.
    folder: PathBuf,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// The store and the bucket of a stack.
struct Stack {
    store: DynamoStore,
    queues: AwsQueues<OsSystem>,
}

impl Stack {
    async fn open_from_environment() -> Result<Self> {
        let mut reader = VariableReader::new(std::env::vars_os());
        let config = AwsConfig::from_environment(&mut reader, &[variable::TABLE, variable::BUCKET]);
        let problems = reader.into_problems();
        if !problems.is_empty() {
            let lines: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
            bail!("these settings cannot be used:{}", lines.concat());
        }
        let clients = Clients::load_from_env(false).await?;
        let table = config.table.clone().unwrap_or_default();
        Ok(Self {
            store: DynamoStore::new(clients.dynamodb.clone(), table, OsSystem, Duration::ZERO),
            queues: AwsQueues::new(clients, config, OsSystem),
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    match MoveCommandLine::parse().command {
        Move::Export(arguments) => run_export(arguments).await,
        Move::Import(arguments) => run_import(arguments).await,
    }
}

async fn run_export(arguments: MoveArguments) -> Result<()> {
    let stack = Stack::open_from_environment().await?;
    let options = ExportOptions {
        now: Timestamp::now(),
        quiet_for: Some(QUIET_FOR),
    };
    let done = AtomicUsize::new(0);
    let show = |step, more| show_step(&done, step, more);
    let folder = &arguments.folder;
    let exported = export_installation(&stack.store, &stack.queues, &KINDS, folder, options, &show).await;
    let manifest = exported.context("nothing was exported")?;
    if arguments.json {
        println!("{}", manifest.summarize_as_json());
    } else {
        println!("Exported {}: {}", folder.display(), manifest.describe_content());
    }
    Ok(())
}

async fn run_import(arguments: MoveArguments) -> Result<()> {
    let stack = Stack::open_from_environment().await?;
    let done = AtomicUsize::new(0);
    let show = |step, more| show_step(&done, step, more);
    let folder = &arguments.folder;
    let (store, queues, now) = (&stack.store, &stack.queues, Timestamp::now());
    let imported = import_installation(store, queues, &KINDS, folder, now, &show).await;
    let report = imported.context("the import is not finished")?;
    if arguments.json {
        println!("{}", report.summarize_as_json());
    } else {
        report.list_lines().iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// Shows now and then how many records and files were worked on.
fn show_step(done: &AtomicUsize, step: MovingStep, more: usize) {
    let before = done.fetch_add(more, Ordering::Relaxed);
    if before / SHOWN_EACH != (before + more) / SHOWN_EACH {
        eprintln!("{} ({step})", before + more);
    }
}
