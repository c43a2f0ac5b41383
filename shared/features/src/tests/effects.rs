//! What an agent's tools did is shown, and a person says how an effect ended that nobody could settle.

use super::*;
use recado_domain::effects::{EntryEnd, Journal, JournalChange};
use recado_testkit::stored_effect::{read_journal, replace_journal, store_booking};

/// Has the effect of a journal become unknown.
async fn make_unknown(site: &Site, journal: &mut Journal) {
    let nonce = journal.entries[0].nonce.clone();
    journal.give_up_settling(1, &nonce, true).unwrap();
    journal.rev += 1;
    replace_journal(&site.store, journal, &JournalChange::default()).await;
}

/// Stores an effect in the thread of a conversation of which nobody knows how it ended.
pub(crate) async fn store_unknown_effect(site: &Site, conversation: &str, (calendar, name): (&str, &str)) {
    let id = ConversationId::parse(conversation).unwrap();
    let conversation = succeed(site.store.find_conversation(&id)).await.unwrap();
    let now = conversation.last_message_at;
    let mut journal = store_booking(&site.store, &conversation, (calendar, name), None, now).await;
    make_unknown(site, &mut journal).await;
}

#[tokio::test]
async fn an_effect_that_is_unknown_is_shown_and_ends_as_a_person_says_once() {
    let site = Site::in_memory().configured().await;
    let id = site.conversation("5511900000001").await;
    let conversation = site.store.find_conversation(&id).await.unwrap().unwrap();
    let now = conversation.last_message_at;
    let mut journal = store_booking(&site.store, &conversation, ("desk", "Ana"), None, now).await;
    let path = format!("/v1/conversations/{id}/effects");
    let one = format!("{path}/1");
    let done = json!({"state": "done"});
    let under_way = site.operate("POST", &one, &done).await;
    assert_eq!(under_way.status, 409, "it is under way: {:?}", under_way.body);
    make_unknown(&site, &mut journal).await;
    let shown = site.operate("GET", &path, &Value::Null).await;
    let [item] = &shown.body["items"].as_array().unwrap()[..] else {
        panic!("one effect: {:?}", shown.body)
    };
    assert_eq!(
        (&item["number"], &item["state"], &item["tool"]),
        (&json!(1), &json!("unknown"), &json!("book"))
    );
    assert_eq!(item["arguments"], json!({"name": "Ana"}));
    for (path, body, status) in [
        (format!("{path}/2"), done.clone(), 404),
        (one.clone(), json!({"state": "unknown"}), 400),
        (one.clone(), json!({"state": "done", "why": "x"}), 400),
        (one.clone(), done.clone(), 200),
        (one.clone(), done.clone(), 200),
        (one.clone(), json!({"state": "failed"}), 409),
    ] {
        let answer = site.operate("POST", &path, &body).await;
        assert_eq!(answer.status, status, "{body}: {:?}", answer.body);
    }
    let stored = read_journal(&site.store, &conversation.tenant, id.thread_id()).await;
    let stored = stored.unwrap();
    let kept = stored.find_booking(&stored.entries[0].id).is_some();
    assert!(kept, "what is done is booked");
    let mut other = stored.clone();
    assert!(other.decide_entry(1, EntryEnd::Void, now).is_err());
    let none = site.conversation("5511900000002").await;
    let answer = site
        .operate("GET", &format!("/v1/conversations/{none}/effects"), &Value::Null)
        .await;
    assert_eq!(answer.body, json!({"items": []}));
}
