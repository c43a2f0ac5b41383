//! Against a stand-in server that answers what each test wants.

use super::*;
use recado_http_client::{GuardedClients, HostReach};
use recado_testkit::servers::scripted::{Does, StandIn};

/// Answers with a body of this type.
pub(in crate::mcp) fn says(status: u16, kind: &'static str, body: &str) -> Does {
    Does::AnswersWith(status, vec![("content-type", kind)], body.to_owned())
}

/// Opens a session with a server that does so after the handshake.
pub(in crate::mcp) async fn open_with(does: Vec<Does>) -> (McpConnection, StandIn) {
    let welcome = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
    let headers = vec![("content-type", JSON), ("mcp-session-id", "s1")];
    let begin = vec![
        Does::AnswersWith(200, headers, welcome.to_owned()),
        Does::Answers(202, ""),
    ];
    let stand_in = StandIn::start([begin, does].concat()).await;
    let clients = GuardedClients::default();
    let client = clients.client_for(HostReach::Private).unwrap();
    let (client, url) = client.client_for_url(&stand_in.url).unwrap();
    let connection = McpConnection::open(client, url, Secret::new("key")).await;
    (connection.unwrap(), stand_in)
}

#[tokio::test]
async fn requests_name_session_and_version_and_a_ping_before_the_result_is_answered() {
    let events = "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n\
        data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n\
        data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"found\":7}}\n\n";
    let does = vec![says(200, EVENTS, events), Does::Answers(202, "")];
    let (connection, stand_in) = open_with(does).await;
    let result = connection.send_request("tools/list", &json!({})).await;
    assert_eq!(result, Ok(json!({"found": 7})));
    assert!(connection.has_changed());
    let sent = stand_in.requests();
    let named = ["mcp-session-id: s1", "mcp-protocol-version: 2025-06-18"];
    let has_all = |headers: &[String]| named.iter().all(|name| headers.iter().any(|one| one == name));
    let told: Vec<bool> = sent.iter().map(|request| has_all(&request.headers)).collect();
    assert_eq!(told, [false, true, true, true]);
    assert_eq!(sent[3].body, json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    assert!(sent[0].headers.contains(&"authorization: bearer key".to_owned()));
}

#[tokio::test]
async fn each_refusal_is_judged_by_its_status_and_by_the_error_that_it_carries() {
    let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}"#;
    let other = r#"{"jsonrpc":"2.0","id":9,"result":{}}"#;
    let rejected = |why: &str| McpFailure::Rejected(why.to_owned());
    let failed = |why: &str| McpFailure::Failed(why.to_owned());
    for (does, wanted) in [
        (says(404, "text/plain", ""), McpFailure::SessionEnded),
        (says(401, JSON, error), McpFailure::Credentials),
        (says(400, JSON, error), rejected("it says: no")),
        (says(200, JSON, error), rejected("it says: no")),
        (
            says(400, "text/plain", error),
            rejected("its server answers with the status 400"),
        ),
        (
            says(500, JSON, "{}"),
            failed("its server answers with the status 500"),
        ),
        (says(200, JSON, other), McpFailure::other_protocol()),
        (says(200, "text/html", "<p>"), McpFailure::other_protocol()),
        (says(200, EVENTS, ": hi\n\n"), failed("the connection was closed")),
    ] {
        let (connection, _stand_in) = open_with(vec![does.clone()]).await;
        let refused = connection.send_request("tools/call", &json!({})).await;
        assert_eq!(refused, Err(wanted), "{does:?}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_before_its_answer_is_read_on_by_the_id_of_its_last_event() {
    let answer = "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"found\":7}}\n\n";
    let does = vec![
        says(200, EVENTS, "id: e7\nretry: 1\ndata:\n\n"),
        says(200, EVENTS, answer),
    ];
    let (connection, stand_in) = open_with(does).await;
    let result = connection.send_request("tools/call", &json!({})).await;
    assert_eq!(result, Ok(json!({"found": 7})));
    let rest = &stand_in.requests()[3];
    assert!(rest.line.starts_with("GET "), "{}", rest.line);
    assert!(rest.headers.contains(&"last-event-id: e7".to_owned()));
}

#[tokio::test]
async fn a_server_is_told_that_nobody_waits_for_an_answer_any_more() {
    let asked = Arc::new(tokio::sync::Notify::new());
    let (connection, stand_in) =
        open_with(vec![Does::HangsAndTells(asked.clone()), Does::Answers(202, "")]).await;
    let params = json!({});
    tokio::select! {
        answer = connection.send_request("tools/call", &params) => panic!("{answer:?}"),
        () = asked.notified() => {}
    }
    while stand_in.requests().len() < 4 {
        tokio::task::yield_now().await;
    }
    let told = &stand_in.requests()[3].body;
    assert_eq!(told["method"], "notifications/cancelled");
    assert_eq!(told["params"]["requestId"], 2);
}

#[test]
fn a_name_that_no_header_may_have_is_written_in_base64() {
    for (name, written) in [
        ("find_slots", "find_slots"),
        ("ação", "=?base64?YcOnw6Nv?="),
        (" spaced", "=?base64?IHNwYWNlZA==?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
    ] {
        assert_eq!(write_header_value(name), written);
    }
}
