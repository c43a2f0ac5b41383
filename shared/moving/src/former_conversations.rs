//! The conversations of exports before format 7, whose fields were not nested yet.

use serde_json::{Map, Value};

/// The names of the parts of a conversation since format 7, each with the fields that lie in it.
const PARTS: [(&str, &str); 8] = [
    (
        "contact",
        "known_as phone name picture last_inbound_at session_started_at marketing_stopped_at pair_arrival",
    ),
    ("linked", "moved_to beside joined"),
    ("kept", "kept_from oldest_at"),
    ("questions", "open_question left_question asked"),
    ("opening", "scheduled_for opens_at closed_told_at"),
    ("people", "handover taken hand_over_note annotations"),
    ("features", "invited step has_journal reengaged thread_hold"),
    ("nudges", "nudged_at idle_nudges"),
];

/// The first format whose conversations have their fields in parts.
pub(crate) const PARTS_SINCE: u32 = 7;

/// Writes a conversation in JSON as formats since [`PARTS_SINCE`] have it. Fails if it is no JSON object.
pub(crate) fn nest_former_fields(json: &str) -> serde_json::Result<String> {
    let mut conversation: Map<String, Value> = serde_json::from_str(json)?;
    for (part, fields) in PARTS {
        let found = fields
            .split(' ')
            .filter_map(|field| conversation.remove_entry(field));
        let nested: Map<String, Value> = found.collect();
        if !nested.is_empty() {
            conversation.insert(part.to_owned(), Value::Object(nested));
        }
    }
    serde_json::to_string(&conversation)
}
