//! `recado find`: shows what came from a person or under an id, and what was answered, or the one reason why nothing was.

mod lookup;
mod way;

use crate::command_environment::CommandEnvironment;
use crate::conversation_thread::{format_head, format_thread_with};
use crate::installation::InstallationArguments;
use crate::instant::format_clock_time;
use crate::json_fields::{find_text, list_items, text_or_dash};
use crate::message_lines::{AnswerDetail, format_messages, name_contact};
use crate::text_lines::{WIDTH, wrap_text};
use anyhow::{Result, bail};
use clap::Args;
pub(crate) use lookup::RecordLookup;
use recado_machine::output::print_answer;
use recado_machine::style::{Paint, paint_text};
use serde_json::Value;

/// Finds what came from a person or under an id, and what was answered, or why nothing was.
#[derive(Debug, Args)]
pub struct FindArguments {
    /// A phone number in any spelling, an id, or a part of a name. Ids are those of conversations, messages, events and
    /// requests (correlation ids), and of messages at the provider (`wamid.…`, `3EB0…`). Parts of names and numbers are looked
    /// for in the index of one machine, and among the contacts who wrote lately. If no contact is found, words of messages are looked for,
    /// on one machine.
    #[arg(required = true)]
    what: Vec<String>,
    /// Only the contacts of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// Only on this instance.
    #[arg(long)]
    instance: Option<String>,
    /// Shows at most so many of the newest messages of a conversation: 1 to 200.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints what was found as JSON.
    #[arg(long)]
    json: bool,
}

/// Looks for what the arguments name, and shows it. It is an error if nothing is found.
pub(crate) async fn find_any_record(
    arguments: FindArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let what = arguments.what.join(" ");
    if what.trim().is_empty() {
        bail!("say what to look for: a number, a name, an id, or words of a message");
    }
    let lookup = RecordLookup {
        there: arguments.there.build_client(environment)?,
        tenant: arguments.tenant,
        instance: arguments.instance,
        limit: arguments.limit,
    };
    let Some(found) = lookup.find_text(what.trim()).await? else {
        bail!(
            "nothing is found for {what}: neither a contact's number or name, nor the id of a conversation, message, event or \
             request, nor words of a message"
        );
    };
    print_answer(&found, arguments.json, format_found_records)
}

/// Formats what was found: conversations with their messages, or single messages with their way.
fn format_found_records(found: &Value) -> String {
    let threads = list_items(found, "threads").iter();
    let mut parts: Vec<String> = threads
        .map(|thread| format_thread_with(thread, AnswerDetail::All))
        .collect();
    parts.extend(list_items(found, "erased").iter().map(format_erased_contact));
    let traced = list_items(found, "messages");
    if !traced.is_empty() {
        let conversation = &found["conversation"];
        let head = format_head(conversation);
        let lines = format_messages(traced, name_contact(conversation), AnswerDetail::All);
        parts.push(format!("{head}\n{lines}"));
    }
    if let Some(way) = found.get("way").and_then(Value::as_array) {
        parts.push(way::format_way(way));
    }
    parts.extend(traced.first().and_then(format_trace_line));
    if let Some(scheduled) = found.get("scheduled").filter(|scheduled| scheduled.is_object()) {
        parts.push(format_scheduled(scheduled));
    }
    let events = list_items(found, "events");
    if !events.is_empty() {
        parts.push(events.iter().map(format_event_line).collect());
    }
    parts.join("\n")
}

/// Formats where the trace of a message is shown: its URL, or its id alone. `None`: traces are not exported.
fn format_trace_line(message: &Value) -> Option<String> {
    let trace = find_text(message, "trace_url").or_else(|| find_text(message, "trace_id"))?;
    Some(format!("trace {trace}\n"))
}

fn format_erased_contact(conversation: &Value) -> String {
    let at = format_clock_time(text_or_dash(conversation, "erased_at"));
    format!("{} was erased {at}\n", text_or_dash(conversation, "id"))
}

/// Formats a message that is to be sent later.
fn format_scheduled(message: &Value) -> String {
    format!(
        "{} on {}: {}, to be sent {}\n{}\n",
        text_or_dash(message, "id"),
        text_or_dash(message, "instance_id"),
        text_or_dash(message, "status"),
        format_clock_time(text_or_dash(message, "send_at")),
        wrap_text(text_or_dash(message, "content"), WIDTH).join("\n")
    )
}

/// Formats an event: when its webhook came, and what became of it.
fn format_event_line(event: &Value) -> String {
    let state = text_or_dash(event, "state");
    let paint = match state {
        "applied" => Paint::Good,
        "pending" => Paint::Warning,
        _ => Paint::Bad,
    };
    let reason = find_text(event, "reason");
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    format!(
        "webhook {}: {} {}{reason}, correlation {}\n  {}\n",
        format_clock_time(text_or_dash(event, "received_at")),
        text_or_dash(event, "kind"),
        paint_text(paint, state),
        text_or_dash(event, "correlation_id"),
        text_or_dash(event, "id")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;
    use serde_json::json;

    #[test]
    fn a_message_is_shown_with_its_reason_its_way_and_its_webhook() {
        let found = json!({
            "conversation": {"id": "c_1-1", "instance_id": "suporte-01", "mode": "ai", "status": "active",
                "contact": {"phone": "+5511986600033", "name": "Bia"}},
            "messages": [{"role": "user", "content": "Oi", "created_at": "-",
                "trace_id": "0193", "trace_url": "https://jaeger.example/trace/0193",
                "answer": {"state": "not_owed", "reason": "stale"}}],
            "way": [{"step": "received", "at": "-", "wait_ms": null, "detail": {}}],
            "events": [{"id": "e", "kind": "message", "state": "applied", "received_at": "-", "correlation_id": "k"}],
        });
        let shown = strip_str(&format_found_records(&found)).to_string();
        assert!(
            shown.contains("→ Bia: Oi\n                 NOT answered: it was too old when it came (stale)"),
            "{shown}"
        );
        assert!(
            shown.contains("\nreceived") && shown.contains("webhook -: message applied, correlation k\n  e"),
            "{shown}"
        );
        assert!(
            shown.contains("\ntrace https://jaeger.example/trace/0193\n"),
            "{shown}"
        );
    }

    #[test]
    fn an_erased_contact_is_said_to_be_so() {
        let shown =
            format_found_records(&json!({"threads": [], "erased": [{"id": "c_1-1", "erased_at": "-"}]}));
        assert_eq!(shown, "c_1-1 was erased -\n");
    }
}
