//! Formats messages of a conversation for people: time, direction, who, text, ticks, and why there is no answer.

use crate::answer_note::describe_answer;
use crate::instant::format_clock_time;
use crate::json_fields::{find_text, text_at};
use crate::text_lines::{WIDTH, cut_text, wrap_text};
use recado_machine::style::{Paint, paint_text};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

/// The width of the time and the arrow before a text.
const MARGIN: usize = 17;

/// The longest name before a text.
const WHO_MAX: usize = 60;

/// The part of an answer that is told below a contact's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerDetail {
    /// Nothing.
    Nothing,
    /// The reason, where there is no answer.
    OnlyMissing,
    /// Also when and by whom it was answered.
    All,
}

/// Formats a message of the API in one or more lines. `contact` names the person of the conversation.
pub(crate) fn format_message(message: &Value, contact: &str, detail: AnswerDetail) -> String {
    format_message_of(message, name_author(message, contact), detail)
}

/// Formats a message as [`format_message`] does, where messages of several conversations follow each other: one that goes
/// out also names the contact.
pub(crate) fn format_addressed_message(message: &Value, contact: &str) -> String {
    let author = name_author(message, contact);
    let addressed = format!("{author} to {contact}");
    let who = if is_from_contact(message) {
        author
    } else {
        &addressed
    };
    format_message_of(message, who, AnswerDetail::Nothing)
}

fn is_from_contact(message: &Value) -> bool {
    find_text(message, "role") == Some("user")
}

fn name_author<'a>(message: &'a Value, contact: &'a str) -> &'a str {
    match find_text(message, "role") {
        Some("user") => contact,
        Some("assistant") => "agent",
        _ => find_text(message, "by").unwrap_or("person"),
    }
}

/// Formats a message of the author `who`.
fn format_message_of(message: &Value, who: &str, detail: AnswerDetail) -> String {
    let of = |name: &str| find_text(message, name);
    let from_contact = is_from_contact(message);
    let who = &cut_text(who, WHO_MAX);
    let text = format!("{who}: {}", of("content").unwrap_or_default());
    let mut lines = wrap_text(&text, WIDTH - MARGIN);
    if let Some(rest) = lines.first().and_then(|line| line.strip_prefix(who.as_str())) {
        lines[0] = paint_text(Paint::Title, who) + rest;
    }
    if let Some(note) = describe_change(message) {
        add_to_last_line(&mut lines, &note, Paint::Quiet);
    }
    if !from_contact {
        let (mark, paint) = describe_delivery(of("status").unwrap_or("-"));
        add_to_last_line(&mut lines, &mark, paint);
    }
    lines.extend(list_answer_lines(message, detail));
    let time = of("created_at").map_or_else(|| "-".to_owned(), format_clock_time);
    let arrow = if from_contact { '→' } else { '←' };
    let mut told = format!("{} {arrow} ", paint_text(Paint::Quiet, &format!("{time:<14}")));
    told.push_str(&lines.join(&format!("\n{:MARGIN$}", "")));
    told + "\n"
}

/// Formats messages, the oldest first.
pub(crate) fn format_messages<'a>(
    messages: impl IntoIterator<Item = &'a Value>,
    contact: &str,
    detail: AnswerDetail,
) -> String {
    let messages = messages.into_iter();
    messages
        .map(|message| format_message(message, contact, detail))
        .collect()
}

/// Returns the name by which the contact of a conversation is shown, or else the number.
pub(crate) fn name_contact(conversation: &Value) -> &str {
    let at = |pointer: &str| text_at(conversation, pointer);
    let name = at("/contact/name").filter(|name| !name.trim().is_empty());
    name.or_else(|| at("/contact/phone")).unwrap_or("contact")
}

/// Describes what became of a message that goes out, with the ticks that WhatsApp shows.
fn describe_delivery(status: &str) -> (String, Paint) {
    let (ticks, paint) = match status {
        "pending" => ("…", Paint::Warning),
        "sent" => ("✓", Paint::Quiet),
        "delivered" => ("✓✓", Paint::Quiet),
        "read" => ("✓✓", Paint::Good),
        _ => ("✗", Paint::Bad),
    };
    (format!("{ticks} {status}"), paint)
}

/// Tells whether a message was changed after it was written.
fn describe_change(message: &Value) -> Option<String> {
    let has = |name: &str| message.get(name).is_some_and(Value::is_string);
    match (has("deleted_at"), has("edited_at")) {
        (true, _) => Some("(deleted)".to_owned()),
        (false, true) => Some("(edited)".to_owned()),
        (false, false) => None,
    }
}

fn list_answer_lines(message: &Value, detail: AnswerDetail) -> Vec<String> {
    let note = message.get("answer").and_then(describe_answer);
    let shown = note.filter(|note| match detail {
        AnswerDetail::Nothing => false,
        AnswerDetail::OnlyMissing => note.paint != Paint::Quiet,
        AnswerDetail::All => true,
    });
    let Some(note) = shown else {
        return Vec::new();
    };
    let lines = wrap_text(&note.text, WIDTH - MARGIN);
    lines.iter().map(|line| paint_text(note.paint, line)).collect()
}

/// Adds a note behind the last line, or below it if it is too long.
fn add_to_last_line(lines: &mut Vec<String>, note: &str, paint: Paint) {
    let painted = paint_text(paint, note);
    match lines.last_mut() {
        Some(last) if measure_width(last) + 2 + note.width() <= WIDTH - MARGIN => {
            last.push_str("  ");
            last.push_str(&painted);
        }
        _ => lines.push(painted),
    }
}

/// Measures a line without the codes of its colours.
fn measure_width(line: &str) -> usize {
    anstream::adapter::strip_str(line).to_string().width()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;
    use serde_json::json;

    fn shown(message: &Value, detail: AnswerDetail) -> String {
        strip_str(&format_message(message, "Bia", detail)).to_string()
    }

    #[test]
    fn a_contacts_message_says_why_it_is_not_answered() {
        let message = json!({"role": "user", "content": "Pergunta 33", "created_at": "-", "status": "sent",
            "answer": {"state": "not_owed", "reason": "stale"}});
        let expected = "-              → Bia: Pergunta 33\n                 NOT answered: it was too old when it came (stale)\n";
        assert_eq!(shown(&message, AnswerDetail::OnlyMissing), expected);
        assert_eq!(
            shown(&message, AnswerDetail::Nothing),
            "-              → Bia: Pergunta 33\n"
        );
    }

    #[test]
    fn an_answered_message_is_told_so_only_where_all_is_told() {
        let message = json!({"role": "user", "content": "Oi", "created_at": "-",
            "answer": {"state": "answered", "reason": "person", "by": "desk"}});
        assert!(!shown(&message, AnswerDetail::OnlyMissing).contains("answered"));
        assert!(shown(&message, AnswerDetail::All).contains("answered by desk"));
    }

    #[test]
    fn what_goes_out_has_its_author_and_ticks() {
        let mut message = json!({"role": "assistant", "content": "Olá!", "created_at": "-", "status": "read", "edited_at": "x"});
        assert_eq!(
            shown(&message, AnswerDetail::All),
            "-              ← agent: Olá!  (edited)  ✓✓ read\n"
        );
        message["role"] = json!("operator");
        message["by"] = json!("phone");
        message["status"] = json!("failed");
        assert!(shown(&message, AnswerDetail::All).contains("← phone: Olá!  (edited)  ✗ failed"));
    }

    #[test]
    fn a_long_text_is_broken_below_itself_within_eighty_columns() {
        let message = json!({"role": "assistant", "content": "palavra ".repeat(40), "created_at": "2026-03-01T08:00:00Z",
            "status": "delivered"});
        let told = shown(&message, AnswerDetail::All);
        assert!(told.lines().count() > 4);
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
        assert!(
            told.lines().skip(1).all(|line| line.starts_with(&" ".repeat(17))),
            "{told}"
        );
        assert!(told.trim_end().ends_with("✓✓ delivered"), "{told}");
    }

    #[test]
    fn among_other_conversations_what_goes_out_names_its_contact() {
        let message = json!({"role": "assistant", "content": "Olá!", "created_at": "-", "status": "sent"});
        let told = strip_str(&format_addressed_message(&message, "Bia")).to_string();
        assert_eq!(told, "-              ← agent to Bia: Olá!  ✓ sent\n");
        let came = json!({"role": "user", "content": "Oi", "created_at": "-"});
        let told = strip_str(&format_addressed_message(&came, "Bia")).to_string();
        assert_eq!(told, "-              → Bia: Oi\n");
    }

    #[test]
    fn a_contact_without_a_name_is_shown_by_the_number() {
        assert_eq!(
            name_contact(&json!({"contact": {"name": "Bia", "phone": "+55"}})),
            "Bia"
        );
        assert_eq!(
            name_contact(&json!({"contact": {"name": " ", "phone": "+55"}})),
            "+55"
        );
        assert_eq!(
            name_contact(&json!({"contact": {"name": null, "phone": null}})),
            "contact"
        );
    }
}
