//! `recado record`: removes from recorded webhooks what names people.

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use recado_machine::record::{Redaction, list_recordings, read_recording};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Recorded webhooks (setting `RECADO_RECORD`): removes from them what names people.
#[derive(Debug, Args)]
pub struct RecordArguments {
    #[command(subcommand)]
    command: RecordCommand,
}

#[derive(Debug, Subcommand)]
enum RecordCommand {
    /// Writes a recording with other names, texts and numbers of the same shape, and without credentials.
    Redact {
        /// A file, or a folder of files: JSON bodies, or JSON lines as they are recorded.
        from: PathBuf,
        /// A folder that does not exist yet, or is empty.
        #[arg(long)]
        out: PathBuf,
    },
}

/// Runs the subcommand.
pub(crate) fn run_record_command(record: RecordArguments) -> Result<()> {
    let RecordCommand::Redact { from, out } = record.command;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&out);
    made.with_context(|| format!("cannot make {}", out.display()))?;
    if fs::read_dir(&out)?.next().is_some() {
        bail!("{} is not empty", out.display());
    }
    let mut count = 0;
    for file in list_recordings(&from)? {
        count += redact_file(&file, &out)?;
    }
    let out = out.display();
    println!("{count} webhooks without names, texts and numbers in {out}");
    Ok(())
}

/// Writes the text into a new file of `out` that only its owner can read. The name is `a.jsonl` for `a.json` and for
/// `a.jsonl`; if both exist, the second becomes `a.json.jsonl` or `a.jsonl.jsonl`.
fn write_new(file: &Path, out: &Path, text: &str) -> Result<()> {
    let stem = file.file_stem().context("a file without a name")?;
    let mut second = file.file_name().unwrap_or(stem).to_owned();
    second.push(".jsonl");
    let mut to = out.join(stem);
    to.as_mut_os_string().push(".jsonl");
    let mut opened = create_private_file(&to);
    let is_there = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    if opened.as_ref().is_err_and(is_there) {
        to = out.join(second);
        opened = create_private_file(&to);
    }
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", to.display()))
}

/// Creates a file that only its owner can read. It must not exist yet.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path)
}

/// Redacts a file and returns the number of its webhooks. Each file is redacted by itself: in another file, the same
/// person gets another number.
fn redact_file(file: &Path, out: &Path) -> Result<usize> {
    let lines = read_recording(file)?;
    let mut redaction = Redaction::default();
    let mut text = String::new();
    for mut line in lines.clone() {
        line.body = redaction.redact_body(line.body);
        line.redacted = true;
        text.push_str(&serde_json::to_string(&line)?);
        text.push('\n');
    }
    write_new(file, out, &text)?;
    Ok(lines.len())
}
