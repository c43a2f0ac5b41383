//! Read marks and "typing…", over the Graph API. Best effort: nothing follows from the answer.

use super::send::Endpoint;
use crate::exchange::{address, exchange};
use serde_json::{Value, json};

/// Marks a message, and all before it, as read; with `typing`, "typing…" is shown for 25 seconds or until the reply. There
/// is no typing without the mark.
pub(crate) async fn seen(at: &Endpoint<'_>, id: &str, typing: bool) {
    let Some(url) = address(at.base, &[at.version, at.phone_number_id.as_str(), "messages"]) else {
        return;
    };
    let request = at.http.post(url).bearer_auth(at.token.expose());
    exchange(request.json(&read_mark(id, typing)), at.timeout).await;
}

/// The body that says so, here and to those who pass it on.
pub(crate) fn read_mark(id: &str, typing: bool) -> Value {
    let mut body = json!({ "messaging_product": "whatsapp", "status": "read", "message_id": id });
    if typing {
        body["typing_indicator"] = json!({ "type": "text" });
    }
    body
}
