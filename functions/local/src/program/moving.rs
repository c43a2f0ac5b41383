//! `recado export` and `recado import`: write the installation of a data folder into a folder that AWS or another machine takes,
//! and the reverse.

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::Timestamp;
use recado_cli::progress::ProgressBar;
use recado_embedded::{Clock, Embedded};
use recado_local::environment::LocalEnvironment;
use recado_moving::{
    ExportManifest, ExportOptions, MovingStep, check_export, export_installation, import_installation,
};
use recado_pipeline::records::KINDS;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Writes all records and files of the data folder into a new folder, for `recado-on-aws import` or `recado import`. No server may run
/// on the data folder. The export holds personal data, and no secrets.
#[derive(Debug, Args)]
pub(crate) struct ExportFolderArguments {
    /// The new folder; with --check, the export to check.
    to: PathBuf,
    /// Checks an export by its checksums, and writes nothing.
    #[arg(long)]
    check: bool,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Takes an export into a new data folder (--data), and compares all that it took. If it is cut off, run it again. What is still
/// owed is done after the first start.
#[derive(Debug, Args)]
pub(crate) struct ImportFolderArguments {
    /// The export.
    from: PathBuf,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Writes or checks an export.
pub(crate) async fn run_export(
    arguments: ExportFolderArguments,
    environment: &LocalEnvironment,
) -> Result<()> {
    let ExportFolderArguments { to, check, json } = arguments;
    if check {
        let manifest = check_export(&KINDS, &to).context("this export cannot be used")?;
        print_export("The export is whole", &manifest, None, json);
        return Ok(());
    }
    let data = &environment.data;
    if !data.join("recado.db").exists() {
        bail!(
            "{} holds no data of Recado: name its folder with --data (RECADO_DATA)",
            data.display()
        );
    }
    let embedded = Embedded::open_folder(data, Clock::from_system()).context("nothing was exported")?;
    if embedded.is_unstarted_backup().await? {
        bail!(
            "this data folder comes from a backup, and was not started since: start and stop it once, then export it"
        );
    }
    let options = ExportOptions {
        now: Timestamp::now(),
        quiet_for: None,
    };
    let bar = Mutex::new(ProgressBar::start_counting());
    let show = |step, _| show_step(&bar, step);
    let exported = export_installation(&embedded, &embedded, &KINDS, &to, options, &show).await;
    bar.lock().unwrap_or_else(PoisonError::into_inner).clear_line();
    embedded.shut_down().await;
    print_export(
        "Exported",
        &exported.context("nothing was exported")?,
        Some(&to),
        json,
    );
    Ok(())
}

/// Takes an export, and says what comes next.
pub(crate) async fn run_import(
    arguments: ImportFolderArguments,
    environment: &LocalEnvironment,
) -> Result<()> {
    let ImportFolderArguments { from, json } = arguments;
    let data = &environment.data;
    let embedded =
        Embedded::open_folder_to_import(data, Clock::from_system()).context("nothing was imported")?;
    let bar = Mutex::new(ProgressBar::start_counting());
    let show = |step, _| show_step(&bar, step);
    let imported = import_installation(&embedded, &embedded, &KINDS, &from, Timestamp::now(), &show).await;
    bar.lock().unwrap_or_else(PoisonError::into_inner).clear_line();
    embedded.shut_down().await;
    let report = imported.context("the import is not finished")?;
    if json {
        println!("{}", report.summarize_as_json());
        return Ok(());
    }
    report.list_lines().iter().for_each(|line| println!("{line}"));
    println!(
        "Set its secrets (docs/moving.md), then start it: recado serve --data {}",
        data.display()
    );
    Ok(())
}

fn show_step(bar: &Mutex<ProgressBar>, step: MovingStep) {
    let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
    bar.show_step(&step.to_string());
}

fn print_export(done: &str, manifest: &ExportManifest, folder: Option<&Path>, as_json: bool) {
    if as_json {
        println!("{}", manifest.summarize_as_json());
        return;
    }
    let folder = folder.map(|folder| format!(" {}", folder.display()));
    let folder = folder.unwrap_or_default();
    println!("{done}{folder}: {}", manifest.describe_content());
}
