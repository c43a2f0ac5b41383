//! Logs and traces of the Lambda functions. The log has one JSON object per line, as CloudWatch Logs Insights reads them.

use crate::settings_record::read_variables;
use recado_http_client::build_http_client;
use recado_pipeline::trace_span::TRACE_TARGET;
use recado_traces::{SpanLayer, TraceExport, TraceSettings};
use std::sync::OnceLock;
use std::time::Duration;
use tracing::Level;
use tracing_subscriber::filter::{EnvFilter, FilterExt, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Libraries whose detailed logs contain requests and answers, and so the text of messages. At every log level, only
/// their warnings and errors are logged.
const BODY_LOGGING_LIBRARIES: [&str; 6] = [
    "aws_config",
    "aws_runtime",
    "aws_sdk_",
    "aws_sigv4",
    "aws_smithy_",
    "lambda_",
];

fn logs_message_bodies(target: &str) -> bool {
    recado_http_client::logs_message_bodies(target)
        || BODY_LOGGING_LIBRARIES
            .iter()
            .any(|library| target.starts_with(library))
}

/// Returns the log levels: `RUST_LOG`, else the level that is configured for the Lambda function, else `info`.
fn read_log_levels(variable: impl Fn(&str) -> Option<String>) -> String {
    let named = |name| variable(name).filter(|text| !text.trim().is_empty());
    named("RUST_LOG")
        .or_else(|| named("AWS_LAMBDA_LOG_LEVEL"))
        .unwrap_or_else(|| "info".to_owned())
}

/// Target of the lines about answers, which an alarm counts. They are written at every log level.
pub(crate) const ANSWER_TARGET: &str = "recado_answers";

/// The export of the spans. Empty while there is none.
static TRACES: OnceLock<TraceExport> = OnceLock::new();

/// Longest time for which the end of an invocation waits until its spans are posted. Spans that take longer wait in memory for the
/// next invocation.
const FLUSH_LIMIT: Duration = Duration::from_millis(500);

/// Prepares the export of traces, if an endpoint is set, and starts the task that posts them. `None`: there is no export. The
/// composition tells what is wrong with the settings.
fn start_traces() -> Option<SpanLayer> {
    let settings = TraceSettings::from_environment(&mut read_variables(std::env::vars_os()))?;
    let (export, delivery) = TraceExport::prepare(&settings, build_http_client().ok()?).ok()?;
    tokio::spawn(delivery.run_delivery());
    let layer = export.create_layer();
    TRACES.set(export).ok().map(|()| layer)
}

/// Posts the spans of the invocation that ends. Does nothing without an export.
pub async fn flush_traces() {
    if let Some(export) = TRACES.get() {
        export.flush_spans(FLUSH_LIMIT).await;
    }
}

/// Starts logging and the export of traces, and installs `ring` as the process's TLS provider. To be called first, within the
/// runtime; a second call changes nothing.
pub fn start_logging() {
    let levels = read_log_levels(|name| std::env::var(name).ok());
    let filter = EnvFilter::try_new(format!("{levels},{ANSWER_TARGET}=warn"))
        .unwrap_or_else(|_| EnvFilter::new("info"));
    // Lambda adds the time. The spans of an event are listed once, the outermost first.
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .with_ansi(false)
        .without_time()
        .with_current_span(false);
    let private = filter_fn(|event| {
        event.target() != TRACE_TARGET
            && (event.is_span() || !logs_message_bodies(event.target()) || *event.level() <= Level::WARN)
    });
    // An error here only means that logging was started before.
    let _logging = tracing_subscriber::registry()
        .with(start_traces())
        .with(lines.with_filter(filter.and(private.with_max_level_hint(Level::TRACE))))
        .try_init();
    let _tls = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_log_wins_over_lambdas_level_and_info_is_the_rest() {
        assert_eq!(read_log_levels(|_| None), "info");
        assert_eq!(
            read_log_levels(|name| (name == "AWS_LAMBDA_LOG_LEVEL").then(|| "WARN".to_owned())),
            "WARN"
        );
        assert_eq!(
            read_log_levels(|name| Some(if name == "RUST_LOG" { "debug" } else { "WARN" }.to_owned())),
            "debug"
        );
        assert_eq!(read_log_levels(|_| Some(" ".to_owned())), "info");
    }

    #[test]
    fn libraries_that_show_bodies_are_kept_quiet_and_recado_is_not() {
        for target in [
            "genai::webc",
            "aws_smithy_runtime::client",
            "aws_sdk_sqs",
            "hyper_util::client",
        ] {
            assert!(logs_message_bodies(target), "{target}");
        }
        assert!(!logs_message_bodies("recado::aws") && !logs_message_bodies("recado_pipeline::send"));
    }
}
