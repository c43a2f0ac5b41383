//! Describes as text the kinds that carry words and have no content of their own in Recado: invitations, events, payments.

use super::shop::format_price;
use crate::wire::json::{get_untrimmed_text, list_members, parse_timestamp};
use recado_domain::content::Content;
use serde_json::Value;

/// The label of a kind, and the places of its words: names of fields, with dots between them.
type Description = (&'static str, &'static str, &'static [&'static str]);

const DESCRIPTIONS: [Description; 11] = [
    (
        "groupInviteMessage",
        "group invitation",
        &["groupName", "caption"],
    ),
    (
        "newsletterAdminInviteMessage",
        "channel invitation",
        &["newsletterName", "caption"],
    ),
    (
        "newsletterFollowerInviteMessageV2",
        "channel invitation",
        &["newsletterName", "caption"],
    ),
    (
        "stickerPackMessage",
        "sticker pack",
        &["name", "publisher", "packDescription", "caption"],
    ),
    ("invoiceMessage", "invoice", &["note"]),
    ("paymentReminderMessage", "payment reminder", &["description"]),
    ("splitPaymentMessage", "split bill", &["description"]),
    ("bcallMessage", "call", &["caption"]),
    (
        "musicMessage",
        "music",
        &["embeddedMusic.title", "embeddedMusic.author"],
    ),
    ("statusQuestionAnswerMessage", "answer to a question", &["text"]),
    ("questionResponseMessage", "answer to a question", &["text"]),
];

/// Describes a kind; `None` if it is none of these.
pub(super) fn describe_kind(kind: &str, body: &Value) -> Option<Content> {
    match kind {
        "eventMessage" => Some(describe_event(body)),
        "eventInviteMessage" => Some(describe_event_invitation(body)),
        "sendPaymentMessage" => Some(describe_payment("payment", body)),
        "requestPaymentMessage" => Some(describe_payment("payment request", body)),
        "statusQuotedMessage" => get_untrimmed_text(body, "text").map(Content::from_text),
        "richResponseMessage" => describe_pieces(body),
        _ => {
            let (_, label, places) = DESCRIPTIONS.iter().find(|(known, _, _)| *known == kind)?;
            Some(labelled_text(
                label,
                places.iter().map(|place| text_at(body, place)),
            ))
        }
    }
}

fn text_at(body: &Value, place: &str) -> Option<String> {
    let (outer, name) = place.rsplit_once('.').unwrap_or(("", place));
    let inside = outer
        .split('.')
        .filter(|field| !field.is_empty())
        .try_fold(body, |at, field| at.get(field))?;
    get_untrimmed_text(inside, name)
}

fn labelled_text(label: &str, words: impl IntoIterator<Item = Option<String>>) -> Content {
    let words: Vec<String> = words.into_iter().flatten().collect();
    let text = format!("[{label}] {}", words.join("\n"));
    Content::from_text(text.trim_end())
}

/// Describes an event: its name, begin, end, place, description and link.
fn describe_event(body: &Value) -> Content {
    let cancelled = body.get("isCanceled").and_then(Value::as_bool) == Some(true);
    let words = [
        get_untrimmed_text(body, "name"),
        describe_time(body, "startTime", "begins"),
        describe_time(body, "endTime", "ends"),
        body.get("location").and_then(describe_place),
        get_untrimmed_text(body, "description"),
        get_untrimmed_text(body, "joinLink"),
    ];
    let label = if cancelled { "event cancelled" } else { "event" };
    labelled_text(label, words)
}

/// Describes an invitation to an event: its name, begin, end, caption and link.
fn describe_event_invitation(body: &Value) -> Content {
    let words = [
        get_untrimmed_text(body, "eventTitle"),
        describe_time(body, "startTime", "begins"),
        describe_time(body, "endTime", "ends"),
        get_untrimmed_text(body, "caption"),
        get_untrimmed_text(body, "callLink"),
    ];
    labelled_text("event invitation", words)
}

fn describe_time(body: &Value, field: &str, word: &str) -> Option<String> {
    parse_timestamp(body.get(field)).map(|at| format!("{word}: {at}"))
}

fn describe_place(place: &Value) -> Option<String> {
    let degrees = || {
        let [latitude, longitude] = ["degreesLatitude", "degreesLongitude"].map(|field| place.get(field));
        Some(format!("{},{}", latitude?.as_f64()?, longitude?.as_f64()?))
    };
    let named: Vec<String> = ["name", "address"]
        .iter()
        .filter_map(|field| get_untrimmed_text(place, field))
        .collect();
    let told = if named.is_empty() {
        degrees()?
    } else {
        named.join(", ")
    };
    Some(format!("place: {told}"))
}

/// Describes money that was sent or asked for: the amount, and the note.
fn describe_payment(label: &str, body: &Value) -> Content {
    let note = body
        .get("noteMessage")
        .filter(|note| super::has_content(note))
        .map(|note| super::parse_content(note, None).render_text());
    let amount = format_price(body, "amount1000", "currencyCodeIso4217");
    labelled_text(label, [amount, note])
}

fn describe_pieces(body: &Value) -> Option<Content> {
    let pieces: Vec<String> = list_members(body.get("submessages"))
        .iter()
        .filter_map(|piece| get_untrimmed_text(piece, "messageText"))
        .collect();
    (!pieces.is_empty()).then(|| Content::from_text(pieces.join("\n")))
}
