//! A conversation with its messages, as lines for people.

use crate::answer_note::describe_answer;
use crate::installation::InstallationClient;
use crate::instant::format_clock_time;
use crate::json_fields::{find_text, is_field_true, join_texts, list_items, number_or_zero, text_at};
use crate::message_lines::{AnswerDetail, format_messages, name_contact};
use crate::text_lines::{WIDTH, wrap_text};
use anyhow::Result;
use recado_machine::style::{Paint, paint_text};
use serde_json::{Value, json};

/// Reads a conversation with at most `limit` of its newest messages. Those of the same person's conversations that belong to it are
/// read too. Returns `conversation`, `messages` (the oldest first) and whether there are `older` ones.
pub(crate) async fn read_thread(there: &InstallationClient, id: &str, limit: u16) -> Result<Value> {
    let query = [("joined", "true".to_owned()), ("limit", limit.to_string())];
    let conversation = ["v1", "conversations", id];
    let messages = ["v1", "conversations", id, "messages"];
    let (conversation, page) = tokio::try_join!(
        there.get_json(&conversation, &[]),
        there.get_json(&messages, &query)
    )?;
    let mut messages = list_items(&page, "items").to_vec();
    messages.reverse();
    let older = page.get("next_cursor").is_some_and(Value::is_string);
    Ok(json!({"conversation": conversation, "messages": messages, "older": older}))
}

/// Formats a thread: its head, then a line or more for each message.
pub(crate) fn format_thread(thread: &Value) -> String {
    format_thread_with(thread, AnswerDetail::OnlyMissing)
}

/// Formats a thread. Of the answers so much is told as `detail` says.
pub(crate) fn format_thread_with(thread: &Value, detail: AnswerDetail) -> String {
    let conversation = &thread["conversation"];
    let mut told = format_head(conversation) + "\n";
    if is_field_true(thread, "older") {
        told.push_str(&paint_text(Paint::Quiet, "older messages: --limit"));
        told.push('\n');
    }
    let messages = list_items(thread, "messages");
    told + &format_messages(messages, name_contact(conversation), detail)
}

/// Formats what is to be known of a conversation before its messages: whose it is, who has it, and what is waited for.
pub(crate) fn format_head(conversation: &Value) -> String {
    let of = |name: &str| find_text(conversation, name);
    let has_it = match (of("mode"), of("taken_by")) {
        (Some("ai"), _) if of("needs_person").is_some() => "the agent left it to a person".to_owned(),
        (Some("ai"), _) => "the agent has it".to_owned(),
        (_, Some(by)) => format!("{by} has it"),
        _ => "people have it".to_owned(),
    };
    let name = name_contact(conversation);
    let phone = text_at(conversation, "/contact/phone");
    let phone = phone.filter(|phone| *phone != name);
    let who = phone.map_or_else(|| name.to_owned(), |phone| format!("{name} {phone}"));
    let (instance, status) = (of("instance_id").unwrap_or("-"), of("status").unwrap_or("-"));
    let mut lines = wrap_text(&format!("{who} on {instance}: {status}, {has_it}"), WIDTH);
    if let Some(first) = lines.first_mut() {
        *first = paint_text(Paint::Title, first);
    }
    lines.push(of("id").unwrap_or("-").to_owned());
    if let Some(note) = conversation.get("owed_answer").and_then(describe_answer) {
        let wrapped = wrap_text(&note.text, WIDTH);
        lines.extend(wrapped.iter().map(|line| paint_text(note.paint, line)));
    }
    if let Some(since) = of("waiting_since") {
        let told = format!("waits for a person since {}", format_clock_time(since));
        lines.push(paint_text(Paint::Bad, &told));
    }
    if let Some(note) = text_at(conversation, "/hand_over_note/text") {
        lines.extend(wrap_text(&format!("the agent's note: {note}"), WIDTH));
    }
    let labels = join_texts(conversation, "labels");
    if !labels.is_empty() {
        lines.extend(wrap_text(&format!("labels: {labels}"), WIDTH));
    }
    if let (count @ 1.., Some(id)) = (number_or_zero(conversation, "note_count"), of("id")) {
        lines.push(format!("notes: {count} (recado conversations note {id})"));
    }
    if let Some(back) = of("agent_returns_at") {
        lines.push(format!("the agent comes back at {}", format_clock_time(back)));
    }
    if let Some(other) = of("moved_to") {
        lines.push(format!("goes on in {other}"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;

    fn conversation() -> Value {
        json!({"id": "c_1-1", "instance_id": "suporte-01", "mode": "ai", "status": "active",
            "contact": {"phone": "+5511986600033", "name": "Bia"}})
    }

    #[test]
    fn a_thread_is_a_head_and_a_line_for_each_message() {
        let message = |role: &str, content: &str| json!({"role": role, "content": content, "created_at": "-", "status": "sent"});
        let thread = json!({"conversation": conversation(), "older": true,
            "messages": [message("user", "Oi"), message("assistant", "Olá!")]});
        let expected = "Bia +5511986600033 on suporte-01: active, the agent has it\nc_1-1\n\nolder messages: --limit\n\
            -              → Bia: Oi\n-              ← agent: Olá!  ✓ sent\n";
        assert_eq!(strip_str(&format_thread(&thread)).to_string(), expected);
    }

    #[test]
    fn a_conversation_that_the_agent_handed_over_is_not_the_agents() {
        let mut handed = conversation();
        handed["needs_person"] = json!("handed_over");
        let head = strip_str(&format_head(&handed)).to_string();
        assert!(head.contains("active, the agent left it to a person"), "{head}");
    }

    #[test]
    fn a_head_says_what_is_waited_for_and_who_has_it() {
        let mut handed = conversation();
        handed["mode"] = json!("manual");
        handed["taken_by"] = json!("desk");
        handed["waiting_since"] = json!("2026-01-05T12:00:00Z");
        handed["hand_over_note"] = json!({"text": "wants a\nrefund ".repeat(20)});
        handed["moved_to"] = json!("c_2-1");
        handed["labels"] = json!(["refund", "vip"]);
        handed["note_count"] = json!(2);
        handed["owed_answer"] = json!({"state": "waiting", "reason": "manual", "by": "desk"});
        let head = strip_str(&format_head(&handed)).to_string();
        assert!(head.lines().all(|line| line.chars().count() <= 80), "{head}");
        for told in [
            "active, desk has it",
            "NOT answered: people have the conversation by desk (manual)",
            "waits for a person since 01-05 ",
            "the agent's note: wants a",
            "goes on in c_2-1",
            "labels: refund, vip",
            "notes: 2 (recado conversations note c_1-1)",
        ] {
            assert!(head.contains(told), "{told} is not in:\n{head}");
        }
        let mut nameless = conversation();
        nameless["contact"] = json!({"phone": "+55", "name": null});
        assert!(
            strip_str(&format_head(&nameless))
                .to_string()
                .starts_with("+55 on suporte-01")
        );
    }
}
