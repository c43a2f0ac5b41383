//! Read marks and "typing…", over the Graph API. Best effort: nothing follows from the answer.

use super::send::Endpoint;
use crate::exchange::{address, exchange};
use serde_json::json;

/// Marks a message, and all before it, as read; with `typing`, "typing…" is shown for 25 seconds or until the reply. There
/// is no typing without the mark.
pub(crate) async fn seen(at: &Endpoint<'_>, id: &str, typing: bool) {
    let Some(url) = address(at.base, &[at.version, at.phone_number_id.as_str(), "messages"]) else {
        return;
    };
    let mut body = json!({ "messaging_product": "whatsapp", "status": "read", "message_id": id });
    if typing {
        body["typing_indicator"] = json!({ "type": "text" });
    }
    let request = at.http.post(url).bearer_auth(at.token.expose()).json(&body);
    exchange(request, at.timeout).await;
}
