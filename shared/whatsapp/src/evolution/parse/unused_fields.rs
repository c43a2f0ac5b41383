//! Removes the parts of a body that nothing reads: files, previews, hashes and keys, which are most of its bytes.

use serde_json::Value;

/// Names of fields that nothing reads. A file is fetched by the message's id or its URL.
const UNUSED_FIELDS: [&str; 26] = [
    "base64",
    "jpegThumbnail",
    "pngThumbnail",
    "thumbnail",
    "thumbnailSha256",
    "thumbnailEncSha256",
    "thumbnailDirectPath",
    "mediaKey",
    "mediaKeyTimestamp",
    "fileSha256",
    "fileEncSha256",
    "midQualityFileSha256",
    "midQualityFileEncSha256",
    "directPath",
    "scansSidecar",
    "firstScanSidecar",
    "scanLengths",
    "streamingSidecar",
    "waveform",
    "messageSecret",
    "messageContextInfo",
    "senderKeyDistributionMessage",
    "fastRatchetKeySenderKeyDistributionMessage",
    "deviceListMetadata",
    "conversionData",
    "ctwaPayload",
];

/// Number of fields from which an object with only numeric keys is treated as bytes.
const BYTES_MIN: usize = 8;

/// Removes the unused fields and all encoded bytes, at every depth.
pub(super) fn drop_unused_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| !UNUSED_FIELDS.contains(&key.as_str()) && !is_encoded_bytes(value));
            fields.values_mut().for_each(drop_unused_fields);
        }
        Value::Array(members) => members.iter_mut().for_each(drop_unused_fields),
        _ => {}
    }
}

/// Returns `true` for bytes in the form of versions that do not write base64: `{"0": 12, "1": 7, …}` or
/// `{"type": "Buffer", "data": […]}`.
fn is_encoded_bytes(value: &Value) -> bool {
    let Some(fields) = value.as_object() else {
        return false;
    };
    let buffer = fields.len() == 2
        && fields.get("type").is_some_and(|kind| kind == "Buffer")
        && fields.contains_key("data");
    let digits = |key: &String| key.bytes().all(|b| b.is_ascii_digit());
    buffer || (fields.len() >= BYTES_MIN && fields.keys().all(digits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_go_whatever_form_they_have_and_the_rest_stays() {
        let bytes: serde_json::Map<String, Value> =
            (0..32).map(|at| (at.to_string(), json!(at * 7))).collect();
        let mut body = json!({
            "key": {"id": "A"},
            "message": {"imageMessage": {"caption": "x", "seconds": {"low": 1, "high": 0, "unsigned": true},
                "newHash": bytes, "other": {"type": "Buffer", "data": [1, 2]}, "jpegThumbnail": "AAAA",
                "contextInfo": {"quotedMessage": {"audioMessage": {"waveform": "BBBB", "ptt": true}}}},
                "pollUpdateMessage": {"vote": {"selectedOptions": ["Sim"]}}},
            "few": {"0": "a", "1": "b"}
        });
        drop_unused_fields(&mut body);
        assert_eq!(
            body,
            json!({
                "key": {"id": "A"},
                "message": {"imageMessage": {"caption": "x", "seconds": {"low": 1, "high": 0, "unsigned": true},
                    "contextInfo": {"quotedMessage": {"audioMessage": {"ptt": true}}}},
                    "pollUpdateMessage": {"vote": {"selectedOptions": ["Sim"]}}},
                "few": {"0": "a", "1": "b"}
            })
        );
    }
}
