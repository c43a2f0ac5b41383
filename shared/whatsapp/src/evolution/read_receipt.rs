//! Read marks and "typing…", over Evolution's REST API. Best effort: nothing follows from the answers.

use super::send::EvolutionEndpoint;
use recado_domain::contact::ContactAddress;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

/// How long "typing…" is shown, in milliseconds. The request is answered after that, and Evolution shows it no longer in one
/// go; who has the reply before gives the request up.
const TYPING_MS: u32 = 20_000;

/// How long that request may take.
pub(crate) const TYPING_TIMEOUT: Duration = Duration::from_millis(TYPING_MS as u64 + 5_000);

/// Marks a message as read. Evolution skips keys with `@lid` and says success all the same, so they are not sent.
pub(crate) async fn mark_read(at: &EvolutionEndpoint<'_>, id: &str, chat: &ContactAddress) {
    if chat.as_str().ends_with("@lid") {
        return;
    }
    let path = ["chat", "markMessageAsRead"];
    let keys = json!([{ "id": id, "fromMe": false, "remoteJid": chat.as_str() }]);
    let (method, body) = if at.version == 1 {
        (Method::PUT, json!({ "read_messages": keys }))
    } else {
        (Method::POST, json!({ "readMessages": keys }))
    };
    at.call_api(method, path, Some(&body)).await;
}

/// Shows "typing…" until its time is over or it is given up.
pub(crate) async fn show_typing(at: &EvolutionEndpoint<'_>, chat: &ContactAddress) {
    let body = build_presence_body(at.version, chat);
    at.call_api(Method::POST, ["chat", "sendPresence"], Some(&body))
        .await;
}

fn build_presence_body(version: u8, chat: &ContactAddress) -> Value {
    let number = chat.phone_number().map_or_else(
        || chat.as_str().to_owned(),
        |phone| phone.trim_start_matches('+').to_owned(),
    );
    let shown = json!({ "presence": "composing", "delay": TYPING_MS });
    if version == 1 {
        json!({ "number": number, "options": shown })
    } else {
        json!({ "number": number, "presence": "composing", "delay": TYPING_MS })
    }
}
