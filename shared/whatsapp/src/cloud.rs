//! What the providers that pass Meta's bodies on have in common.

use crate::meta::send::{TEXT_MAX, body};
use recado_domain::reason::Reason;
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use serde_json::Value;

/// The body that Meta takes for `message`, or why it never will.
pub(crate) fn cloud_body(message: &OutgoingMessage) -> Result<Value, SendOutcome> {
    let text = message.content.as_text();
    if text.chars().count() > TEXT_MAX {
        return Err(SendOutcome::Permanent {
            reason: Reason::WhatsappPermanentError,
            why: "text too long".to_owned(),
        });
    }
    Ok(body(message, &text))
}
