//! The lines of the functions' logs as they are priced: those of requests to AWS, and the bytes of all others.

use serde_json::Value;

/// The target of the lines that tell requests. They are logged with `RECADO_LOG_AWS_REQUESTS=true` alone.
const REQUESTS: &str = "recado::aws";

/// The levels of the lines that are written by default. The stack of the tests logs at `DEBUG`.
const WRITTEN_LEVELS: [&str; 3] = ["INFO", "WARN", "ERROR"];

/// Bytes that CloudWatch bills for a line beside its text.
const BYTES_OF_LINE: usize = 26;

/// A request, as the function logged it.
pub(crate) struct Request {
    /// The service and the operation.
    pub(crate) name: String,
    /// The write units, of the table and of all indexes; 0 for what does not write.
    pub(crate) units: f64,
    /// Which of them are an index's.
    pub(crate) of_indexes: String,
}

/// Reads the request that a line tells. `None`: it tells none.
pub(crate) fn read_request(line: &Value) -> Option<Request> {
    if line["target"] != REQUESTS {
        return None;
    }
    let field = |name: &str| line["fields"][name].as_str().unwrap_or_default().to_owned();
    Some(Request {
        name: format!("{} {}", field("service"), field("operation")),
        units: line["fields"]["write_units"].as_f64().unwrap_or_default(),
        of_indexes: field("of_indexes"),
    })
}

/// Counts the bytes that CloudWatch bills for those of these lines that are written by default.
pub(crate) fn count_log_bytes(lines: &[Value]) -> usize {
    let is_written = |line: &&Value| {
        let level = line["level"].as_str().unwrap_or_default();
        line["target"] != REQUESTS && WRITTEN_LEVELS.contains(&level)
    };
    let written = lines.iter().filter(is_written);
    written.map(|line| line.to_string().len() + BYTES_OF_LINE).sum()
}
