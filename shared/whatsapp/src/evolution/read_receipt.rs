//! Sends read marks and "typing…" through Evolution's REST API. Best effort: the answers are not used.

use super::send::EvolutionEndpoint;
use futures::future::join;
use recado_domain::contact::ContactAddress;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

/// Time for which "typing…" is shown, in milliseconds. Evolution answers the request only after this time, and cannot
/// show "typing…" longer in one request. If the reply is ready earlier, the caller drops the request.
const TYPING_MS: u32 = 20_000;

/// Time limit of the typing request: the typing time and 5 seconds.
const TYPING_TIMEOUT: Duration = Duration::from_millis(TYPING_MS as u64 + 5_000);

/// Marks a message as read if `read`, and shows "typing…" if `typing`, at the same time.
pub(crate) async fn mark_read_and_typing(
    at: EvolutionEndpoint<'_>,
    id: &str,
    chat: &ContactAddress,
    read: bool,
    typing: bool,
) {
    let long = EvolutionEndpoint {
        timeout: TYPING_TIMEOUT,
        ..at
    };
    let mark_read = async {
        if read {
            mark_read(&at, id, chat).await;
        }
    };
    let show_typing = async {
        if typing {
            show_typing(&long, chat).await;
        }
    };
    join(mark_read, show_typing).await;
}

/// Marks a message as read. For keys with `@lid` nothing is sent, because Evolution skips them and reports success all
/// the same.
async fn mark_read(at: &EvolutionEndpoint<'_>, id: &str, chat: &ContactAddress) {
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

/// Shows "typing…" until its time is over or the caller drops the request.
async fn show_typing(at: &EvolutionEndpoint<'_>, chat: &ContactAddress) {
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
