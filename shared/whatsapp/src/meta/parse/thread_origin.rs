//! Reads from the payload of a message who holds the contact's thread, and whose turn it is to answer.
//!
//! The fields are read as Meta's pages of 2026 describe them. Shape unconfirmed (seen in one client's code each): `wa_id` and `user_id`
//! in the sender of a change of the holder, a `conversation_context` of the type `history`, and an older shape of the change that
//! names the contact in `contacts` and the roles as `previous_owner_app_role` and `new_owner_app_role`.

use super::contact;
use crate::wire::ReadEvent;
use crate::wire::json::{get_text, list_members, parse_timestamp, sanitize_label};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::inbound::{InboundEvent, InboundMessage};
use recado_domain::reason::Reason;
use recado_domain::thread_hold::ThreadControl;
use serde_json::Value;

/// Key of a message's payload for the way in which it came, and its values.
pub(super) const CAME: &str = "came";
pub(super) const CAME_STANDBY: &str = "standby";
pub(super) const CAME_UNKNOWN: &str = "unknown_field";

/// The reason why a change of the holder is ignored that names no contact.
pub(super) const NO_CONTACT: &str = "handover of nobody";

/// Greatest number of characters of a note about a change of the holder.
const NOTE_MAX: usize = 4_000;

/// Names of the fields of a contact's address in a change of the holder.
const SENDER_KEYS: [&str; 2] = ["wa_id", "user_id"];

/// Adds to a message what the way in which it came says: whose turn it is to answer, and who holds the thread.
pub(super) fn apply_origin(message: &mut InboundMessage, payload: &Value) {
    match get_text(payload, CAME) {
        Some(CAME_STANDBY) => {
            message.thread = Some(ThreadControl::Held(None));
            message.not_owed = Some(Reason::HeldElsewhere);
            message.context.by_other_agent = message.from_me;
        }
        Some(_) => message.not_owed = Some(Reason::UnknownField),
        // Meta gives a contact's message as such to the holder of the thread alone.
        None if !message.from_me => message.thread = Some(ThreadControl::Ours),
        None => {}
    }
}

/// Returns the contact of a change of the holder.
pub(super) fn read_sender(value: &Value) -> Option<ContactAddress> {
    let sender = value
        .get("sender")
        .or_else(|| list_members(value.get("contacts")).first())?;
    let [wa_id, user] = SENDER_KEYS.map(|key| get_text(sender, key));
    contact::choose_address([get_text(sender, "phone_number").or(wa_id), user], None)
}

/// Interprets a change of the holder, which stands in the payload as `handover`.
pub(super) fn interpret_handover(value: &Value) -> ReadEvent {
    let address = read_sender(value).ok_or(NO_CONTACT)?;
    let what = get_text(value, "type").unwrap_or_default();
    let none = Value::Null;
    let detail = value.get(what).unwrap_or(&none);
    let role = |whose: &str| read_role(detail, whose);
    let (thread, head) = match what {
        "control_passed" => {
            let from = role("previous_owner").unwrap_or_else(|| "another program".to_owned());
            (
                Some(ThreadControl::PassedToUs),
                format!("{from} passed the thread to us"),
            )
        }
        "control_taken" => {
            let by = role("new_owner");
            let head = format!("{} took the thread", by.as_deref().unwrap_or("another program"));
            (Some(ThreadControl::Held(by)), head)
        }
        // Stored and shown: who has the thread after it is not known.
        other => (None, format!("the thread changed: {}", sanitize_label(other))),
    };
    let text: String = [Some(head), describe_context(detail)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(". ");
    let content = Content::System {
        what: SystemNote::Other,
        text: Some(text.chars().take(NOTE_MAX).collect()),
    };
    let mut event = contact::build_note_event(address, None, value, content);
    if let InboundEvent::Message(message) = &mut event {
        message.thread = thread;
        message.sent_at = parse_timestamp(value.get("timestamp"));
    }
    Ok(event)
}

/// Returns the role of a holder of the thread, `previous_owner` or `new_owner`.
pub(super) fn read_role(detail: &Value, whose: &str) -> Option<String> {
    let role = get_text(detail, &format!("{whose}_role"))
        .or_else(|| get_text(detail, &format!("{whose}_app_role")))?;
    Some(sanitize_label(role).to_owned())
}

/// Returns what the other program says about the conversation: its note, its summary, and its history (shape unconfirmed).
fn describe_context(detail: &Value) -> Option<String> {
    let context = detail.get("conversation_context");
    let summary = context
        .and_then(|context| context.get("summary"))
        .and_then(|summary| get_text(summary, "text"));
    let history = context.and_then(|context| context.get("history"));
    let lines = list_members(history.and_then(|history| history.get("items")))
        .iter()
        .filter_map(|line| {
            let text = line.get("text").and_then(|text| get_text(text, "body"))?;
            Some(format!("{}: {text}", get_text(line, "role").unwrap_or("?")))
        });
    let lines: Vec<String> = lines.collect();
    let parts = [get_text(detail, "metadata"), summary].into_iter().flatten();
    let told: Vec<String> = parts.map(str::to_owned).chain(lines).collect();
    (!told.is_empty()).then(|| told.join(". "))
}
