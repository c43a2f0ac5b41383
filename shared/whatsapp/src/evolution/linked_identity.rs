//! Finds the linked identity of somebody whose message Evolution accepted for the number, and WhatsApp did not acknowledge.

use super::evidence::fetch_stored_record;
use super::send::{EvolutionEndpoint, format_recipient};
use crate::wire::http_exchange::HttpExchange;
use crate::wire::json::{get_text, list_members};
use recado_domain::contact::ContactAddress;
use recado_ports::ports::UnacknowledgedSend;
use reqwest::Method;
use serde_json::{Value, json};

/// Asks Evolution first whether it knows a status of the message: its webhook may have been lost. Then asks for the identity with
/// `chat/whatsappNumbers`, unless it is known. Version 1 knows no linked identities.
pub(crate) async fn find_unacknowledged_identity(
    at: &EvolutionEndpoint<'_>,
    send: UnacknowledgedSend<'_>,
) -> Option<ContactAddress> {
    if at.version == 1 {
        return None;
    }
    let record = fetch_stored_record(at, send.provider_message_id).await?;
    if !is_pending(&record) {
        return None;
    }
    if let Some(known) = send.known_as {
        return Some(known.clone());
    }
    let body = json!({ "numbers": [format_recipient(send.to)] });
    let path = ["chat", "whatsappNumbers"];
    let HttpExchange::Response(answer) = at.call_api(Method::POST, path, Some(&body)).await else {
        return None;
    };
    let found = list_members(Some(&answer.body)).first()?;
    find_identity(found).filter(|_| answer.is_success())
}

/// Returns `true` if all that a stored message tells of its way is that it waits. A record that tells nothing at all is none of a
/// message that can be judged.
fn is_pending(record: &Value) -> bool {
    let updates = list_members(record.get("MessageUpdate"));
    let told = std::iter::once(record)
        .chain(updates)
        .filter_map(|told| get_text(told, "status"));
    let has_list = record.get("MessageUpdate").is_some_and(Value::is_array);
    let mut told = told.peekable();
    (has_list || told.peek().is_some()) && told.all(|status| status == "PENDING")
}

/// Returns the linked identity in an answer about one number. `lid` holds it, or in some versions only the word `lid`: then it may be the
/// `jid`.
fn find_identity(found: &Value) -> Option<ContactAddress> {
    if found["exists"] != true {
        return None;
    }
    let names = [get_text(found, "lid"), get_text(found, "jid")];
    let is_identity = |name: &&str| {
        let user = name.strip_suffix("@lid");
        user.is_some_and(|user| !user.is_empty() && user.bytes().all(|b| b.is_ascii_digit()))
    };
    let name = names.into_iter().flatten().find(is_identity)?;
    ContactAddress::parse(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_judged_only_by_a_record_that_tells_of_its_way() {
        for (record, expected) in [
            (json!({"MessageUpdate": []}), true),
            (json!({"status": "PENDING"}), true),
            (
                json!({"status": "PENDING", "MessageUpdate": [{"status": "PENDING"}]}),
                true,
            ),
            (json!({"MessageUpdate": [{"status": "SERVER_ACK"}]}), false),
            (
                json!({"status": "PENDING", "MessageUpdate": [{"status": "DELIVERY_ACK"}]}),
                false,
            ),
            (json!({"status": "ERROR"}), false),
            (json!({"message": {}}), false),
        ] {
            assert_eq!(is_pending(&record), expected, "{record}");
        }
    }

    #[test]
    fn only_a_whole_identity_of_a_number_that_exists_counts() {
        let number = "5511900000001@s.whatsapp.net";
        for (found, expected) in [
            (
                json!({"exists": true, "jid": number, "lid": "100000000000001@lid"}),
                true,
            ),
            (
                json!({"exists": true, "jid": "100000000000001@lid", "lid": "lid"}),
                true,
            ),
            (
                json!({"exists": false, "jid": number, "lid": "100000000000001@lid"}),
                false,
            ),
            (json!({"exists": true, "jid": number, "lid": "lid"}), false),
            (json!({"exists": true, "jid": number}), false),
            (json!({"exists": true, "jid": number, "lid": "x@lid"}), false),
            (json!("nothing"), false),
        ] {
            let identity = find_identity(&found);
            let expected = expected.then(|| ContactAddress::parse("100000000000001@lid").unwrap());
            assert_eq!(identity, expected, "{found}");
        }
    }
}
