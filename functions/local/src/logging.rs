//! The log of the process: lines for people on a terminal, JSON lines elsewhere.

use crate::environment::LogFormat;
use anyhow::{Result, anyhow};
use std::fmt;
use std::io::{IsTerminal, stderr};
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Logs to standard error. `RUST_LOG` selects the lines; without it `recado serve` logs from `info` on, other commands
/// only warnings. Without a format, the lines are text on a terminal, else JSON.
pub(crate) fn start_logging(format: Option<LogFormat>, serving: bool) -> Result<()> {
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
    let json = is_json.then(|| json().with_writer(stderr).with_filter(filter_fn(may_be_logged)));
    let text = (!is_json).then(|| text().with_writer(stderr).with_filter(filter_fn(may_be_logged)));
    tracing_subscriber::registry()
        .with(filter)
        .with(json)
        .with(text)
        .init();
    Ok(())
}

/// Returns whether an event may be logged. Whatever `RUST_LOG` says, libraries that write bodies to the log are limited
/// to warnings.
fn may_be_logged(event: &Metadata<'_>) -> bool {
    event.is_span()
        || !recado_http_client::logs_message_bodies(event.target())
        || *event.level() <= Level::WARN
}

/// The time of day where the machine is, for people.
struct LocalTime;

impl FormatTime for LocalTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{}", jiff::Zoned::now().strftime("%H:%M:%S"))
    }
}
