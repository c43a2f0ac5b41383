//! Has documents read by processes of their own, which are this program with the arguments of [`ReadingLimits::to_arguments`].

use recado_documents::{DocumentError, ReadContent, ReadingLimits, ReadingTask};
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// Maximum number of bytes that a process tells.
const OUTPUT_MAX: u64 = 64 * 1024 * 1024;

/// The reason why a process told nothing of a document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessFailure {
    /// The reading took longer than its time.
    #[error("reading the document takes too long")]
    TooSlow,
    /// The process stopped before its end: it took too much memory or time of the processor, or it crashed.
    #[error("the reading of the document was cut off")]
    BrokenOff,
    /// The process was asked to end, as the whole program is when it stops.
    #[error("the process that reads documents was stopped")]
    Stopped,
    /// The process did not run.
    #[error("the process that reads documents did not run")]
    NoProcess(#[from] io::Error),
}

/// Reads a document in a process of its own.
pub(crate) async fn read_in_process(
    bytes: &[u8],
    task: &ReadingTask,
    limits: ReadingLimits,
    within: Duration,
) -> Result<Result<ReadContent, DocumentError>, ProcessFailure> {
    let reading = timeout(within, run_reading_process(bytes, task, limits));
    let (status, told) = reading.await.map_err(|_| ProcessFailure::TooSlow)??;
    if was_stopped(status) {
        return Err(ProcessFailure::Stopped);
    }
    if !status.success() {
        return Err(ProcessFailure::BrokenOff);
    }
    serde_json::from_slice(&told).map_err(|_| ProcessFailure::BrokenOff)
}

async fn run_reading_process(
    bytes: &[u8],
    task: &ReadingTask,
    limits: ReadingLimits,
) -> io::Result<(ExitStatus, Vec<u8>)> {
    let mut reader = Command::new(find_this_program()?);
    reader.args(limits.to_arguments());
    // It needs nothing of the environment, which holds keys.
    reader.env_clear().kill_on_drop(true);
    reader
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = reader.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        let mut line = serde_json::to_vec(task)?;
        line.push(b'\n');
        // A process that ended early did not take all; its exit status tells why.
        if input.write_all(&line).await.is_ok() {
            let _ = input.write_all(bytes).await;
        }
    }
    let mut told = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(OUTPUT_MAX).read_to_end(&mut told).await?;
    }
    Ok((child.wait().await?, told))
}

/// Returns the path of this program, also if its file was replaced since it was started.
fn find_this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe()
}

/// Returns `true` if a process was ended by the signals that end a whole program.
#[cfg(unix)]
fn was_stopped(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    /// Hang-up, interrupt, terminate.
    const STOPS: [i32; 3] = [1, 2, 15];
    status.signal().is_some_and(|signal| STOPS.contains(&signal))
}

#[cfg(not(unix))]
fn was_stopped(_: ExitStatus) -> bool {
    false
}
