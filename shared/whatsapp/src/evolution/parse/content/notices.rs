//! Describes kinds that are a line in the conversation and ask for no answer.

use crate::wire::json::{get_text, get_untrimmed_text, parse_integer, parse_timestamp};
use recado_domain::content::{Content, SystemNote};
use serde_json::Value;

/// Describes a kind of the class `Notice`.
pub(super) fn describe_notice(kind: &str, body: &Value) -> Content {
    let text = match kind {
        "pinInChatMessage" => "a message was pinned or unpinned".to_owned(),
        "keepInChatMessage" => "a disappearing message was kept or let go".to_owned(),
        "callLogMesssage" | "callLogMessage" => describe_call(body),
        "scheduledCallCreationMessage" => describe_planned_call(body),
        "scheduledCallEditMessage" => "a planned call was cancelled".to_owned(),
        "declinePaymentRequestMessage" => "a request for a payment was declined".to_owned(),
        "cancelPaymentRequestMessage" => "a request for a payment was withdrawn".to_owned(),
        "paymentInviteMessage" => "an invitation to payments by WhatsApp".to_owned(),
        "splitPaymentUpdateMessage" => "a share of a split bill was paid".to_owned(),
        "pollAddOptionMessage" => describe_added_option(body),
        "secretEncryptedMessage" => "an option was added to a poll".to_owned(),
        "encEventResponseMessage" => "an event was answered; only the phone shows the answer".to_owned(),
        "encCommentMessage" => "a comment was written; only the phone shows it".to_owned(),
        _ => return system_note(None),
    };
    system_note(Some(text))
}

fn system_note(text: Option<String>) -> Content {
    Content::System {
        what: SystemNote::Other,
        text,
    }
}

/// The outcomes of a call, in the order of WhatsApp's numbers.
const CALL_OUTCOMES: [&str; 8] = [
    "connected",
    "missed",
    "failed",
    "rejected",
    "accepted_elsewhere",
    "ongoing",
    "silenced_by_dnd",
    "silenced_unknown_caller",
];

/// Describes a finished call, as the chat shows it. The outcome is a word or WhatsApp's number.
fn describe_call(body: &Value) -> String {
    let video = body.get("isVideo").and_then(Value::as_bool) == Some(true);
    let kind = if video { "video call" } else { "voice call" };
    let number = body.get("callOutcome").and_then(parse_integer);
    let named = number.and_then(|number| CALL_OUTCOMES.get(usize::try_from(number).ok()?).copied());
    let written = || get_text(body, "callOutcome").map(str::to_lowercase);
    match named.map(str::to_owned).or_else(written) {
        Some(outcome) => format!("{kind}, {outcome}"),
        None => kind.to_owned(),
    }
}

fn describe_planned_call(body: &Value) -> String {
    let at = parse_timestamp(body.get("scheduledTimestampMs"));
    let parts = [
        Some("a call was planned".to_owned()),
        get_untrimmed_text(body, "title"),
        at.map(|at| at.to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn describe_added_option(body: &Value) -> String {
    let option = body
        .get("addOption")
        .and_then(|option| get_untrimmed_text(option, "optionName"));
    match option {
        Some(option) => format!("an option was added to a poll: {option}"),
        None => "an option was added to a poll".to_owned(),
    }
}
