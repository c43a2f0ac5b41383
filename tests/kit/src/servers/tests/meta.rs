//! Meta's stand-in.

use super::*;

fn good() -> Value {
    json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "+5511944440000",
        "type": "text",
        "text": {"body": "Olá", "preview_url": false},
        "biz_opaque_callback_data": "c_1-1.2",
    })
}

fn send(server: &StandIn, body: &Value) -> RequestBuilder {
    client()
        .post(format!("{}/v24.0/100200300/messages", server.url()))
        .bearer_auth("token-1")
        .json(body)
}

#[tokio::test]
async fn a_text_is_answered_with_the_contact_and_a_wamid() {
    let server = StandIn::meta();
    let (status, body) = go(send(&server, &good())).await;
    assert_eq!((status, &body["messaging_product"]), (200, &json!("whatsapp")));
    assert_eq!(
        body["contacts"],
        json!([{"input": "+5511944440000", "wa_id": "5511944440000"}])
    );
    let phone = server.phone();
    assert_eq!(body["messages"][0]["id"], phone[0].id.as_str());
    assert!(phone[0].id.starts_with("wamid."));
    assert_eq!(
        (phone[0].instance.as_str(), phone[0].callback.as_deref()),
        ("100200300", Some("c_1-1.2"))
    );
    let mut user = good();
    user.as_object_mut().unwrap().remove("to");
    user["recipient"] = json!("BR.1234567890");
    let (_, body) = go(send(&server, &user)).await;
    assert_eq!(
        body["contacts"],
        json!([{"input": "BR.1234567890", "user_id": "BR.1234567890"}])
    );
}

#[tokio::test]
async fn what_is_wrong_is_refused_as_meta_refuses_it() {
    let server = StandIn::meta();
    let changes = [
        ("/to", json!("5511944440000")),
        ("/to", json!(5_511_944_440_000_u64)),
        ("/messaging_product", json!("messenger")),
        ("/type", json!("template")),
        ("/text", json!("Olá")),
        ("/text/body", json!("")),
        ("/text/body", json!("á".repeat(4097))),
        ("/biz_opaque_callback_data", json!(7)),
        ("/biz_opaque_callback_data", json!("x".repeat(513))),
    ];
    for (at, value) in &changes {
        let mut body = good();
        *body.pointer_mut(at).unwrap() = value.clone();
        let (status, answer) = go(send(&server, &body)).await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &json!(100)),
            "{at} {value}"
        );
    }
    let mut both = good();
    both["recipient"] = json!("BR.1");
    assert_eq!(go(send(&server, &both)).await.0, 400);
    let url = format!("{}/24/100200300/messages", server.url());
    assert_eq!(
        go(client().post(&url).bearer_auth("token-1").json(&good()))
            .await
            .0,
        400
    );
    assert_eq!(go(client().post(&url).json(&good())).await.0, 400);
    assert_eq!(server.violations().len(), changes.len() + 3);
    let mut longest = good();
    longest["text"]["body"] = json!("á".repeat(4096));
    assert_eq!(go(send(&server, &longest)).await.0, 200);
    server.expect_credential("other");
    let (status, answer) = go(send(&server, &good())).await;
    assert_eq!((status, &answer["error"]["code"]), (401, &json!(190)));
    assert_eq!(server.violations().len(), changes.len() + 3);
}
