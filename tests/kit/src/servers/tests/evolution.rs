//! Evolution's stand-in.

use super::*;

fn find(server: &StandIn, query: &Value) -> RequestBuilder {
    client()
        .post(format!("{}/chat/findMessages/loja-1", server.url()))
        .header("apikey", "key-1")
        .json(query)
}

fn state(server: &StandIn, instance: &str) -> RequestBuilder {
    client()
        .get(format!("{}/instance/connectionState/{instance}", server.url()))
        .header("apikey", "key-1")
}

#[tokio::test]
async fn a_text_of_version_two_is_answered_as_it_is_stored() {
    let server = StandIn::evolution();
    let (status, body) = go(evolution_send(&server, "Olá")).await;
    assert_eq!(status, 201);
    assert_eq!(body["key"]["remoteJid"], "5511944440000@s.whatsapp.net");
    assert_eq!(
        (&body["key"]["fromMe"], &body["status"]),
        (&json!(true), &json!("PENDING"))
    );
    assert_eq!(
        (&body["message"], &body["messageType"]),
        (&json!({"conversation": "Olá"}), &json!("conversation"))
    );
    assert!(body["messageTimestamp"].is_i64() && body["instanceId"].as_str().unwrap().len() == 36);
    let phone = server.phone();
    assert_eq!(
        (phone[0].instance.as_str(), phone[0].to.as_str()),
        ("loja-1", "5511944440000")
    );
    assert_eq!(body["key"]["id"], phone[0].id.as_str());
    let request = &server.requests()[0];
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/message/sendText/loja-1")
    );
    assert_eq!(
        (request.headers["apikey"].as_str(), &request.body["text"]),
        ("key-1", &json!("Olá"))
    );
}

#[tokio::test]
async fn a_text_of_version_one_is_answered_in_its_own_shape() {
    let server = StandIn::evolution();
    let body = json!({"number": "5511944440000", "options": {}, "textMessage": {"text": "Olá"}});
    let (status, answer) = go(evolution_send(&server, "").json(&body)).await;
    assert_eq!(status, 201);
    assert_eq!(answer["message"], json!({"extendedTextMessage": {"text": "Olá"}}));
    assert!(answer["messageTimestamp"].is_string() && answer.get("messageType").is_none());
    let query = json!({"where": {"key": {"remoteJid": "5511944440000@s.whatsapp.net", "fromMe": true}}});
    let (_, found) = go(find(&server, &query)).await;
    assert_eq!(found[0]["key"], answer["key"], "a bare list, in version 1");
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_kept_as_a_violation() {
    let server = StandIn::evolution();
    let good = json!({"number": "5511944440000", "text": "x"});
    let with = |key: &str, value: Value| {
        let mut body = good.clone();
        body[key] = value;
        body
    };
    let bodies = [
        with("number", json!(5_511_944_440_000_u64)),
        with("number", json!("")),
        with("number", json!("123")),
        with("number", json!("5511944440000-1600000000@g.us")),
        with("number", json!("100000000000000001")),
        with("text", json!("")),
        with("text", json!({"body": "x"})),
        with("textMessage", json!({"text": "x"})),
        json!({"number": "5511944440000"}),
        json!([]),
    ];
    for body in &bodies {
        assert_eq!(go(evolution_send(&server, "").json(body)).await.0, 400, "{body}");
    }
    let url = format!("{}/message/sendText/loja-1", server.url());
    assert_eq!(go(client().post(&url).json(&good)).await.0, 400);
    assert_eq!(
        go(client()
            .post(&url)
            .header("apikey", "key-1")
            .body(good.to_string()))
        .await
        .0,
        400
    );
    assert_eq!(
        go(client().post(format!("{}/message/send", server.url())))
            .await
            .0,
        404
    );
    assert_eq!(server.violations().len(), bodies.len() + 3);
    assert!(server.phone().is_empty());
    assert_eq!(server.requests().len(), bodies.len() + 3);
}

#[tokio::test]
async fn another_key_than_the_expected_one_is_refused_without_a_violation() {
    let server = StandIn::evolution();
    server.expect_credential("other");
    assert_eq!(go(evolution_send(&server, "x")).await.0, 401);
    assert_eq!(go(state(&server, "loja-1")).await.0, 401);
    server.expect_credential("key-1");
    assert_eq!(go(evolution_send(&server, "x")).await.0, 201);
    assert!(server.violations().is_empty());
}

#[tokio::test]
async fn an_instance_that_is_not_open_says_so_and_sends_nothing() {
    let server = StandIn::evolution();
    let connected = |state: &str| {
        (
            200,
            json!({"instance": {"instanceName": "loja-1", "state": state}}),
        )
    };
    assert_eq!(go(state(&server, "loja-1")).await, connected("open"));
    server.set_connection_of("loja-1", ConnectionState::Close);
    assert_eq!(go(state(&server, "loja-1")).await, connected("close"));
    assert_eq!(go(state(&server, "loja-2")).await.1["instance"]["state"], "open");
    let (status, body) = go(evolution_send(&server, "x")).await;
    assert_eq!(
        (status, &body["response"]["message"]),
        (400, &json!(["Error: Connection Closed"]))
    );
    assert!(server.phone().is_empty() && server.violations().is_empty());
    server.set_connection(ConnectionState::Connecting);
    assert_eq!(go(state(&server, "loja-1")).await, connected("connecting"));
    server.set_connection(ConnectionState::Open);
    assert_eq!(go(evolution_send(&server, "x")).await.0, 201);
}

#[tokio::test]
async fn messages_are_found_by_chat_and_time_newest_first_by_pages() {
    let server = StandIn::evolution();
    for text in ["one", "two", "three"] {
        go(evolution_send(&server, text)).await;
    }
    let other = json!({"number": "5511944440001", "text": "other"});
    go(evolution_send(&server, "").json(&other)).await;
    let query = |from: &str, to: &str| {
        json!({
            "where": {
                "key": {"remoteJid": "5511944440000@s.whatsapp.net", "fromMe": true},
                "messageTimestamp": {"gte": from, "lte": to},
            },
            "page": 2,
            "offset": 2,
        })
    };
    let (status, found) = go(find(
        &server,
        &query("2020-01-01T00:00:00Z", "2120-01-01T00:00:00Z"),
    ))
    .await;
    let messages = &found["messages"];
    assert_eq!(
        (status, &messages["total"], &messages["pages"]),
        (200, &json!(3), &json!(2))
    );
    assert_eq!(messages["records"].as_array().unwrap().len(), 1);
    assert_eq!(messages["records"][0]["message"]["conversation"], "one");
    let (_, none) = go(find(
        &server,
        &query("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"),
    ))
    .await;
    assert_eq!(none["messages"]["total"], 0);
}

#[tokio::test]
async fn read_marks_and_typing_are_taken_in_their_own_form_only() {
    let server = StandIn::evolution();
    let ask = async |action: &str, body: Value| {
        let address = format!("{}/chat/{action}/loja-1", server.url());
        go(client().post(address).header("apikey", "key-1").json(&body))
            .await
            .0
    };
    let key = json!({"id": "A1", "fromMe": false, "remoteJid": "5511944440000@s.whatsapp.net"});
    assert_eq!(
        ask("markMessageAsRead", json!({"readMessages": [key]})).await,
        201
    );
    let typing = json!({"number": "5511944440000", "presence": "composing", "delay": 20_000});
    assert_eq!(ask("sendPresence", typing).await, 201);
    assert_eq!(server.violations(), []);
    assert_eq!(ask("markMessageAsRead", json!({"readMessages": []})).await, 400);
    assert_eq!(
        ask(
            "sendPresence",
            json!({"number": "5511944440000", "presence": "composing"})
        )
        .await,
        400
    );
    assert_eq!(server.violations().len(), 2);
    assert_eq!(server.phone(), [], "nothing of it is a message");
}
