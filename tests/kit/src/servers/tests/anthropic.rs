//! Anthropic's stand-in.

use super::*;

fn good() -> Value {
    json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 300,
        "system": [{"type": "text", "text": "You are Ana.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": [{"type": "text", "text": "good"}, {"type": "text", "text": "morning"}]},
        ],
    })
}

fn ask(server: &StandIn, body: &Value) -> RequestBuilder {
    client()
        .post(format!("{}/v1/messages", server.url()))
        .header("x-api-key", "sk-1")
        .header("anthropic-version", "2023-06-01")
        .json(body)
}

fn cache(body: &Value) -> BTreeMap<&str, u64> {
    let usage = |key: &'static str| (key, body["usage"][key].as_u64().unwrap());
    BTreeMap::from([
        usage("input_tokens"),
        usage("cache_creation_input_tokens"),
        usage("cache_read_input_tokens"),
    ])
}

#[tokio::test]
async fn it_echoes_what_the_user_said_last() {
    let server = StandIn::anthropic();
    let (status, body) = go(ask(&server, &good())).await;
    assert_eq!(
        (status, &body["type"], &body["role"]),
        (200, &json!("message"), &json!("assistant"))
    );
    assert_eq!(
        body["content"],
        json!([{"type": "text", "text": "echo: good\nmorning"}])
    );
    assert_eq!(
        (&body["model"], &body["stop_reason"]),
        (&json!("claude-sonnet-4-5"), &json!("end_turn"))
    );
    assert!(server.phone().is_empty() && server.violations().is_empty());
}

#[tokio::test]
async fn a_marked_prompt_is_written_to_the_cache_once_and_read_from_then_on() {
    let server = StandIn::anthropic();
    let usage = |input, written, read| {
        BTreeMap::from([
            ("input_tokens", input),
            ("cache_creation_input_tokens", written),
            ("cache_read_input_tokens", read),
        ])
    };
    assert_eq!(cache(&go(ask(&server, &good())).await.1), usage(6, 3, 0));
    assert_eq!(cache(&go(ask(&server, &good())).await.1), usage(6, 0, 3));
    let mut plain = good();
    plain["system"] = json!("You are Ana.");
    assert_eq!(cache(&go(ask(&server, &plain)).await.1), usage(9, 0, 0));
}

#[tokio::test]
async fn other_words_and_failures_come_as_told() {
    let server = StandIn::anthropic();
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    server.next_all([
        Behaviour::status(200, anthropic_message("m", "Bom dia!")),
        Behaviour::status(529, overloaded.clone()),
        Behaviour::AcceptThenDrop,
    ]);
    assert_eq!(
        go(ask(&server, &good())).await.1["content"][0]["text"],
        "Bom dia!"
    );
    assert_eq!(go(ask(&server, &good())).await, (529, overloaded));
    assert!(ask(&server, &good()).send().await.is_err());
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn what_is_wrong_is_refused() {
    let server = StandIn::anthropic();
    let user = |text: &str| json!({"role": "user", "content": text});
    let changes = [
        ("/model", json!("")),
        ("/max_tokens", json!(0)),
        ("/max_tokens", json!("300")),
        (
            "/system",
            json!([{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]),
        ),
        ("/system", json!(7)),
        ("/messages", json!([])),
        ("/messages", json!([user("a"), user("b")])),
        ("/messages", json!([{"role": "assistant", "content": "a"}])),
        (
            "/messages",
            json!([user("a"), {"role": "assistant", "content": "b"}]),
        ),
        ("/messages", json!([user(" ")])),
        ("/messages/0/role", json!("system")),
    ];
    for (at, value) in &changes {
        let mut body = good();
        *body.pointer_mut(at).unwrap() = value.clone();
        let (status, answer) = go(ask(&server, &body)).await;
        assert_eq!(
            (status, &answer["error"]["type"]),
            (400, &json!("invalid_request_error")),
            "{at} {value}"
        );
    }
    let url = format!("{}/v1/messages", server.url());
    assert_eq!(
        go(client().post(&url).header("x-api-key", "sk-1").json(&good()))
            .await
            .0,
        400
    );
    assert_eq!(server.violations().len(), changes.len() + 1);
    server.expect_credential("sk-2");
    assert_eq!(
        go(ask(&server, &good())).await.1["error"]["type"],
        "authentication_error"
    );
    assert_eq!(server.violations().len(), changes.len() + 1);
}
