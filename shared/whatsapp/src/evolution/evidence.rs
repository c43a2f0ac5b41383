//! Looks for evidence that a send without an answer arrived, with Evolution's `chat/findMessages`.

use super::parse::{parse_readable_content, parse_stored_content};
use super::send::EvolutionEndpoint;
use crate::wire::http_exchange::HttpExchange;
use crate::wire::json::{get_text, list_members, parse_timestamp};
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::millis::add_millis;
use recado_ports::ports::{OutgoingMessage, SendEvidence};
use reqwest::Method;
use serde_json::{Value, json};

/// Largest assumed delay of Evolution's clock behind Recado's, in milliseconds.
const SKEW_MS: i64 = 5_000;

/// Page size (Evolution names it `offset`). It is more than an instance can send to one chat between the send and the
/// question.
const PAGE_SIZE: u32 = 100;

/// Looks for a message of the instance with the same text, sent to this contact since `claimed_at`. All chats are
/// searched in which the contact's addresses may be stored. The newest match of a chat counts: an equal message that was
/// sent just before must not be taken for this one.
pub(crate) async fn find_send_evidence(
    mut at: EvolutionEndpoint<'_>,
    message: &OutgoingMessage,
    also: &[ContactAddress],
    claimed_at: Timestamp,
) -> SendEvidence {
    let since = add_millis(claimed_at, -SKEW_MS);
    let wanted = message.content.render_echo_text();
    let chats = chats(&message.to, also);
    // All requests together may take no longer than one request.
    at.timeout /= u32::try_from(chats.len()).unwrap_or(1).max(2);
    for jid in chats {
        let query = sent_messages_query(at.version, &jid, since);
        let HttpExchange::Response(answer) = at
            .call_api(Method::POST, ["chat", "findMessages"], Some(&query))
            .await
        else {
            return SendEvidence::Unclear;
        };
        if !answer.is_success() {
            return SendEvidence::Unclear;
        }
        let Some(records) = extract_records(&answer.body) else {
            return SendEvidence::Unclear;
        };
        if let Some(found) = find_newest_match(records, &wanted, since) {
            return SendEvidence::Sent {
                provider_message_id: get_text(&found["key"], "id").map(str::to_owned),
            };
        }
    }
    SendEvidence::None
}

/// Returns the content of the stored message with this id; `None` if Evolution has none, or tells none. For an edited message it is
/// the new one if Evolution could read the edit.
pub(crate) async fn fetch_stored_content(at: &EvolutionEndpoint<'_>, id: &str) -> Option<Content> {
    let record = fetch_stored_record(at, id).await?;
    match parse_readable_content(record.get("message")?, id)? {
        Content::Edit { content, .. } => Some(*content),
        content => Some(content),
    }
}

/// Returns the record that Evolution has stored of the message with this id. `None`: it has none, or cannot be asked.
pub(super) async fn fetch_stored_record(at: &EvolutionEndpoint<'_>, id: &str) -> Option<Value> {
    let key = json!({ "id": id });
    let query = if at.version == 1 {
        json!({ "where": { "key": key } })
    } else {
        json!({ "where": { "key": key }, "page": 1, "offset": PAGE_SIZE })
    };
    let path = ["chat", "findMessages"];
    let HttpExchange::Response(answer) = at.call_api(Method::POST, path, Some(&query)).await else {
        return None;
    };
    let records = extract_records(&answer.body).filter(|_| answer.is_success())?;
    let is_wanted = |record: &&Value| get_text(&record["key"], "id") == Some(id);
    records.iter().find(is_wanted).cloned()
}

/// Builds the query for the sent messages of a chat. Version 2 reads both ends of the period as dates and ignores one
/// without the other (channel.service.ts, `fetchMessages`). Version 1 would compare the field with them and find
/// nothing, so for version 1 the caller filters by time.
fn sent_messages_query(version: u8, jid: &str, since: Timestamp) -> Value {
    let key = json!({ "remoteJid": jid, "fromMe": true });
    if version == 1 {
        return json!({ "where": { "key": key } });
    }
    let until = add_millis(since, 7 * 86_400_000);
    let time = json!({ "gte": since.to_string(), "lte": until.to_string() });
    json!({ "where": { "key": key, "messageTimestamp": time }, "page": 1, "offset": PAGE_SIZE })
}

/// Returns the records of an answer: a bare list in version 1, `{messages: {records}}` in version 2.
fn extract_records(body: &Value) -> Option<&[Value]> {
    match body {
        Value::Array(records) => Some(records),
        _ => body
            .get("messages")?
            .get("records")
            .filter(|records| records.is_array())
            .map(|records| list_members(Some(records))),
    }
}

fn find_newest_match<'a>(records: &'a [Value], wanted: &str, since: Timestamp) -> Option<&'a Value> {
    let fits = |record: &&Value| {
        let message = record.get("message").unwrap_or(&Value::Null);
        let said = parse_stored_content(message).render_echo_text();
        // Evolution stores whole seconds.
        let second = |at: Timestamp| at.as_second();
        let from_me = record["key"]["fromMe"].as_bool() != Some(false);
        from_me
            && said.trim() == wanted.trim()
            && parse_timestamp(record.get("messageTimestamp")).is_some_and(|at| second(at) >= second(since))
    };
    records
        .iter()
        .filter(fits)
        .max_by_key(|record| parse_timestamp(record.get("messageTimestamp")))
}

/// Limit on the number of chats that are searched; each one costs a request.
const CHATS_MAX: usize = 4;

/// Lists the chats in which the message may be stored, without duplicates.
fn chats(to: &ContactAddress, also: &[ContactAddress]) -> Vec<String> {
    let mut chats = Vec::new();
    for jid in std::iter::once(to).chain(also).flat_map(possible_jids) {
        if !chats.contains(&jid) {
            chats.push(jid);
        }
    }
    chats.truncate(CHATS_MAX);
    chats
}

/// Returns the JIDs under which the message may be stored. Evolution adds or removes the ninth digit of Brazilian mobile
/// numbers, and a digit after the country codes 52 and 54 (createJid.ts).
fn possible_jids(to: &ContactAddress) -> Vec<String> {
    let Some(phone) = to.phone_number() else {
        return vec![to.as_str().to_owned()];
    };
    let digits = phone.trim_start_matches('+');
    let other = match (digits.get(..2), digits.len()) {
        (Some("55"), 13) if digits.as_bytes()[4] == b'9' => Some(format!("{}{}", &digits[..4], &digits[5..])),
        (Some("55"), 12) => Some(format!("{}9{}", &digits[..4], &digits[4..])),
        (Some("52" | "54"), 13) => Some(format!("{}{}", &digits[..2], &digits[3..])),
        (Some("52"), 12) => Some(format!("521{}", &digits[2..])),
        (Some("54"), 12) => Some(format!("549{}", &digits[2..])),
        _ => None,
    };
    std::iter::once(digits.to_owned())
        .chain(other)
        .map(|digits| format!("{digits}@s.whatsapp.net"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis as at;

    #[test]
    fn numbers_that_evolution_rewrites_are_looked_for_in_both_forms() {
        let jids = |raw| {
            possible_jids(&ContactAddress::parse(raw).unwrap())
                .join(" ")
                .replace("@s.whatsapp.net", "")
        };
        assert_eq!(jids("5511900000001@s.whatsapp.net"), "5511900000001 551100000001");
        assert_eq!(jids("551100000001"), "551100000001 5511900000001");
        assert_eq!(jids("5215500000001"), "5215500000001 525500000001");
        assert_eq!(jids("541100000001"), "541100000001 5491100000001");
        assert_eq!(jids("351900000001"), "351900000001");
        assert_eq!(jids("100000000000001@lid"), "100000000000001@lid");
    }

    #[test]
    fn every_chat_of_a_contact_is_asked_for_once() {
        let known = |raw: &&str| ContactAddress::parse(raw).unwrap();
        let asked = |to: &str, also: &[&str]| {
            let also: Vec<ContactAddress> = also.iter().map(known).collect();
            chats(&known(&to), &also).join(" ").replace("@s.whatsapp.net", "")
        };
        let numbers = "351900000001";
        assert_eq!(asked(numbers, &["1@lid"]), "351900000001 1@lid");
        assert_eq!(asked("1@lid", &[numbers, numbers]), "1@lid 351900000001");
        assert_eq!(
            asked("1@lid", &["5511900000001", "551100000001", "2@lid", "3@lid"]),
            "1@lid 5511900000001 551100000001 2@lid"
        );
    }

    #[test]
    fn the_newest_equal_text_since_the_claim_counts() {
        let record = |id: &str, text: &str, at: Value| json!({"key": {"id": id, "fromMe": true}, "message": {"conversation": text}, "messageTimestamp": at});
        let records = [
            record("OLD", "Olá", json!(1_760_000_000)),
            record("A", "Olá", json!("1760000100")),
            record(
                "B",
                " Olá",
                json!({"low": 1_760_000_101, "high": 0, "unsigned": true}),
            ),
            record("C", "Tchau", json!(1_760_000_102)),
            json!({"key": {"id": "D", "fromMe": false}, "message": {"conversation": "Olá"}, "messageTimestamp": 1_760_000_103}),
            json!({"nonsense": true}),
        ];
        let found = find_newest_match(&records, "Olá", at(1_760_000_100_900)).unwrap();
        assert_eq!(found["key"]["id"], "B");
        assert!(find_newest_match(&records, "Oi", at(0)).is_none());
    }

    #[test]
    fn files_are_known_by_kind_and_caption_and_places_by_their_degrees() {
        let at = json!(1_760_000_100);
        let record = |id: &str, message: Value| json!({"key": {"id": id, "fromMe": true}, "message": message, "messageTimestamp": at});
        let records = [
            record(
                "A",
                json!({"imageMessage": {"caption": "gato", "mimetype": "image/jpeg"}}),
            ),
            record("B", json!({"imageMessage": {"caption": "cão"}})),
            record(
                "C",
                json!({"documentWithCaptionMessage": {"message": {"documentMessage": {"caption": "cão", "fileName": "x.pdf"}}}}),
            ),
            record("D", json!({"audioMessage": {"ptt": true, "seconds": 3}})),
            record(
                "E",
                json!({"locationMessage": {"degreesLatitude": -23.55, "degreesLongitude": -46.6, "name": "-23.55, -46.6"}}),
            ),
        ];
        let found = |content: Value| {
            let wanted = serde_json::from_value::<recado_domain::content::Content>(content).unwrap();
            find_newest_match(&records, &wanted.render_echo_text(), instant_zero())
                .map(|found| found["key"]["id"].clone())
        };
        let file = |media: &str, caption: Option<&str>| json!({"type": "media", "media": media, "caption": caption, "file_name": "n"});
        assert_eq!(found(file("image", Some("cão"))), Some(json!("B")));
        assert_eq!(found(file("document", Some("cão"))), Some(json!("C")));
        assert_eq!(found(file("voice", None)), Some(json!("D")));
        assert_eq!(found(file("video", Some("cão"))), None);
        let place = json!({"type": "location", "latitude": "-23.550", "longitude": "-46.60"});
        assert_eq!(found(place), Some(json!("E")));
    }

    fn instant_zero() -> Timestamp {
        at(0)
    }

    #[test]
    fn version_two_is_asked_with_both_ends_of_the_time() {
        let query = sent_messages_query(2, "x@s.whatsapp.net", at(1_760_000_000_000));
        assert_eq!(query["where"]["messageTimestamp"]["gte"], "2025-10-09T08:53:20Z");
        assert_eq!(query["where"]["messageTimestamp"]["lte"], "2025-10-16T08:53:20Z");
    }
}
