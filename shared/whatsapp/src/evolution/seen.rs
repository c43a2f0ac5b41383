//! Read marks and "typing…", over Evolution's REST API. Best effort: nothing follows from the answers.

use super::send::Endpoint;
use recado_domain::contact::ContactAddress;
use reqwest::Method;
use serde_json::{Value, json};

/// How long "typing…" is shown, in milliseconds: the request blocks for as long.
const TYPING_MS: u32 = 1_500;

/// Marks a message as read. Evolution skips keys with `@lid` and says success all the same, so they are not sent.
pub(crate) async fn mark_read(at: &Endpoint<'_>, id: &str, chat: &ContactAddress) {
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
    at.call(method, path, Some(&body)).await;
}

/// Shows "typing…" for a moment.
pub(crate) async fn typing(at: &Endpoint<'_>, chat: &ContactAddress) {
    let body = presence(at.version, chat);
    at.call(Method::POST, ["chat", "sendPresence"], Some(&body)).await;
}

fn presence(version: u8, chat: &ContactAddress) -> Value {
    let number = chat.phone().map_or_else(
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
