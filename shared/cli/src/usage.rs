//! `recado usage`: shows what models used and the provider charged, summed up, of a running installation here or on AWS.

use crate::api_command::{ApiCommand, AskedArguments, name_choice};
use crate::dlq::tables::{format_table, insert_lines_below};
use crate::json_fields::{format_cell, list_items, number_or_zero};
use clap::{Args, ValueEnum};
use recado_domain::counting::count_things;
use recado_domain::price::format_millionths;
use serde_json::Value;

/// Shows what models used, summed up: replies, discarded drafts, recordings, and tokens in and out.
#[derive(Debug, Args)]
pub struct UsageArguments {
    /// One line for each of these.
    #[arg(long, value_enum, default_value = "day")]
    by: UsagePart,
    /// Only of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// Only of this conversation, from its first day on unless one is named.
    #[arg(long)]
    conversation: Option<String>,
    /// The first day, such as 2026-11-01, in UTC: 29 days before the last if absent.
    #[arg(long)]
    since: Option<String>,
    /// The last day, in UTC: today if absent.
    #[arg(long)]
    until: Option<String>,
    #[command(flatten)]
    pub(crate) asked: AskedArguments,
    /// Prints comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// The part by which use is summed up.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum UsagePart {
    Day,
    Agent,
    Model,
    Country,
    Tenant,
}

/// The numbers of a line, by their names in the answer.
const NUMBERS: &str = "replies discarded_drafts recordings audio_millis charged_messages input_tokens output_tokens \
    cache_read_tokens cache_write_tokens";

/// The numbers that have a column of their own in the table.
const TABLE_NUMBERS: &str = "replies input_tokens output_tokens cache_read_tokens cache_write_tokens";

/// The columns behind the numbers.
const COST_COLUMNS: [&str; 4] = ["cost", UNPRICED[0], UNPRICED[1], UNPRICED[2]];

/// The numbers of what has no price.
const UNPRICED: [&str; 3] = ["unpriced_tokens", "unpriced_audio_millis", "unpriced_messages"];

/// Returns the request of the command.
pub(crate) fn describe_usage(arguments: &UsageArguments) -> ApiCommand {
    let (by, csv) = (name_choice(&arguments.by), arguments.csv);
    ApiCommand::get(&["v1", "usage"])
        .query("by", Some(&by))
        .query("tenant", arguments.tenant.as_ref())
        .query("conversation", arguments.conversation.as_ref())
        .query("since", arguments.since.as_ref())
        .query("until", arguments.until.as_ref())
        .show(move |answer| {
            if csv {
                format_comma_separated(answer, &by)
            } else {
                format_usage(answer, &by)
            }
        })
}

fn read_usage_cell(value: &Value, name: &str) -> String {
    let known = value.get(name).filter(|field| !field.is_null());
    known.map_or_else(String::new, |_| format_cell(value, name))
}

fn list_usage_rows(answer: &Value, by: &str) -> Vec<Vec<String>> {
    let row = |item: &Value| {
        let names = std::iter::once(by).chain(NUMBERS.split(' '));
        let cells = names.map(|name| read_usage_cell(item, name));
        let unpriced = UNPRICED.map(|name| read_usage_cell(item, name));
        cells.chain([format_costs(item)]).chain(unpriced).collect()
    };
    list_items(answer, "items").iter().map(row).collect()
}

/// Formats the costs of a line, such as `0.0123 USD`; several currencies stand beside each other.
fn format_costs(item: &Value) -> String {
    let costs = list_items(item, "costs").iter().map(|cost| {
        let amount = format_millionths(number_or_zero(cost, "micros"));
        format!("{amount} {}", read_usage_cell(cost, "currency"))
    });
    costs.collect::<Vec<_>>().join(" + ")
}

/// Formats the sums as a table.
fn format_usage(answer: &Value, by: &str) -> String {
    let (since, until) = (read_usage_cell(answer, "since"), read_usage_cell(answer, "until"));
    let items = list_items(answer, "items");
    if items.is_empty() {
        return format!("No model was asked, and no message charged, from {since} to {until}.\n");
    }
    let cells = items.iter().map(|item| {
        let name = Some(read_usage_cell(item, by)).filter(|name| !name.is_empty());
        let numbers = TABLE_NUMBERS.split(' ').map(|name| read_usage_cell(item, name));
        let name = name.unwrap_or_else(|| "-".to_owned());
        std::iter::once(name).chain(numbers).collect()
    });
    let headings = [by, "replies", "input", "output", "cached", "to cache"];
    let below = items
        .iter()
        .map(|item| vec!["-".to_owned(), describe_rest(item), describe_costs(item)]);
    format!(
        "From {since} to {until} (UTC), in tokens:\n\n{}",
        insert_lines_below(&format_table(&headings, cells.collect()), below.collect())
    )
}

/// Describes what a line used beside the tokens of its replies. `-`: nothing.
fn describe_rest(item: &Value) -> String {
    let number = |name: &str| number_or_zero(item, name);
    let count = |name: &str, thing: &str| (number(name) > 0).then(|| count_things(number(name), thing));
    let millis = |name: &str, of: &str| (number(name) > 0).then(|| format!("{} ms of {of}", number(name)));
    join_parts([
        count("discarded_drafts", "discarded draft"),
        count("recordings", "recording"),
        millis("audio_millis", "sound"),
        count("charged_messages", "charged message"),
    ])
}

/// Describes what a line cost, and what of it has no price. `-`: nothing.
fn describe_costs(item: &Value) -> String {
    let number = |name: &str| number_or_zero(item, name);
    let unpriced = |name: &str, unit: &str| {
        (number(name) > 0).then(|| format!("{} {unit} without a price", number(name)))
    };
    let costs = format_costs(item);
    join_parts([
        (!costs.is_empty()).then_some(costs),
        unpriced(UNPRICED[0], "tokens"),
        unpriced(UNPRICED[1], "ms of sound"),
        unpriced(UNPRICED[2], "messages"),
    ])
}

fn join_parts<const N: usize>(parts: [Option<String>; N]) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "-".to_owned();
    }
    parts.join(", ")
}

/// Formats the sums as comma-separated values, with a line of names.
fn format_comma_separated(answer: &Value, by: &str) -> String {
    let names = std::iter::once(by).chain(NUMBERS.split(' ')).chain(COST_COLUMNS);
    let names: Vec<String> = names.map(str::to_owned).collect();
    let lines = std::iter::once(names).chain(list_usage_rows(answer, by));
    let quoted = lines.map(|line| {
        let values: Vec<String> = line.iter().map(|value| quote_csv_value(value)).collect();
        values.join(",") + "\n"
    });
    quoted.collect()
}

/// Quotes a value of comma-separated values where it needs it. A value that a spreadsheet would take for a formula is quoted by an
/// apostrophe.
fn quote_csv_value(value: &str) -> String {
    let guarded = if value.starts_with(['=', '+', '-', '@']) {
        format!("'{value}")
    } else {
        value.to_owned()
    };
    if guarded.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer() -> Value {
        json!({"since": "2026-11-01", "until": "2026-11-30", "items": [
            {"model": "large, new", "replies": 2, "discarded_drafts": 1, "recordings": 3, "audio_millis": 1_500, "charged_messages": 2, "input_tokens": 300, "output_tokens": 20, "cache_read_tokens": 7, "cache_write_tokens": 0,
             "costs": [{"currency": "EUR", "micros": 12_345}, {"currency": "USD", "micros": 5_000_000}], "unpriced_tokens": 4, "unpriced_audio_millis": 0, "unpriced_messages": 2},
        ]})
    }

    #[test]
    fn sums_are_shown_as_a_table_or_as_comma_separated_values() {
        let table = format_usage(&answer(), "model");
        assert!(table.starts_with("From 2026-11-01 to 2026-11-30"), "{table}");
        assert!(table.contains("large, new") && table.contains("300"), "{table}");
        let rest = "  1 discarded draft, 3 recordings, 1500 ms of sound, 2 charged messages";
        let costs = "  0.012345 EUR + 5.00 USD, 4 tokens without a price, 2 messages without a price";
        for below in [rest, costs] {
            assert!(table.lines().any(|line| line == below), "{table}");
        }
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert_eq!(
            format_comma_separated(&answer(), "model"),
            "model,replies,discarded_drafts,recordings,audio_millis,charged_messages,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,cost,\
             unpriced_tokens,unpriced_audio_millis,unpriced_messages\n\"large, new\",2,1,3,1500,2,300,20,7,0,0.012345 EUR + 5.00 USD,4,0,2\n"
        );
        assert_eq!(quote_csv_value("=1+1"), "'=1+1");
    }

    #[test]
    fn without_use_one_line_says_so() {
        let text = format_usage(&json!({"since": "a", "until": "b", "items": []}), "day");
        assert_eq!(text, "No model was asked, and no message charged, from a to b.\n");
    }
}
