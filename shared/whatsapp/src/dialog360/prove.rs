//! Webhooks as 360dialog would post them.

use super::SECRET_HEADER;
use crate::setting_up::{Proofs, ProveError, Signed};
use serde_json::Value;

/// With the secret of the number that the body names.
pub(crate) fn prove(body: &Value, proofs: &Proofs) -> Result<Signed, ProveError> {
    let number = body.pointer("/entry/0/changes/0/value/metadata/phone_number_id");
    let number = number.and_then(Value::as_str).ok_or(ProveError::Nameless(
        "a body of 360dialog names no number: only its URL did",
    ))?;
    proofs.shown(crate::dialog360::NAME, number, SECRET_HEADER, body)
}
