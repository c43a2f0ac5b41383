//! `recado backup` and `recado restore`: copy the data folder while a server works on it, and make a data folder of a copy.

use crate::environment::LocalEnvironment;
use anyhow::{Context, Result};
use clap::Args;
use jiff::Timestamp;
use recado_embedded::{BackupManifest, back_up_folder, check_backup, restore_backup};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Copies the data folder into a new folder, also while a server works on it: the database, files, the kept secrets, and a
/// checksum of each. Whoever reads the copy reads everything in it.
#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The new folder; with --check, the backup to check.
    to: PathBuf,
    /// Checks a backup by its checksums, and copies nothing.
    #[arg(long)]
    check: bool,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Checks a backup and makes a new data folder of it. The first start there looks for what was sent since the backup.
#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The backup.
    from: PathBuf,
    /// The new data folder. It must be empty, or not be there.
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
    /// Prints the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Makes or checks a backup.
pub(crate) async fn run_backup(arguments: BackupArguments, environment: &LocalEnvironment) -> Result<()> {
    let BackupArguments { to, check, json } = arguments;
    if check {
        let manifest = work_apart(move || check_backup(&to).context("this backup cannot be used")).await?;
        print_result("The backup is whole", &manifest, None, json);
        return Ok(());
    }
    let (data, folder) = (environment.data.clone(), to.clone());
    let copy = move || back_up_folder(&data, &folder, Timestamp::now()).context("no backup was made");
    let manifest = work_apart(copy).await?;
    print_result("Backed up", &manifest, Some(&to), json);
    Ok(())
}

/// Makes a data folder of a backup, and says what comes next.
pub(crate) async fn run_restore(arguments: RestoreArguments) -> Result<()> {
    let RestoreArguments { from, to, json } = arguments;
    let folder = to.clone();
    let restore = move || restore_backup(&from, &folder).context("nothing was restored");
    let manifest = work_apart(restore).await?;
    print_result("Restored", &manifest, Some(&to), json);
    if !json {
        println!("Start it: recado serve --data {}", to.display());
        println!(
            "What was open at the time of the backup is looked for before it is sent; what cannot be looked for waits for you."
        );
    }
    Ok(())
}

/// Runs what takes long on a thread of its own.
async fn work_apart(
    work: impl FnOnce() -> Result<BackupManifest> + Send + 'static,
) -> Result<BackupManifest> {
    tokio::task::spawn_blocking(work).await?
}

fn print_result(done: &str, manifest: &BackupManifest, folder: Option<&Path>, as_json: bool) {
    let (files, bytes) = (manifest.count_files(), manifest.count_bytes());
    if as_json {
        let (recado, taken_at) = (&manifest.recado, manifest.taken_at);
        println!(
            "{}",
            json!({"recado": recado, "taken_at": taken_at, "files": files, "bytes": bytes})
        );
        return;
    }
    let folder = folder
        .map(|folder| format!(" {}", folder.display()))
        .unwrap_or_default();
    let (taken_at, kilobytes) = (manifest.taken_at, bytes.div_ceil(1000));
    println!("{done}{folder}: the state of {taken_at:.0}, {kilobytes} kB, with {files} stored files");
}
