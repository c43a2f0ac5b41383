//! Lists conversations, and who waits for a person.

use crate::api_command::{ApiCommand, name_choice};
use crate::dlq::tables::{format_more, format_with_lines_below};
use crate::instant::format_time_of_year;
use crate::json_fields::{list_items, text_at};
use crate::text_lines;
use clap::{Args, ValueEnum};
use serde_json::Value;

/// The longest text of a cell that somebody else chose.
const CELL_MAX: usize = 18;

/// The conversations that are listed.
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Lists those in which a person owes an answer, the longest waiting first: since when, why, and who took them.
    #[arg(long)]
    waiting: bool,
    /// Only of this instance.
    #[arg(long)]
    instance: Option<String>,
    /// Only those that the agent (`ai`) or people (`manual`) have.
    #[arg(long)]
    mode: Option<ListedMode>,
    /// Only those with this label.
    #[arg(long)]
    label: Option<String>,
    /// Shows at most so many: 1 to 200.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,
    /// The cursor that the page before gave.
    #[arg(long)]
    cursor: Option<String>,
}

/// A mode by which conversations are listed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ListedMode {
    Ai,
    Manual,
}

/// Returns the request of a page of conversations.
pub(super) fn describe_list(wanted: ListArguments) -> ApiCommand {
    let waiting = wanted.waiting;
    ApiCommand::get(&["v1", "conversations"])
        .query("waiting", waiting.then_some(true))
        .only_of("instances", wanted.instance)
        .query("mode", wanted.mode.as_ref().map(name_choice))
        .query("label", wanted.label)
        .query("limit", Some(wanted.limit))
        .query("cursor", wanted.cursor)
        .show(move |page| format_conversations(page, waiting))
}

/// Formats a page of conversations within 80 columns. Below each are its id, the contact's name and the agent's note.
pub(super) fn format_conversations(answer: &Value, waiting: bool) -> String {
    let items = list_items(answer, "items");
    let below = items.iter().map(list_lines_below).collect();
    let all = match (items.is_empty(), waiting) {
        (true, true) => "Nobody waits for a person.\n".to_owned(),
        (true, false) => "No conversations.\n".to_owned(),
        (false, true) => {
            let heading = ["since", "contact", "why", "taken by"];
            format_with_lines_below(&heading, items.iter().map(build_waiting_row).collect(), below)
        }
        (false, false) => {
            let heading = ["last", "contact", "who answers", "status", "instance"];
            format_with_lines_below(&heading, items.iter().map(build_listed_row).collect(), below)
        }
    };
    all + &format_more(answer)
}

fn build_waiting_row(item: &Value) -> Vec<String> {
    let since = text_at(item, "/waiting_since").unwrap_or("-").to_owned();
    // Without a reason the conversation is people's: nobody handed it over.
    let why = text_at(item, "/needs_person").unwrap_or("manual").to_owned();
    let taken = match (text_at(item, "/taken_by"), text_at(item, "/taken_at")) {
        (Some(by), Some(at)) => {
            format!("{}, {}", cut_text(by), format_time_of_year(at))
        }
        _ => "nobody".to_owned(),
    };
    vec![since, build_contact_cell(item), why, taken]
}

fn build_listed_row(item: &Value) -> Vec<String> {
    let cell = |pointer: &str| cut_text(text_at(item, pointer).unwrap_or("-"));
    vec![
        text_at(item, "/last_message_at").unwrap_or("-").to_owned(),
        build_contact_cell(item),
        find_who_answers(item).to_owned(),
        cell("/status"),
        cell("/instance_id"),
    ]
}

/// Tells who answers the contact's next message. After the agent's hand-over that is a person, although nobody took it yet.
fn find_who_answers(item: &Value) -> &'static str {
    let is_of_agent = text_at(item, "/mode") == Some("ai") && text_at(item, "/needs_person").is_none();
    if is_of_agent { "the agent" } else { "a person" }
}

/// Returns the contact's number; the name if WhatsApp does not show the number.
fn build_contact_cell(item: &Value) -> String {
    let shown = text_at(item, "/contact/phone").or_else(|| text_at(item, "/contact/name"));
    cut_text(shown.unwrap_or("-"))
}

fn list_lines_below(item: &Value) -> Vec<String> {
    let line = |pointer: &str| text_at(item, pointer).unwrap_or("-").to_owned();
    ["/id", "/contact/name", "/hand_over_note/text"]
        .map(line)
        .to_vec()
}

fn cut_text(text: &str) -> String {
    text_lines::cut_text(text, CELL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn conversation(name: &str) -> Value {
        json!({"id": "c_9c2b68278bc5d12270dad71f1da5c3f1-1", "instance_id": "suporte-01", "mode": "manual", "status": "active",
            "contact": {"phone": "+5511999998888", "name": name}, "last_message_at": "2026-01-05T12:00:00Z",
            "waiting_since": "2026-01-05T12:00:00Z"})
    }

    #[test]
    fn who_waits_is_shown_with_why_and_who_took_it_within_eighty_columns() {
        let mut handed = conversation(&"Bia ".repeat(40));
        handed["needs_person"] = json!("too_much_to_read");
        handed["hand_over_note"] =
            json!({"text": "wants a\nrefund ".repeat(20), "at": "2026-01-05T12:00:00Z"});
        let mut taken = conversation("Caio");
        taken["taken_by"] = json!("a-token-with-a-very-long-name");
        taken["taken_at"] = json!("2026-01-05T12:01:00Z");
        let shown = format_conversations(&json!({"items": [handed, taken], "next_cursor": "c"}), true);
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 9, "{shown}");
        assert!(
            lines[1].contains("too_much_to_read") && lines[1].trim_end().ends_with("nobody"),
            "{shown}"
        );
        assert_eq!(lines[2], "  c_9c2b68278bc5d12270dad71f1da5c3f1-1");
        assert!(lines[4].starts_with("  wants a refund"), "{shown}");
        assert!(
            lines[5].contains("manual") && lines[5].contains("a-token-with-a-ve…, 01-05"),
            "{shown}"
        );
        assert_eq!((lines[7], lines[8]), ("  Caio", "There are more: --cursor c"));
        assert_eq!(
            format_conversations(&json!({"items": []}), true),
            "Nobody waits for a person.\n"
        );
    }

    #[test]
    fn conversations_are_shown_with_who_answers_status_and_instance() {
        let mut nameless = conversation("Dora");
        nameless["contact"] = json!({"phone": null, "name": "Dora"});
        let shown = format_conversations(&json!({"items": [nameless]}), false);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0].find("contact"), lines[1].find("Dora"), "{shown}");
        for cell in ["a person", "active", "suporte-01"] {
            assert!(lines[1].contains(cell), "{shown}");
        }
        for (needs_person, who) in [(json!(null), "the agent"), (json!("handed_over"), "a person")] {
            let mut item = conversation("Dora");
            item["mode"] = json!("ai");
            item["needs_person"] = needs_person;
            let shown = format_conversations(&json!({"items": [item]}), false);
            assert!(shown.lines().nth(1).unwrap().contains(who), "{shown}");
        }
        assert_eq!(
            format_conversations(&json!({"items": []}), false),
            "No conversations.\n"
        );
    }
}
