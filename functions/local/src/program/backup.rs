//! `recado backup` and `recado restore`: copy the data folder while a server works on it, and make a data folder of a copy.

use anyhow::{Context, Result};
use clap::Args;
use jiff::Timestamp;
use recado_cli::progress::ProgressBar;
use recado_embedded::{
    BackupError, BackupManifest, BackupProgress, back_up_folder, check_backup, restore_backup,
};
use recado_local::environment::LocalEnvironment;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Time between two looks at the progress.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

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
        let look = move |progress: &BackupProgress| check_backup(&to, progress);
        let manifest = work_apart("checking", look)
            .await
            .context("this backup cannot be used")?;
        print_result("The backup is whole", &manifest, None, json);
        return Ok(());
    }
    let (data, folder) = (environment.data.clone(), to.clone());
    let copy = move |progress: &BackupProgress| back_up_folder(&data, &folder, Timestamp::now(), progress);
    let manifest = work_apart("copying", copy).await.context("no backup was made")?;
    print_result("Backed up", &manifest, Some(&to), json);
    Ok(())
}

/// Makes a data folder of a backup, and says what comes next.
pub(crate) async fn run_restore(arguments: RestoreArguments) -> Result<()> {
    let RestoreArguments { from, to, json } = arguments;
    let folder = to.clone();
    let restore = move |progress: &BackupProgress| restore_backup(&from, &folder, progress);
    let manifest = work_apart("restoring", restore)
        .await
        .context("nothing was restored")?;
    print_result("Restored", &manifest, Some(&to), json);
    if !json {
        println!("Start it: recado serve --data {}", to.display());
        println!(
            "What was open at the time of the backup is looked for before it is sent; what cannot be looked for waits for you."
        );
    }
    Ok(())
}

/// Runs what takes long on a thread of its own, and shows its progress.
async fn work_apart(
    doing: &str,
    work: impl FnOnce(&BackupProgress) -> Result<BackupManifest, BackupError> + Send + 'static,
) -> Result<BackupManifest> {
    let progress = Arc::new(BackupProgress::default());
    let shared = Arc::clone(&progress);
    let mut working = tokio::task::spawn_blocking(move || work(&shared));
    let mut bar = ProgressBar::start(100);
    loop {
        tokio::select! {
            ended = &mut working => return Ok(ended??),
            () = tokio::time::sleep(LOOK_INTERVAL) => bar.show_amount(progress.percent_done(), doing),
        }
    }
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
