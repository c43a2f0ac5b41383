//! Push: a page connects to the WebSocket API with a ticket, and is told that there is more to read.

use crate::bench::{Bench, PATIENCE, eventually};
use crate::contact::Contact;
use crate::stack::INSTANCE;
use aws_sdk_dynamodb::types::AttributeValue;
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Opens a WebSocket, as a browser does. `None`: it is refused.
async fn open(url: &str) -> Option<TcpStream> {
    let (host, path) = url.strip_prefix("ws://").unwrap().split_once('/').unwrap();
    let port = host.rsplit_once(':').unwrap().1;
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
    let request = format!(
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    head.starts_with(b"HTTP/1.1 101").then_some(stream)
}

/// Reads the next message of a WebSocket: a short text.
async fn read_message(stream: &mut TcpStream) -> String {
    let (kind, length) = (stream.read_u8().await.unwrap(), stream.read_u8().await.unwrap());
    assert_eq!((kind, length < 126), (0x81, true), "a whole text, unmasked");
    let mut text = vec![0; usize::from(length)];
    stream.read_exact(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

impl Bench {
    /// The URL of a new push connection.
    async fn push_url(&self) -> String {
        let (status, ticket) = self.api(Method::POST, "/v1/events/tickets", None).await;
        assert_eq!(status.as_u16(), 201, "{ticket}");
        ticket["url"].as_str().unwrap().to_owned()
    }

    /// The number of push connections of the installation that are known.
    async fn known_connections(&self) -> usize {
        let found = self
            .aws
            .dynamodb
            .query()
            .table_name(self.stack.output("TableName"))
            .key_condition_expression("pk = :pk AND begins_with(sk, :kind)")
            .expression_attribute_values(":pk", AttributeValue::S("ZL#".to_owned()))
            .expression_attribute_values(":kind", AttributeValue::S("C#".to_owned()));
        found.send().await.unwrap().items().len()
    }
}

#[tokio::test]
async fn a_page_is_told_that_there_is_more_and_its_ticket_opens_nothing_else() {
    let bench = Bench::new().await;
    let url = bench.push_url().await;
    assert!(open(&url.replace("ticket=", "ticket=0")).await.is_none());
    let mut page = open(&url).await.expect("a ticket opens a connection");
    assert!(open(&url).await.is_none(), "and only one");
    assert_eq!(bench.known_connections().await, 1);
    bench.says(INSTANCE, &Contact::new(), "Oi").await;
    let told = tokio::time::timeout(PATIENCE, read_message(&mut page)).await;
    assert_eq!(told.expect("the page is told"), r#"{"more":true}"#);
    drop(page);
    eventually("the connection is forgotten", || async {
        (bench.known_connections().await == 0).then_some(())
    })
    .await;
}
