//! `GET /deliver/export`: the log of deliveries of a month, as a file.

use crate::LogFilter;
use crate::log_routes::InvitationStatusView;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recado_domain::ids::{InvitationTemplateName, TenantId};
use recado_domain::invitations::{InvitationStatus, LogMonth};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{NotFound, Unprocessable};
use recado_http::api::request::{Asked, QueryParams, encode_cursor, parse_page_request};
use recado_http::problem::HttpProblem;
use recado_occasions::occasion_routes::parse_occasion;
use serde::Deserialize;
use serde_json::Value;

/// The header with the cursor of the next page.
const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

/// The form of an export.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
enum ExportFormat {
    /// Comma-separated values. The first page begins with the names of the columns.
    Csv,
    /// A JSON object on each line, as `GET /deliver/{id}/status` shows it.
    Json,
}

/// The entries of the log that are wanted.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct ExportQuery {
    /// The tenant, with a token of the installation. If absent, the only one.
    tenant: Option<TenantId>,
    /// The month in UTC in which they were taken, such as `2026-11`. If absent, the present one.
    month: Option<String>,
    /// Only of this occasion.
    event: Option<String>,
    /// Only by this template.
    template: Option<String>,
    /// Only with this status.
    status: Option<String>,
    /// The form. If absent, `json`.
    #[cfg_attr(feature = "schema", param(inline))]
    format: Option<ExportFormat>,
    /// Number of entries that are looked at for a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// The header `x-next-cursor` of the page before.
    cursor: Option<String>,
}

/// The columns of comma-separated values: fields of an entry, then when it reached each status.
const COLUMNS: [&str; 16] = [
    "id",
    "created_at",
    "eventId",
    "guestId",
    "channel",
    "template",
    "language",
    "status",
    "is_free",
    "session_id",
    "provider_ref",
    "message_id",
    "duplicate_of",
    "error",
    "pricing_category",
    "simulated",
];
const STATUS_COLUMNS: [&str; 5] = ["sent", "delivered", "read", "failed", "cancelled"];

/// Exports the log of deliveries of a month, page by page.
///
/// The header `x-next-cursor` leads to the next page; the last has none. A page may be empty although more follow.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/deliver/export",
    params(ExportQuery),
    responses(
        (status = 200, content_type = "*/*", description = "A page of entries, by time"),
        NotFound,
        Unprocessable
    )
))]
pub async fn export_invitations(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<ExportQuery>,
) -> Result<Response, HttpProblem> {
    let filter = LogFilter {
        month: wanted.month.as_deref().map(parse_month).transpose()?,
        occasion: wanted.event.as_deref().map(parse_occasion).transpose()?,
        template: wanted.template.as_deref().map(parse_template).transpose()?,
        status: wanted.status.as_deref().map(parse_status).transpose()?,
    };
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let is_first = page.cursor.is_none();
    let tenant = wanted.tenant.as_ref();
    let found = crate::export_invitations(&api.deps, &caller, tenant, &filter, &page).await?;
    let entries = found.items.into_iter().map(InvitationStatusView::from);
    let entries: Result<Vec<Value>, _> = entries.map(serde_json::to_value).collect();
    let entries = entries.map_err(|error| {
        tracing::error!(%error, "the log of deliveries cannot be written");
        HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "the log cannot be written")
    })?;
    let (content_type, text) = match wanted.format {
        Some(ExportFormat::Csv) => ("text/csv; charset=utf-8", format_csv(&entries, is_first)),
        Some(ExportFormat::Json) | None => ("application/x-ndjson", format_lines(&entries)),
    };
    let cursor = found.next_cursor.as_deref().map(encode_cursor);
    let cursor = cursor.map(|cursor| [(NEXT_CURSOR, cursor)]);
    Ok((cursor, [(header::CONTENT_TYPE, content_type)], text).into_response())
}

fn parse_month(text: &str) -> Result<LogMonth, HttpProblem> {
    text.parse()
        .map_err(|_| HttpProblem::bad_request("month is written such as 2026-11"))
}

fn parse_status(text: &str) -> Result<InvitationStatus, HttpProblem> {
    InvitationStatus::parse(text).ok_or_else(|| HttpProblem::bad_request("there is no such status"))
}

fn format_lines(entries: &[Value]) -> String {
    let lines: Vec<String> = entries.iter().map(|entry| format!("{entry}\n")).collect();
    lines.concat()
}

fn format_csv(entries: &[Value], with_heading: bool) -> String {
    let heading = COLUMNS.iter().map(|name| (*name).to_owned());
    let times = STATUS_COLUMNS.iter().map(|status| format!("{status}_at"));
    let heading: Vec<String> = heading.chain(times).chain(["metadata".to_owned()]).collect();
    let rows = entries.iter().map(list_cells);
    let all = with_heading.then_some(heading).into_iter().chain(rows);
    let lines: Vec<String> = all.map(|cells| format!("{}\r\n", cells.join(","))).collect();
    lines.concat()
}

fn list_cells(entry: &Value) -> Vec<String> {
    let fields = COLUMNS.iter().map(|name| read_cell(entry.get(*name)));
    let times = STATUS_COLUMNS
        .iter()
        .map(|status| read_cell(find_transition(entry, status)));
    fields
        .chain(times)
        .chain([read_cell(entry.get("metadata"))])
        .collect()
}

/// Returns the time at which an entry reached a status first.
fn find_transition<'e>(entry: &'e Value, status: &str) -> Option<&'e Value> {
    let transitions = entry.get("transitions")?.as_array()?;
    let is_reached = |one: &&Value| one.get("status").and_then(Value::as_str) == Some(status);
    transitions.iter().find(is_reached)?.get("at")
}

/// Returns a value as a cell. A text that a spreadsheet would take for a formula begins with an apostrophe.
fn read_cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => return String::new(),
        Some(Value::String(text)) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{text}"),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

/// Parses the name of a template that a request names.
pub fn parse_template(text: &str) -> Result<InvitationTemplateName, HttpProblem> {
    let unknown = |_| HttpProblem::new(StatusCode::UNPROCESSABLE_ENTITY, "there is no such template");
    InvitationTemplateName::parse(text).map_err(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cell_is_quoted_where_it_must_be_and_is_no_formula() {
        for (value, cell) in [
            (json!("invite"), "invite"),
            (json!(true), "true"),
            (Value::Null, ""),
            (json!("a,\"b\"\n"), "\"a,\"\"b\"\"\n\""),
            (json!("=1+1"), "'=1+1"),
            (json!("+55,1"), "\"'+55,1\""),
            (json!({"a": 1}), "\"{\"\"a\"\":1}\""),
        ] {
            assert_eq!(read_cell(Some(&value)), cell, "{value}");
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column_and_the_first_time_of_each_status() {
        let entry = json!({"id": "inv_1", "is_free": false, "metadata": {"a": 1},
            "transitions": [{"status": "queued", "at": "t0"}, {"status": "sent", "at": "t1"}, {"status": "sent", "at": "t2"}]});
        let text = format_csv(&[entry], true);
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
        assert!(lines[0].starts_with("id,created_at,eventId,guestId,"));
        assert!(lines[1].starts_with("inv_1,,,") && lines[1].contains(",t1,") && !lines[1].contains("t2"));
        assert_eq!(format_csv(&[], false), "");
    }
}
