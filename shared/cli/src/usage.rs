//! `recado usage`: shows what models used and the provider charged, summed up, of a running installation here or on AWS.

use crate::command_environment::CommandEnvironment;
use crate::dlq::tables::{format_table, insert_lines_below};
use crate::installation::InstallationArguments;
use anyhow::Result;
use clap::{Args, ValueEnum};
use recado_domain::counting::count_things;
use recado_domain::price::format_millionths;
use reqwest::Method;
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
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long)]
    json: bool,
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

impl UsagePart {
    fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Country => "country",
            Self::Tenant => "tenant",
        }
    }
}

/// The numbers of a line, by their names in the answer.
const NUMBERS: [&str; 9] = [
    "replies",
    "discarded_drafts",
    "recordings",
    "audio_millis",
    "charged_messages",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
];

/// The numbers that have a column of their own in the table.
const TABLE_NUMBERS: [&str; 5] = [
    "replies",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
];

/// The columns behind the numbers.
const COST_COLUMNS: [&str; 4] = ["cost", UNPRICED[0], UNPRICED[1], UNPRICED[2]];

/// The numbers of what has no price.
const UNPRICED: [&str; 3] = ["unpriced_tokens", "unpriced_audio_millis", "unpriced_messages"];

/// Requests the sums and prints them.
pub(crate) async fn run_usage(arguments: UsageArguments, environment: &CommandEnvironment) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let by = arguments.by.as_str();
    let optional = [
        ("tenant", &arguments.tenant),
        ("conversation", &arguments.conversation),
        ("since", &arguments.since),
        ("until", &arguments.until),
    ];
    let mut query = vec![("by", by)];
    query.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?))),
    );
    let request = there.build_request(Method::GET, &["v1", "usage"])?;
    let answer = there.request_json(request.query(&query)).await?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else if arguments.csv {
        print!("{}", format_comma_separated(&answer, by));
    } else {
        print!("{}", format_usage(&answer, by));
    }
    Ok(())
}

fn read_usage_cell(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn list_usage_rows(answer: &Value, by: &str) -> Vec<Vec<String>> {
    let items = answer.get("items").and_then(Value::as_array);
    let row = |item: &Value| {
        let names = std::iter::once(by).chain(NUMBERS);
        let cells = names.map(|name| read_usage_cell(item, name));
        cells
            .chain([format_costs(item)])
            .chain(UNPRICED.map(|name| read_usage_cell(item, name)))
            .collect()
    };
    items.into_iter().flatten().map(row).collect()
}

/// Formats the costs of a line, such as `0.0123 USD`; several currencies stand beside each other.
fn format_costs(item: &Value) -> String {
    let costs = item["costs"].as_array().into_iter().flatten();
    let cost = |cost: &Value| {
        let amount = format_millionths(cost["micros"].as_u64().unwrap_or_default());
        format!("{amount} {}", read_usage_cell(cost, "currency"))
    };
    costs.map(cost).collect::<Vec<_>>().join(" + ")
}

/// Formats the sums as a table.
fn format_usage(answer: &Value, by: &str) -> String {
    let (since, until) = (read_usage_cell(answer, "since"), read_usage_cell(answer, "until"));
    if list_usage_rows(answer, by).is_empty() {
        return format!("No model was asked, and no message charged, from {since} to {until}.\n");
    }
    let items = answer.get("items").and_then(Value::as_array);
    let items = items.map_or(&[][..], Vec::as_slice);
    let cells = items.iter().map(|item| {
        let name = Some(read_usage_cell(item, by)).filter(|name| !name.is_empty());
        let numbers = TABLE_NUMBERS.map(|name| read_usage_cell(item, name));
        std::iter::once(name.unwrap_or_else(|| "-".to_owned()))
            .chain(numbers)
            .collect()
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
    let number = |name: &str| item.get(name).and_then(Value::as_u64).unwrap_or_default();
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
    let number = |name: &str| item.get(name).and_then(Value::as_u64).unwrap_or_default();
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
    let names = std::iter::once(by).chain(NUMBERS).chain(COST_COLUMNS);
    let names: Vec<String> = names.map(str::to_owned).collect();
    let lines = std::iter::once(names).chain(list_usage_rows(answer, by));
    lines
        .map(|line| {
            line.iter()
                .map(|value| quote_csv_value(value))
                .collect::<Vec<_>>()
                .join(",")
                + "\n"
        })
        .collect()
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
