//! Sends read marks and "typing…" through the Graph API. Best effort: the answer is not used.

use super::send::MetaEndpoint;
use crate::wire::http_exchange::{build_url, send_request};
use serde_json::{Value, json};

/// Marks a message, and all messages before it, as read. If `typing`, "typing…" is shown for 25 seconds or until the
/// reply. Meta has no typing indicator without a read mark.
pub(crate) async fn mark_read_and_typing(at: &MetaEndpoint<'_>, id: &str, typing: bool) {
    let Some(url) = build_url(at.base, &[at.version, at.phone_number_id.as_str(), "messages"]) else {
        return;
    };
    let request = at.http.post(url).bearer_auth(at.token.expose_secret());
    send_request(request.json(&build_read_receipt(id, typing)), at.timeout).await;
}

/// Builds the body of the read mark, for Meta and for providers that pass Meta's bodies on.
pub(crate) fn build_read_receipt(id: &str, typing: bool) -> Value {
    let mut body = json!({ "messaging_product": "whatsapp", "status": "read", "message_id": id });
    if typing {
        body["typing_indicator"] = json!({ "type": "text" });
    }
    body
}
