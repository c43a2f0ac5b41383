//! `recado audit`: shows who did what in a running installation, here or on AWS.

use crate::command_environment::CommandEnvironment;
use crate::dlq::tables::{collect_rows, format_with_lines_below};
use crate::installation::{InstallationArguments, InstallationClient};
use anyhow::Result;
use clap::Args;
use jiff::Timestamp;
use recado_domain::audit::AuditAction;
use recado_machine::output::print_answer;
use reqwest::Method;
use serde_json::{Value, json};

/// The largest page that a list request may ask for.
const PAGE: usize = 200;

/// Shows who did what with which token: configuration, tokens, takeovers, answers, deletions, redrives, contacts. The newest first.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Only what was done to records of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// Only what was done with the token of this name.
    #[arg(long)]
    actor: Option<String>,
    /// Only this action, such as `contact_erased`.
    #[arg(long, value_parser = parse_action)]
    action: Option<AuditAction>,
    /// Only what was done at this time or later, such as 2026-01-05T12:00:00Z.
    #[arg(long)]
    since: Option<Timestamp>,
    /// Only what was done before this time.
    #[arg(long)]
    until: Option<Timestamp>,
    /// Shows at most so many.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long)]
    json: bool,
}

fn parse_action(text: &str) -> Result<AuditAction, String> {
    AuditAction::parse(text).ok_or_else(|| {
        let known: Vec<&str> = AuditAction::ALL.iter().map(|action| action.as_str()).collect();
        format!("there is {}", known.join(", "))
    })
}

impl AuditArguments {
    fn query_fields(&self) -> Vec<(&'static str, String)> {
        let fields = [
            ("tenant", self.tenant.clone()),
            ("actor", self.actor.clone()),
            ("action", self.action.map(|action| action.as_str().to_owned())),
            ("since", self.since.map(|at| at.to_string())),
            ("until", self.until.map(|at| at.to_string())),
        ];
        let given = fields.into_iter();
        given.filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Shows the audit, as a table or as JSON.
pub(crate) async fn show_audit(arguments: AuditArguments, environment: &CommandEnvironment) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let answer = list_entries(&there, &arguments).await?;
    // The entries of a removed tenant are still there.
    let filters = [("tenants", arguments.tenant.as_deref())];
    there.check_filters(&answer, &filters).await?;
    print_answer(&answer, arguments.json, format_entries)
}

/// Lists entries, page by page, up to the limit.
async fn list_entries(there: &InstallationClient, arguments: &AuditArguments) -> Result<Value> {
    let (mut items, mut cursor) = (Vec::new(), None);
    loop {
        let left = arguments.limit.saturating_sub(items.len());
        if left == 0 {
            return Ok(json!({ "items": items, "next_cursor": cursor }));
        }
        let mut query = arguments.query_fields();
        query.push(("limit", left.min(PAGE).to_string()));
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let request = there.build_request(Method::GET, &["v1", "audit"])?;
        let page = there.request_json(request.query(&query)).await?;
        let found = page.get("items").and_then(Value::as_array).cloned();
        items.extend(found.unwrap_or_default());
        cursor = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
        if cursor.is_none() {
            return Ok(json!({ "items": items, "next_cursor": null }));
        }
    }
}

/// Formats entries within 80 columns. Below each are its object, and what it was before and after.
fn format_entries(answer: &Value) -> String {
    let columns = ["at", "actor", "action", "tenant", "kind"];
    let rows = collect_rows(answer, &columns);
    if rows.is_empty() {
        return "Nothing was done.\n".to_owned();
    }
    let below = collect_rows(answer, &["object", "before", "after"]).into_iter();
    let below = below.map(|cells| match &cells[..] {
        [object, before, after] if before == "-" => vec![object.clone(), after.clone()],
        [object, before, after] => vec![object.clone(), format!("{before} → {after}")],
        _ => Vec::new(),
    });
    let mut all = format_with_lines_below(&columns, rows, below.collect());
    if answer.get("next_cursor").is_some_and(Value::is_string) {
        all.push_str("There is more: --limit, --since, --until\n");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_a_table_and_more_of_them_are_announced() {
        let entry = json!({"at": "2026-01-05T12:00:00Z", "actor": "desk", "action": "contact_erased", "tenant": "clinic",
            "kind": "contact", "object": "c_1", "before": null, "after": "2 conversations"});
        let shown = format_entries(&json!({"items": [entry], "next_cursor": "c"}));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 5, "{shown}");
        assert_eq!(lines[0].find("action"), lines[1].find("contact_erased"));
        assert_eq!((lines[2], lines[3]), ("  c_1", "  2 conversations"));
        assert!(lines[4].starts_with("There is more"));
        assert_eq!(format_entries(&json!({"items": []})), "Nothing was done.\n");
    }

    #[test]
    fn an_unknown_action_names_those_that_there_are() {
        assert_eq!(parse_action("token_revoked"), Ok(AuditAction::TokenRevoked));
        assert!(parse_action("x").unwrap_err().contains("contact_exported"));
    }
}
