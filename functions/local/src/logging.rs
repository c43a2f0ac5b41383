//! The log of the process: lines for people on a terminal, JSON lines elsewhere.
//!
//! While the process serves, a thread of its own writes the lines, so that no request waits for whoever reads the log. The
//! lines wait in a channel of bounded length. A line for which there is no room is dropped and counted.

use crate::log_writer::{LineQueue, LineWriter};
use anyhow::{Result, anyhow};
use recado_local::environment::LogFormat;
use recado_local::traces::StartedTraces;
use recado_pipeline::trace_span::TRACE_TARGET;
use std::fmt;
use std::io::{IsTerminal, stderr};
use std::sync::OnceLock;
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// The number of lines that may wait to be written. A line is about 600 bytes, so this takes 10 MB at most.
const WAITING_LINES_MAX: usize = 16_384;

/// The lines that wait. Empty while no thread writes the log.
static LINES: OnceLock<LineQueue> = OnceLock::new();

/// The log. Dropping it writes the lines that still wait, also when a panic ends the process.
#[must_use]
#[derive(Debug)]
pub struct Log {
    _thread: Option<LineWriter>,
}

/// Returns the number of lines that were dropped since the start.
pub(crate) fn count_dropped_lines() -> u64 {
    LINES.get().map_or(0, LineQueue::count_dropped_lines)
}

/// Logs to standard error. `RUST_LOG` selects the lines; without it `recado serve` logs from `info` on, other commands
/// only warnings. Without a format, the lines are text on a terminal, else JSON.
///
/// `traces`, if there are any, get their spans, whatever `RUST_LOG` says.
pub fn start_logging(
    format: Option<LogFormat>,
    serving: bool,
    traces: Option<&StartedTraces>,
) -> Result<Log> {
    let written = std::env::var("RUST_LOG").unwrap_or_default();
    let levels = match written.trim() {
        "" if serving => "info",
        "" => "warn",
        levels => levels,
    };
    let filter = EnvFilter::try_new(levels).map_err(|error| anyhow!("RUST_LOG cannot be used: {error}"))?;
    let terminal = stderr().is_terminal();
    let usual = if terminal {
        LogFormat::Text
    } else {
        LogFormat::Json
    };
    let is_json = format.unwrap_or(usual) == LogFormat::Json;
    // Each message is in one span, which is named once. A closed standard error must not end the server.
    let json = || {
        layer()
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .log_internal_errors(false)
    };
    let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let text = || {
        layer()
            .compact()
            .with_target(false)
            .with_ansi(colours)
            .with_timer(LocalTime)
            .log_internal_errors(false)
    };
    let (writer, thread) = if serving {
        let (lines, thread) = LineWriter::start_thread(WAITING_LINES_MAX, stderr())?;
        LINES.get_or_init(|| lines.clone());
        (BoxMakeWriter::new(lines), Some(thread))
    } else {
        (BoxMakeWriter::new(stderr), None)
    };
    let private = filter_fn(may_be_logged).with_max_level_hint(Level::TRACE);
    let (json, text) = if is_json {
        let lines = json().with_writer(writer);
        (Some(lines.with_filter(filter.and(private))), None)
    } else {
        let lines = text().with_writer(writer);
        (None, Some(lines.with_filter(filter.and(private))))
    };
    tracing_subscriber::registry()
        .with(traces.map(StartedTraces::create_layer))
        .with(json)
        .with(text)
        .init();
    Ok(Log { _thread: thread })
}

/// The number of dropped lines that was told last.
#[derive(Debug, Default)]
pub(crate) struct ToldDrops(u64);

impl ToldDrops {
    /// Logs how many lines were dropped since the last call, if any.
    pub(crate) fn tell_new(&mut self) {
        let count = count_dropped_lines();
        let new = count.saturating_sub(self.0);
        if new > 0 {
            tracing::warn!(
                lines = new,
                in_all = count,
                "log lines were dropped: whoever reads the log is too slow"
            );
        }
        self.0 = count;
    }
}

/// Returns whether an event or a span may be logged. Whatever `RUST_LOG` says, libraries that write bodies to the log are limited
/// to warnings. Spans that exist for traces alone are left out.
fn may_be_logged(event: &Metadata<'_>) -> bool {
    event.target() != TRACE_TARGET
        && (event.is_span()
            || !recado_http_client::logs_message_bodies(event.target())
            || *event.level() <= Level::WARN)
}

/// The time of day where the machine is, for people.
struct LocalTime;

impl FormatTime for LocalTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{}", jiff::Zoned::now().strftime("%H:%M:%S"))
    }
}
