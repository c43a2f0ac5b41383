//! Takes the file out of a message that Evolution sends with `webhookBase64`.

use super::content;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use recado_domain::message::MessageFile;
use serde_json::Value;

/// Takes the file out of the data of a message. Returns its Base64 without line breaks and without the head of a data URL; `None` if
/// there is no file, if it is empty or no Base64, or if a message of this kind has no file to store.
pub(super) fn take_webhook_file(data: &mut Value) -> Option<String> {
    let message = data.get_mut("message")?;
    let Value::String(text) = message.get_mut("base64")?.take() else {
        return None;
    };
    // The id only says where the file can be fetched.
    let content = content::parse_content(message, Some("id"));
    MessageFile::expect_from_content(&content, Timestamp::UNIX_EPOCH)?;
    let base64 = normalize_base64(text);
    let is_usable = STANDARD.decode(&base64).is_ok_and(|bytes| !bytes.is_empty());
    is_usable.then_some(base64)
}

/// Returns `text` without white space and without the head of a data URL, which some versions write.
fn normalize_base64(text: String) -> String {
    let is_data_url = text.trim_start().starts_with("data:");
    if !is_data_url && !text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return text;
    }
    let body = match text.split_once(',') {
        Some((_, body)) if is_data_url => body,
        _ => &text,
    };
    body.chars().filter(|c| !c.is_ascii_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn take(base64: &Value) -> Option<String> {
        take_webhook_file(&mut json!({"message": {"imageMessage": {"caption": "x"}, "base64": base64}}))
    }

    #[test]
    fn a_file_is_taken_however_its_base64_is_written() {
        for written in [
            "aW1hZ2U=",
            " aW1h\r\nZ2U=\n",
            "data:image/png;base64,aW1hZ2U=",
            "data:;base64, aW1hZ2U=",
        ] {
            assert_eq!(take(&json!(written)).as_deref(), Some("aW1hZ2U="), "{written}");
        }
    }

    #[test]
    fn what_is_no_file_is_left_to_the_api() {
        for written in [
            json!(""),
            json!("  "),
            json!("data:image/png;base64,"),
            json!("aW1hZ2U"),
            json!("aW1h*2U="),
            json!("é"),
            json!("data:"),
            json!(7),
            json!(null),
            json!({"a": "aW1hZ2U="}),
        ] {
            assert_eq!(take(&written), None, "{written}");
        }
    }

    #[test]
    fn a_file_that_is_not_to_be_stored_is_not_taken() {
        for message in [
            json!({"conversation": "Oi", "base64": "aW1hZ2U="}),
            json!({"imageMessage": {"viewOnce": true}, "base64": "aW1hZ2U="}),
            json!({"viewOnceMessageV2": {"message": {"imageMessage": {}}}, "base64": "aW1hZ2U="}),
            json!({"imageMessage": {}}),
        ] {
            let mut data = json!({ "message": message });
            assert_eq!(take_webhook_file(&mut data), None, "{data}");
        }
        assert_eq!(take_webhook_file(&mut json!({"message": "a"})), None);
    }
}
