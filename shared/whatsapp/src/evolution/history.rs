//! Reads Evolution's history (`chat/findMessages`) as if each message had come as a `messages.upsert` webhook.

use super::parse::parse_history_record;
use super::send::EvolutionEndpoint;
use crate::wire::http_exchange::HttpExchange;
use crate::wire::json::{list_members, parse_timestamp};
use jiff::Timestamp;
use recado_ports::ports::{HistoryError, HistoryPage, HistoryRecord, HistorySpan};
use reqwest::Method;
use serde_json::{Value, json};

/// Page size (Evolution names it `offset`). A page of messages with embedded previews stays below the limit on the size
/// of an answer.
const PAGE_SIZE: u32 = 50;

/// Number of messages that version 1 is asked for, newest first. Version 1 has no pages and compares times only for
/// equality.
const NEWEST_MAX: usize = 1000;

/// Reads a page of the history in `span`; `now` is the time of statuses, which carry none.
pub(crate) async fn read_history_page(
    at: &EvolutionEndpoint<'_>,
    span: HistorySpan,
    page: u32,
    now: Timestamp,
) -> Result<HistoryPage, HistoryError> {
    let query = history_query(at.version, span, page);
    let answer = match at
        .call_api(Method::POST, ["chat", "findMessages"], Some(&query))
        .await
    {
        HttpExchange::Response(answer) => answer,
        HttpExchange::NotSent(why) | HttpExchange::ResponseLost { why, .. } => {
            return Err(history_unavailable(why));
        }
    };
    match answer.status {
        200..=299 => {}
        401 | 403 => return Err(HistoryError::Credentials),
        404 => return Err(history_unavailable("it does not know the instance")),
        _ => return Err(history_unavailable("it answered with an error")),
    }
    let record = |record: &Value| parse_history_record(at.instance, record, now);
    match &answer.body {
        Value::Array(records) => Ok(build_newest_page(records, span, record)),
        body => {
            let messages = body.get("messages").filter(|messages| messages.is_object());
            let messages = messages.ok_or(history_unavailable("its answer holds no messages"))?;
            let number = |name| messages.get(name).and_then(Value::as_u64).unwrap_or(0);
            let records = list_members(messages.get("records"));
            Ok(HistoryPage {
                records: records.iter().rev().map(record).collect(),
                pages: u32::try_from(number("pages")).unwrap_or(u32::MAX),
                total: number("total"),
                cut: false,
            })
        }
    }
}

fn history_unavailable(why: &'static str) -> HistoryError {
    HistoryError::Unavailable { why }
}

/// Builds the query. Version 2 works in whole seconds, and ignores one end of the period without the other.
fn history_query(version: u8, span: HistorySpan, page: u32) -> Value {
    if version == 1 {
        return json!({ "where": {}, "limit": NEWEST_MAX });
    }
    let time = json!({ "gte": span.since.to_string(), "lte": span.until.to_string() });
    json!({ "where": { "messageTimestamp": time }, "page": page, "offset": PAGE_SIZE })
}

/// Builds version 1's only page: the records in the span, oldest first. `cut` is set if older ones in the span may be
/// missing.
fn build_newest_page(
    records: &[Value],
    span: HistorySpan,
    read: impl Fn(&Value) -> HistoryRecord,
) -> HistoryPage {
    let written = |record: &Value| parse_timestamp(record.get("messageTimestamp"));
    let inside = |record: &&Value| written(record).is_none_or(|at| at >= span.since && at <= span.until);
    let oldest = records.iter().filter_map(written).min();
    let mut inside: Vec<&Value> = records.iter().filter(inside).collect();
    inside.sort_by_key(|record| written(record));
    HistoryPage {
        total: u64::try_from(inside.len()).unwrap_or(u64::MAX),
        records: inside.into_iter().map(read).collect(),
        pages: 1,
        cut: records.len() >= NEWEST_MAX && oldest.is_some_and(|oldest| oldest > span.since),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evolution::send::EvolutionEndpoint;
    use crate::split_webhook;
    use crate::stand_in::{Does, StandIn};
    use recado_domain::ids::ExternalId;
    use recado_domain::inbound::WebhookItem;
    use recado_domain::millis::from_unix_millis as at;
    use recado_domain::provider::Provider;
    use recado_domain::secret::Secret;
    use std::time::Duration;

    const SPAN: (i64, i64) = (1_760_000_000_000, 1_760_000_900_000);

    fn span() -> HistorySpan {
        HistorySpan {
            since: at(SPAN.0),
            until: at(SPAN.1),
        }
    }

    async fn ask(does: Does, version: u8) -> (Result<HistoryPage, HistoryError>, StandIn) {
        let server = StandIn::start(vec![does]).await;
        let (http, key) = (
            recado_http_client::build_http_client().unwrap(),
            Secret::new("key").unwrap(),
        );
        let instance = ExternalId::parse("suporte-01").unwrap();
        let endpoint = EvolutionEndpoint {
            http: &http,
            base: &server.url,
            key: &key,
            instance: &instance,
            version,
            native_menus: false,
            timeout: Duration::from_secs(5),
        };
        let page = read_history_page(&endpoint, span(), 3, at(SPAN.1)).await;
        (page, server)
    }

    fn event_ids(page: &HistoryPage) -> Vec<String> {
        let items = page.records.iter().flat_map(|record| &record.items);
        items
            .filter_map(|item| match item {
                WebhookItem::Event(event) => Some(event.id.to_string()),
                _ => None,
            })
            .collect()
    }

    fn webhook_id(id: &str) -> String {
        let body = json!({"event": "messages.upsert", "instance": "suporte-01", "data": {
            "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": id},
            "message": {"conversation": "Oi"}, "messageTimestamp": 1_760_000_100}});
        match &split_webhook(Provider::Evolution, body.to_string().as_bytes(), at(0)).unwrap()[..] {
            [WebhookItem::Event(event)] => event.id.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_page_of_version_two_is_read_oldest_first_under_the_ids_of_the_webhooks() {
        let body = r#"{"messages": {"total": 152, "pages": 4, "currentPage": 3, "records": [
            {"id": "row2", "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "B"},
             "pushName": "Carla", "messageType": "conversation", "message": {"conversation": "Tudo bem?"},
             "messageTimestamp": 1760000200, "instanceId": "x", "source": "android", "contextInfo": null, "MessageUpdate": []},
            {"id": "row1", "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "A"},
             "message": {"conversation": "Oi"}, "messageTimestamp": 1760000100, "MessageUpdate": [{"status": "READ"}]}]}}"#;
        let (page, server) = ask(Does::Answers(200, body), 2).await;
        let page = page.unwrap();
        assert_eq!((page.pages, page.total, page.cut), (4, 152, false));
        assert_eq!(event_ids(&page), [webhook_id("A"), webhook_id("B")]);
        assert_eq!(page.records[0].at, Some(at(1_760_000_100_000)));
        assert!(page.records.iter().all(|record| record.own_delivery.is_none()));
        let asked = &server.requests()[0];
        assert_eq!(asked.line, "POST /chat/findMessages/suporte-01");
        assert_eq!(asked.body["page"], 3);
        assert_eq!(
            asked.body["where"]["messageTimestamp"]["gte"],
            "2025-10-09T08:53:20Z"
        );
    }

    #[tokio::test]
    async fn what_version_one_gives_in_a_bare_list_is_cut_to_the_span() {
        let body = r#"[
            {"_id": "3", "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "B"},
             "message": {"conversation": "Tudo bem?"}, "messageTimestamp": "1760000200", "owner": "suporte-01"},
            {"_id": "2", "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "A"},
             "message": {"conversation": "Oi"}, "messageTimestamp": {"low": 1760000100, "high": 0, "unsigned": true}},
            {"_id": "1", "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "OLD"},
             "message": {"conversation": "Oi"}, "messageTimestamp": 1759990000}]"#;
        let (page, server) = ask(Does::Answers(200, body), 1).await;
        let page = page.unwrap();
        assert_eq!((page.pages, page.total, page.cut), (1, 2, false));
        assert_eq!(event_ids(&page), [webhook_id("A"), webhook_id("B")]);
        assert_eq!(server.requests()[0].body, json!({"where": {}, "limit": 1000}));
    }

    #[tokio::test]
    async fn a_message_of_ours_brings_the_best_of_its_statuses_beside_it() {
        let body = r#"{"messages": {"total": 1, "pages": 1, "currentPage": 1, "records": [
            {"id": "row", "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": true, "id": "OURS"},
             "message": {"conversation": "Olá"}, "messageTimestamp": 1760000200,
             "MessageUpdate": [{"status": "SERVER_ACK"}, {"status": "READ"}, {"status": "DELIVERY_ACK"}]}]}}"#;
        let page = ask(Does::Answers(200, body), 2).await.0.unwrap();
        let record = &page.records[0];
        assert!(record.own_delivery.is_some());
        let statuses: Vec<_> = record
            .items
            .iter()
            .filter_map(|item| match item {
                WebhookItem::Status(update) => Some((update.status, Some(&update.key))),
                _ => None,
            })
            .collect();
        assert_eq!(
            statuses,
            [(
                recado_domain::delivery::DeliveryStatus::Read,
                record.own_delivery.as_ref()
            )]
        );
    }

    #[tokio::test]
    async fn what_was_deleted_for_everyone_is_a_deletion_and_what_was_edited_a_message() {
        let body = r#"{"messages": {"total": 3, "pages": 1, "currentPage": 1, "records": [
            {"id": "row3", "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "C", "deleted": true},
             "message": {"conversation": "Oi"}, "messageTimestamp": 1760000300},
            {"id": "row2", "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "B"},
             "message": {"conversation": "Oi"}, "messageTimestamp": 1760000200, "status": "DELETED"},
            {"id": "row1", "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "A"},
             "message": {"conversation": "Oi"}, "messageTimestamp": 1760000100, "status": "READ",
             "MessageUpdate": [{"status": "DELETED"}]}]}}"#;
        let page = ask(Does::Answers(200, body), 2).await.0.unwrap();
        let deletion = |id: &str| {
            let body = json!({"event": "messages.delete", "instance": "suporte-01",
                "data": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": id}});
            match &split_webhook(Provider::Evolution, body.to_string().as_bytes(), at(0)).unwrap()[..] {
                [WebhookItem::Event(event)] => event.id.to_string(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(event_ids(&page), [webhook_id("A"), deletion("B"), deletion("C")]);
    }

    #[tokio::test]
    async fn no_answer_that_makes_sense_is_no_history() {
        let reasons = [
            (Does::Answers(401, "{}"), HistoryError::Credentials),
            (
                Does::Answers(200, "<html>"),
                history_unavailable("its answer holds no messages"),
            ),
            (
                Does::Answers(500, "{}"),
                history_unavailable("it answered with an error"),
            ),
            (Does::Breaks, history_unavailable("connection broken")),
        ];
        for (does, expected) in reasons {
            assert_eq!(ask(does, 2).await.0.unwrap_err(), expected);
        }
    }
}
