//! The log of the process: lines for people on a terminal, JSON lines elsewhere.
//!
//! While the process serves, a thread of its own writes the lines, so that no request waits for whoever reads the log. The
//! lines wait in a channel of bounded length. A line for which there is no room is dropped and counted.

use crate::environment::LogFormat;
use anyhow::{Result, anyhow};
use recado_pipeline::trace_span::TRACE_TARGET;
use recado_traces::SpanLayer;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write, stderr};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;
use tracing::{Level, Metadata};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
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

/// Counts the lines that were dropped. Empty while no thread writes the log.
static DROPPED_LINES: OnceLock<ErrorCounter> = OnceLock::new();

/// The log. Dropping it writes the lines that still wait, also when a panic ends the process.
#[must_use]
pub(crate) struct Log {
    _thread: Option<WorkerGuard>,
}

/// Returns the number of lines that were dropped since the start.
pub(crate) fn count_dropped_lines() -> u64 {
    let count = DROPPED_LINES.get().map_or(0, ErrorCounter::dropped_lines);
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Starts a thread that writes lines to `to`, while at most `most` lines wait.
fn start_writer(most: usize, to: impl Write + Send + 'static) -> (NonBlocking, WorkerGuard) {
    NonBlockingBuilder::default()
        .buffered_lines_limit(most)
        .lossy(true)
        .thread_name("recado-log")
        .finish(GatheringWriter(BufWriter::with_capacity(GATHERED_BYTES, to)))
}

/// The pause after a write, in which lines are gathered.
const GATHERING: Duration = Duration::from_millis(10);

/// The number of bytes that are gathered at most.
const GATHERED_BYTES: usize = 64 * 1024;

/// A writer that gathers lines.
///
/// The thread flushes when no line waits any more, then sleeps until there is one, and whoever logs that line must wake it. So
/// after a flush it pauses: the lines of the pause are one write, and nobody has to wake the thread for them.
struct GatheringWriter<W: Write>(BufWriter<W>);

impl<W: Write> Write for GatheringWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()?;
        thread::sleep(GATHERING);
        Ok(())
    }
}

/// Logs to standard error. `RUST_LOG` selects the lines; without it `recado serve` logs from `info` on, other commands
/// only warnings. Without a format, the lines are text on a terminal, else JSON.
///
/// `spans`, if there is one, exports spans of traces, whatever `RUST_LOG` says.
pub(crate) fn start_logging(
    format: Option<LogFormat>,
    serving: bool,
    spans: Option<SpanLayer>,
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
        let (writer, thread) = start_writer(WAITING_LINES_MAX, stderr());
        DROPPED_LINES.get_or_init(|| writer.error_counter());
        (BoxMakeWriter::new(writer), Some(thread))
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
        .with(spans)
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
            || !recado_http_client::is_never_logged(event.target())
                && (!recado_http_client::logs_message_bodies(event.target())
                    || *event.level() <= Level::WARN))
}

/// The time of day where the machine is, for people.
struct LocalTime;

impl FormatTime for LocalTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{}", jiff::Zoned::now().strftime("%H:%M:%S"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A reader of the log that takes nothing before it is told to.
    struct SlowReader {
        may_read: Receiver<()>,
        read: Sender<Vec<u8>>,
    }

    impl Write for SlowReader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Once nobody tells any more, everything is taken.
            let _ = self.may_read.recv();
            let _ = self.read.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_without_room_are_counted_and_the_others_are_written_at_the_end() {
        const LINE: &[u8] = b"a line\n";
        let ((go, may_read), (read, taken)) = (channel(), channel());
        let (mut writer, thread) = start_writer(4, SlowReader { may_read, read });
        let dropped = writer.error_counter();
        let mut written = 0;
        while dropped.dropped_lines() == 0 {
            writer.write_all(LINE).unwrap();
            written += 1;
        }
        drop(go);
        drop(thread);
        let lines: usize = taken.try_iter().map(|bytes| bytes.len() / LINE.len()).sum();
        assert_eq!(lines + dropped.dropped_lines(), written);
    }
}
