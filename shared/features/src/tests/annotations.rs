//! What people write beside a conversation.

use super::*;

/// Where a contact wrote, and the path of its conversation.
async fn contact_wrote() -> (Site, String) {
    let site = Site::in_memory().configured().await;
    let id = site.conversation("5511900000001").await;
    (site, format!("/v1/conversations/{id}"))
}

#[tokio::test]
async fn labels_are_added_removed_shown_and_found() {
    let (site, path) = contact_wrote().await;
    let labels = format!("{path}/labels");
    let answered = site
        .operate("POST", &labels, &json!({"add": ["VIP", "refund"]}))
        .await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    assert_eq!(answered.body["labels"], json!(["refund", "vip"]));
    let answered = site
        .operate("POST", &labels, &json!({"add": ["vip"], "remove": ["refund"]}))
        .await;
    assert_eq!(answered.body["labels"], json!(["vip"]));
    let shown = site.operate("GET", &path, &Value::Null).await.body;
    assert_eq!(shown["labels"], json!(["vip"]));
    for (label, count) in [("vip", 1), ("refund", 0), ("VIP", 1)] {
        let list = format!("/v1/conversations?label={label}");
        let found = site.operate("GET", &list, &Value::Null).await.body;
        assert_eq!(found["items"].as_array().unwrap().len(), count, "{label}");
    }
    let unread = site
        .operate("GET", "/v1/conversations?label=two%20words", &Value::Null)
        .await;
    assert_eq!(unread.status, StatusCode::BAD_REQUEST, "{}", unread.text);
}

#[tokio::test]
async fn what_is_no_label_and_no_note_is_refused_with_the_reason() {
    let (site, path) = contact_wrote().await;
    let many: Vec<String> = (0..11).map(|number| format!("l{number}")).collect();
    for (route, body, status, why) in [
        ("labels", json!({"add": ["<b>"]}), 422, "one word"),
        ("labels", json!({ "add": many }), 409, "at most 10 labels"),
        ("labels", json!({"set": []}), 400, "set"),
        ("notes", json!({"text": " "}), 422, "1 to 1000"),
        ("notes", json!({"text": "x".repeat(1_001)}), 422, "1 to 1000"),
        ("notes", json!({}), 400, "text"),
    ] {
        let answered = site.operate("POST", &format!("{path}/{route}"), &body).await;
        assert_eq!(answered.status, status, "{}", answered.text);
        assert!(answered.text.contains(why), "{}", answered.text);
    }
    let shown = site.operate("GET", &path, &Value::Null).await.body;
    assert_eq!((&shown["labels"], &shown["note_count"]), (&json!([]), &json!(0)));
}

#[tokio::test]
async fn notes_are_written_listed_and_deleted_and_full_at_twenty() {
    let (site, path) = contact_wrote().await;
    let notes = format!("{path}/notes");
    for number in 1..=20 {
        let text = format!("note {number}");
        let answered = site.operate("POST", &notes, &json!({ "text": text })).await;
        assert_eq!(answered.status, StatusCode::CREATED, "{}", answered.text);
        assert_eq!(
            (&answered.body["number"], &answered.body["text"]),
            (&json!(number), &json!(text))
        );
    }
    let full = site.operate("POST", &notes, &json!({"text": "one more"})).await;
    assert_eq!(full.status, StatusCode::CONFLICT, "{}", full.text);
    assert_eq!(full.body["code"], "notes_full");
    let third = format!("{notes}/3");
    for status in [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND] {
        let answered = site.operate("DELETE", &third, &Value::Null).await;
        assert_eq!(answered.status, status, "{}", answered.text);
    }
    let list = site.operate("GET", &notes, &Value::Null).await.body;
    let list = list["items"].as_array().unwrap();
    assert_eq!((list.len(), &list[0]["by"]), (19, &json!("installation")));
    assert!(list.iter().all(|note| note["number"] != 3), "{list:?}");
    let shown = site.operate("GET", &path, &Value::Null).await.body;
    assert_eq!(shown["note_count"], 19);
}
