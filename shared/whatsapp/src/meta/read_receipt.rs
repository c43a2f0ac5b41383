//! Read marks and "typing…", over the Graph API. Best effort: nothing follows from the answer.

use super::send::MetaEndpoint;
use crate::http_exchange::{build_url, send_request};
use serde_json::{Value, json};

/// Marks a message, and all before it, as read; with `typing`, "typing…" is shown for 25 seconds or until the reply. There
/// is no typing without the mark.
pub(crate) async fn mark_read_and_typing(at: &MetaEndpoint<'_>, id: &str, typing: bool) {
    let Some(url) = build_url(at.base, &[at.version, at.phone_number_id.as_str(), "messages"]) else {
        return;
    };
    let request = at.http.post(url).bearer_auth(at.token.expose_secret());
    send_request(request.json(&build_read_receipt(id, typing)), at.timeout).await;
}

/// The body that says so, here and to those who pass it on.
pub(crate) fn build_read_receipt(id: &str, typing: bool) -> Value {
    let mut body = json!({ "messaging_product": "whatsapp", "status": "read", "message_id": id });
    if typing {
        body["typing_indicator"] = json!({ "type": "text" });
    }
    body
}
