//! Events of the WebSocket API, and news for its connections, told to a stand-in of the management API.

use super::*;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_apigatewaymanagement::config::Credentials;
use recado_testkit::servers::scripted::{Does, StandIn};
use serde_json::{Value, json};

fn read(event: &Value) -> Option<SocketEvent> {
    read_socket_event(&lambda_http::request::from_str(&event.to_string()).unwrap())
}

#[test]
fn events_of_the_websocket_api_are_told_from_requests() {
    let context = |kind: &str| {
        json!({"routeKey": format!("${}", kind.to_lowercase()), "eventType": kind, "stage": "live", "connectedAt": 1,
            "requestTimeEpoch": 1, "requestId": "r", "connectionId": "L0SM9cOFvHcCIhw=", "apiId": "a",
            "identity": {"sourceIp": "127.0.0.1"}, "domainName": "a.execute-api.us-east-1.amazonaws.com"})
    };
    let connect = json!({"requestContext": context("CONNECT"), "isBase64Encoded": false, "headers": {"Host": "a.example"},
        "multiValueHeaders": {"Host": ["a.example"]}, "queryStringParameters": {"ticket": "4f"},
        "multiValueQueryStringParameters": {"ticket": ["4f"]}});
    let event = |kind: &str, ticket: &str| SocketEvent {
        kind: kind.to_owned(),
        connection: "L0SM9cOFvHcCIhw=".to_owned(),
        ticket: ticket.to_owned(),
    };
    assert_eq!(read(&connect), Some(event("CONNECT", "4f")));
    let disconnect = json!({"requestContext": context("DISCONNECT"), "isBase64Encoded": false});
    assert_eq!(read(&disconnect), Some(event("DISCONNECT", "")));
    let request = json!({"version": "2.0", "routeKey": "$default", "rawPath": "/live", "rawQueryString": "ticket=4f",
        "headers": {"host": "a.example"}, "isBase64Encoded": false, "requestContext": {"http": {"method": "GET",
            "path": "/live"}, "stage": "$default", "timeEpoch": 1, "connectionId": "x", "eventType": "CONNECT"}});
    assert_eq!(read(&request), None);
}

async fn push_to(stand_in: &StandIn) -> PushNotifier {
    let shared = aws_config::defaults(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "tests"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .load()
        .await;
    let url = stand_in.url.replace("http://", "ws://");
    PushNotifier::new(PushSender::new(&shared, &format!("{url}/live"), false))
}

fn connections(ids: &[&str]) -> Vec<PushConnection> {
    let connection = |id: &&str| PushConnection {
        tenant: None,
        id: (*id).to_owned(),
        opened_at: Timestamp::UNIX_EPOCH,
    };
    ids.iter().map(connection).collect()
}

#[tokio::test]
async fn a_connection_is_told_that_there_is_more_and_one_that_is_gone_is_named() {
    let stand_in = StandIn::start(vec![Does::Answers(200, ""), Does::Answers(410, "{}")]).await;
    let push = push_to(&stand_in).await;
    assert_eq!(push.notify_connections(connections(&["here="])).await, []);
    let gone = push.notify_connections(connections(&["left"])).await;
    assert_eq!(gone, connections(&["left"]));
    let lines: Vec<_> = stand_in
        .requests()
        .into_iter()
        .map(|request| (request.line, request.text))
        .collect();
    let told = |id: &str| {
        (
            format!("POST /live/@connections/{id}"),
            r#"{"more":true}"#.to_owned(),
        )
    };
    assert_eq!(lines, [told("here%3D"), told("left")]);
}

#[tokio::test]
async fn one_failure_among_others_stops_nobody_and_a_service_that_fails_is_left_alone_for_a_while() {
    let stand_in = StandIn::start(vec![Does::Answers(200, ""), Does::Answers(500, "{}")]).await;
    let push = push_to(&stand_in).await;
    assert_eq!(push.notify_connections(connections(&["a", "b"])).await, []);
    let some = stand_in.requests().len();
    assert_eq!(push.notify_connections(connections(&["a"])).await, []);
    let all = stand_in.requests().len();
    assert!(all > some, "one of two was told, so the next news were told, too");
    assert_eq!(push.notify_connections(connections(&["a"])).await, []);
    assert_eq!(stand_in.requests().len(), all, "nobody was told: it rests");
}

#[tokio::test]
async fn a_service_that_never_answers_costs_a_second_once() {
    let stand_in = StandIn::start(vec![Does::Hangs]).await;
    let push = push_to(&stand_in).await;
    let ids: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let told = push.notify_connections(connections(&ids));
    let told = tokio::time::timeout(Duration::from_secs(10), told).await;
    assert_eq!(told.unwrap(), []);
    let asked = stand_in.requests().len();
    assert!(asked < ids.len(), "{asked} were asked before the time was over");
    push.notify_connections(connections(&ids)).await;
    assert_eq!(stand_in.requests().len(), asked);
}
