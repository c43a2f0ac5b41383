//! `recado status`: shows how a running installation is, on one screen.

mod reading;
mod reply_times;
mod screen;

use crate::command_environment::CommandEnvironment;
use crate::installation::InstallationArguments;
use anyhow::Result;
use clap::Args;
use reading::StatusReader;
use recado_machine::output;
use recado_machine::style::{Paint, paint_text};
use std::time::Duration;

/// Shows how a running installation is, here or on AWS, on one screen: instances, queues, who waits for a person, dead
/// letters, alerts, replies.
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// Draws the screen again and again, until Ctrl-C. With `--json` each is a line.
    #[arg(long)]
    watch: bool,
    /// Seconds between two screens of `--watch`.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints what the screen shows, and more, as JSON.
    #[arg(long)]
    json: bool,
}

/// Reads the status and shows it, once or until Ctrl-C.
pub(crate) async fn show_status(arguments: StatusArguments, environment: &CommandEnvironment) -> Result<()> {
    let mut reader = StatusReader::new(arguments.there.build_client(environment)?);
    let first = reader.read_status().await?;
    if !arguments.watch {
        return output::print_answer(&first, arguments.json, screen::format_status);
    }
    let mut read = Ok(first);
    while !output::is_reader_gone() {
        match &read {
            Ok(status) if arguments.json => println!("{status}"),
            Ok(status) => draw_screen(&screen::format_status(status)),
            // The installation may be starting again.
            Err(error) if arguments.json => eprintln!("recado: {}", output::format_error(error)),
            Err(error) => draw_screen(&format!(
                "{}\n",
                paint_text(Paint::Bad, &output::format_error(error))
            )),
        }
        tokio::time::sleep(Duration::from_secs(arguments.every)).await;
        read = reader.read_status().await;
    }
    Ok(())
}

/// Draws a screen over the one before it. Where there is no terminal, they follow each other.
fn draw_screen(screen: &str) {
    if !output::is_terminal_output() {
        println!("{screen}");
        return;
    }
    // The cursor goes to the first column of the first line, and each line deletes what stood behind it.
    output::write_raw_bytes(b"\x1b[H");
    for line in screen.lines() {
        print!("{line}");
        output::write_raw_bytes(b"\x1b[K\n");
    }
    output::write_raw_bytes(b"\x1b[J");
}
