//! Sends read marks and "typing…" through Evolution's REST API. Best effort: the answers are not used.

use super::send::EvolutionEndpoint;
use recado_domain::contact::ContactAddress;
use recado_domain::provider::Provider;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

/// Time that is added to the typing time before the typing request is given up.
const TYPING_MARGIN: Duration = Duration::from_secs(5);

/// Marks messages as read, in one request. Versions that know no linked identities skip keys with `@lid` and report
/// success all the same.
pub(crate) async fn mark_messages_read(at: &EvolutionEndpoint<'_>, ids: &[String], chat: &ContactAddress) {
    let key = |id: &String| json!({ "id": id, "fromMe": false, "remoteJid": chat.as_str() });
    let keys: Vec<Value> = ids.iter().map(key).collect();
    let path = ["chat", "markMessageAsRead"];
    let (method, body) = if at.version == 1 {
        (Method::PUT, json!({ "read_messages": keys }))
    } else {
        (Method::POST, json!({ "readMessages": keys }))
    };
    at.call_api(method, path, Some(&body)).await;
}

/// Shows "typing…" until its time is over or the caller drops the request. Evolution answers the request only after this
/// time.
pub(crate) async fn show_typing(at: EvolutionEndpoint<'_>, chat: &ContactAddress) {
    let lasts = Provider::Evolution.capabilities().typing_lasts.unsigned_abs();
    let at = EvolutionEndpoint {
        timeout: lasts + TYPING_MARGIN,
        ..at
    };
    let body = build_presence_body(at.version, chat, lasts.as_millis());
    at.call_api(Method::POST, ["chat", "sendPresence"], Some(&body))
        .await;
}

fn build_presence_body(version: u8, chat: &ContactAddress, milliseconds: u128) -> Value {
    let number = chat.phone_number().map_or_else(
        || chat.as_str().to_owned(),
        |phone| phone.trim_start_matches('+').to_owned(),
    );
    let shown = json!({ "presence": "composing", "delay": milliseconds });
    if version == 1 {
        json!({ "number": number, "options": shown })
    } else {
        json!({ "number": number, "presence": "composing", "delay": milliseconds })
    }
}
