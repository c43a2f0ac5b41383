//! `recado catch-up`: fetches messages that a provider failed to deliver.

use crate::command_environment::CommandEnvironment;
use crate::installation::{InstallationArguments, add_part};
use crate::instant::{format_local_time, parse_instant_option};
use crate::json_fields::{find_text, is_field_true, number_or_zero, text_or_dash};
use crate::progress::ProgressBar;
use anyhow::{Result, bail};
use clap::Args;
use jiff::Timestamp;
use recado_domain::counting::count_things;
use recado_machine::output::print_answer;
use serde_json::{Map, Value, json};

/// Reads the provider's history for messages of an instance whose webhooks never came, and takes them in. Prints how many
/// there were.
#[derive(Debug, Args)]
pub struct CatchUpArguments {
    /// The instance's id.
    instance: String,
    /// From this time on: an instant (RFC 3339), or a time ago, such as 90m, 6h or 2d. Absent: since the last message
    /// that is known.
    #[arg(long, value_parser = parse_instant_option)]
    since: Option<Timestamp>,
    /// Only tells what was missed, and how much of it would be answered. Nothing is stored.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Requests parts of the catch-up until there is no more, and prints the sum. Fails if a part does not go further than
/// the one before.
pub(crate) async fn run_catch_up(command: CatchUpArguments, environment: &CommandEnvironment) -> Result<()> {
    let there = command.there.build_client(environment)?;
    let mut since = command.since.map(|at| at.to_string());
    let path = ["v1", "instances", &command.instance, "catch-up"];
    let mut report = Map::new();
    let mut bar = ProgressBar::start_counting();
    loop {
        let body = json!({ "since": since, "dry_run": command.dry_run });
        let part = there.post_json(&path, &body).await?;
        let next = find_text(&part, "next").map(str::to_owned);
        if !add_to_report(&mut report, &part) {
            break;
        }
        if next.is_none() || next == since {
            bail!("the catch-up does not get beyond {}", since.unwrap_or_default());
        }
        since = next;
        let looked_at = report.get("looked_at").and_then(Value::as_u64);
        bar.show_amount(looked_at.unwrap_or_default(), "messages looked at:");
    }
    drop(bar);
    print_answer(&Value::Object(report), command.json, format_report)
}

/// Adds a part to the report, which keeps its beginning. Returns whether there is more.
fn add_to_report(report: &mut Map<String, Value>, part: &Value) -> bool {
    let begins = report.remove("since");
    let preview = report.remove("preview");
    let more = add_part(report, part);
    report.extend(begins.map(|since| ("since".to_owned(), since)));
    if let (Some(Value::Object(mut sum)), Some(part)) = (preview, part.get("preview")) {
        let oldest = sum.remove("oldest");
        add_part(&mut sum, part);
        sum.extend(oldest.map(|oldest| ("oldest".to_owned(), oldest)));
        report.insert("preview".to_owned(), Value::Object(sum));
    }
    more
}

/// Tells what a catch-up would do.
fn format_preview(missed: u64, preview: &Value) -> String {
    let number = |name: &str| number_or_zero(preview, name);
    let time = |name: &str| find_text(preview, name).map(format_local_time);
    let span = match (time("oldest"), time("newest")) {
        (Some(oldest), Some(newest)) => format!(" ({oldest} to {newest})"),
        _ => String::new(),
    };
    format!(
        "{missed} missed{span}; {} would be answered, unless a person has the conversation; {} too old for an answer\n\
         Nothing was changed.\n",
        number("answerable"),
        number("too_old"),
    )
}

fn format_report(report: &Value) -> String {
    let number = |name: &str| number_or_zero(report, name);
    if report.get("offered") == Some(&Value::Bool(false)) {
        return "Nothing to fetch: the provider keeps no messages that could be asked for.\n".to_owned();
    }
    let mut told = match report.get("preview") {
        Some(preview) => format_preview(number("missed"), preview),
        None => format!(
            "{} missed, {} known, {} statuses (of {} since {})\n",
            number("missed"),
            number("known"),
            number("statuses"),
            count_things(number("looked_at"), "message"),
            format_local_time(text_or_dash(report, "since")),
        ),
    };
    if is_field_true(report, "cut") {
        told.push_str("The provider gives its newest messages only: there may be older ones.\n");
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_keep_their_beginning() {
        let mut report = Map::new();
        add_to_report(
            &mut report,
            &json!({"since": "a", "until": "b", "missed": 2, "known": 1, "more": true}),
        );
        add_to_report(
            &mut report,
            &json!({"since": "c", "until": "d", "missed": 3, "known": 4, "more": false}),
        );
        assert_eq!(
            Value::Object(report),
            json!({"since": "a", "until": "d", "missed": 5, "known": 5, "more": false})
        );
    }

    #[test]
    fn previews_add_up_and_keep_their_oldest() {
        let mut report = Map::new();
        let part = |answerable: u64, oldest: &str, newest: &str| {
            let preview = json!({"answerable": answerable, "too_old": 1, "oldest": oldest, "newest": newest});
            json!({"since": oldest, "missed": answerable + 1, "preview": preview})
        };
        add_to_report(&mut report, &part(18, "a", "b"));
        add_to_report(&mut report, &part(2, "c", "d"));
        let shown = format_report(&Value::Object(report));
        assert!(
            shown.starts_with("22 missed (a to d); 20 would be answered") && shown.contains("; 2 too old"),
            "{shown}"
        );
    }
}
