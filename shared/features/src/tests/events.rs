//! `/v1/events` and its stream.

use crate::tests::description::{description, operations};
use crate::tests::{Site, TOKEN};
use async_trait::async_trait;
use axum::body::{Body, BodyDataStream};
use axum::http::{Request, StatusCode};
use futures::StreamExt;
use recado_domain::ids::TenantId;
use recado_http::EventFeed;
use recado_pipeline::ports::{LogPlace, PortResult, PublishedEvents, PublishedPage};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;
use tower::ServiceExt;

const CONTACT: &str = "5511999998888@s.whatsapp.net";

async fn list(site: &Site, query: &str) -> Value {
    let answered = site
        .operate("GET", &format!("/v1/events{query}"), &Value::Null)
        .await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    answered.body
}

fn kinds(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["kind"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn what_happened_is_listed_from_the_oldest_and_next_leads_on_from_an_empty_page_too() {
    let site = Site::in_memory().configured().await;
    let begin = list(&site, "?after=now").await;
    assert_eq!(begin, json!({"items": [], "next": "0"}));
    site.conversation(CONTACT).await;
    let all = list(&site, "").await;
    assert_eq!(kinds(&all), ["conversation.updated", "message.created"]);
    let message = &all["items"][1];
    assert_eq!(message["data"], json!({"role": "user", "content": "text"}));
    assert_eq!(message["instance_id"], "suporte-01");
    let first = list(&site, "?limit=1").await;
    let next = first["next"].as_str().unwrap();
    assert_eq!(first["items"][0]["cursor"], next);
    let second = list(&site, &format!("?after={next}")).await;
    assert_eq!(kinds(&second), ["message.created"]);
    let end = second["next"].as_str().unwrap();
    assert_eq!(
        list(&site, &format!("?after={end}")).await,
        json!({"items": [], "next": end})
    );
    assert_eq!(list(&site, "?after=now").await["next"], end);
    for secret in ["Bia", "bom dia", "5511999998888"] {
        assert!(!all.to_string().contains(secret), "{all}");
    }
}

#[tokio::test]
async fn only_the_wanted_kinds_are_listed_and_the_place_goes_on_over_the_others() {
    let site = Site::in_memory().configured().await;
    site.conversation(CONTACT).await;
    let end = list(&site, "?after=now").await["next"].clone();
    let messages = list(&site, "?kind=message.*,turn.finished").await;
    assert_eq!(kinds(&messages), ["message.created"]);
    assert_eq!(messages["next"], end);
    let none = list(&site, "?kind=alert.fired").await;
    assert_eq!((kinds(&none).len(), &none["next"]), (0, &end));
}

#[tokio::test]
async fn a_place_or_a_kind_that_does_not_exist_is_refused() {
    let site = Site::in_memory().configured().await;
    for query in [
        "after=x",
        "after=-1",
        "after=999",
        "kind=nothing",
        "kind=message",
        "limit=0",
        "other=1",
    ] {
        let answered = site
            .operate("GET", &format!("/v1/events?{query}"), &Value::Null)
            .await;
        assert_eq!(
            answered.status,
            StatusCode::BAD_REQUEST,
            "{query}: {}",
            answered.text
        );
    }
}

#[tokio::test]
async fn there_is_no_stream_where_there_is_no_feed() {
    let site = Site::in_memory().configured().await;
    let answered = site.operate("GET", "/v1/events/stream", &Value::Null).await;
    assert_eq!(answered.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn each_route_of_events_and_endpoints_says_that_none_are_published() {
    let site = Site::in_memory().publishing_no_events().configured().await;
    let mut asked = 0;
    for (method, path, _) in
        operations(description()).filter(|(_, _, told)| told["tags"] == json!(["Events"]))
    {
        let path = path.replace("{id}", "crm");
        let answered = site.operate(&method, &path, &Value::Null).await;
        assert_eq!(answered.status, StatusCode::NOT_IMPLEMENTED, "{method} {path}");
        let why = answered.body["detail"].as_str().unwrap();
        assert!(why.contains("`PublishEvents`"), "{method} {path}: {why}");
        let stranger = site.ask(&method, &path, &[], "").await;
        assert_eq!(stranger.status, StatusCode::UNAUTHORIZED, "{method} {path}");
        asked += 1;
    }
    assert_eq!(asked, 13);
    let others = site.operate("GET", "/v1/conversations", &Value::Null).await;
    assert_eq!(others.status, StatusCode::OK, "all else is as ever");
}

#[tokio::test]
async fn a_ticket_opens_a_websocket_for_what_its_token_sees() {
    let site = Site::in_memory().configured().await;
    let tenants = site.operate("GET", "/v1/tenants", &Value::Null).await;
    let tenant = tenants.body["items"][0]["id"].as_str().unwrap();
    let new = json!({"name": "front desk", "role": "viewer", "tenant": tenant});
    let made = site.operate("POST", "/v1/tokens", &new).await;
    for (token, of) in [(TOKEN, "all"), (made.body["secret"].as_str().unwrap(), tenant)] {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let answered = site.ask("POST", "/v1/events/tickets", &headers, "").await;
        assert_eq!(answered.status, StatusCode::CREATED, "{}", answered.text);
        assert_eq!(
            answered.body["url"],
            format!("wss://push.example/live?ticket=of-{of}")
        );
        assert_eq!(answered.body["connection_seconds"], 900);
    }
}

/// A log that counts how often it is read.
#[derive(Clone)]
struct CountedLog(recado_embedded::Embedded, Arc<AtomicUsize>);

#[async_trait]
impl PublishedEvents for CountedLog {
    async fn list_published_events(
        &self,
        tenant: Option<&TenantId>,
        from: LogPlace,
        limit: usize,
    ) -> PortResult<PublishedPage> {
        if limit > 0 {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
        self.0.list_published_events(tenant, from, limit).await
    }
}

/// An installation whose feed runs until it is dropped.
struct Streaming {
    site: Site,
    reads: Arc<AtomicUsize>,
    closing: watch::Sender<bool>,
}

impl Streaming {
    async fn new() -> Self {
        let (closing, stopped) = watch::channel(false);
        let feed = EventFeed::new(stopped);
        let site = Site::in_memory().configured().await.with_event_feed(feed.clone());
        let (store, reads) = (site.store.clone(), Arc::new(AtomicUsize::new(0)));
        let log = CountedLog(store.clone(), Arc::clone(&reads));
        tokio::spawn(async move {
            let wait = || {
                let waker = Arc::clone(store.event_waker(recado_embedded::EventReader::Streams));
                async move { waker.notified().await }
            };
            feed.run_feed(&log, wait).await;
        });
        Self { site, reads, closing }
    }

    async fn open(&self, query: &str, last: Option<&str>, token: &str) -> Events {
        let mut request = Request::get(format!("/v1/events/stream{query}"))
            .header("authorization", format!("Bearer {token}"));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let router = self.site.router_with(crate::tests::LIMITS);
        let answer = router
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Events {
            body: answer.into_body().into_data_stream(),
            text: String::new(),
        }
    }
}

/// The events of a stream.
struct Events {
    body: BodyDataStream,
    text: String,
}

impl Events {
    /// The next event: its `id` and its data. `None`: the stream ended.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|value| value.trim().to_owned())
                };
                let found = field("id:").map(|id| {
                    assert_eq!(field("event:").as_deref(), Some("change"));
                    (id, serde_json::from_str(&field("data:").unwrap()).unwrap())
                });
                self.text = rest.to_owned();
                if found.is_some() {
                    return found;
                }
                continue;
            }
            let chunk = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn next_kind(&mut self) -> String {
        let (_, data) = self.next().await.unwrap();
        data["kind"].as_str().unwrap().to_owned()
    }
}

fn contact(number: usize) -> String {
    format!("55119{number:08}@s.whatsapp.net")
}

#[tokio::test]
async fn a_stream_tells_what_happens_from_now_on_and_goes_on_where_it_stopped() {
    let world = Streaming::new().await;
    world.site.conversation(&contact(1)).await;
    let mut stream = world.open("", None, TOKEN).await;
    world.site.conversation(&contact(2)).await;
    assert_eq!(stream.next_kind().await, "conversation.updated");
    let (id, data) = stream.next().await.unwrap();
    assert_eq!(
        (data["kind"].as_str(), data["cursor"].as_str()),
        (Some("message.created"), Some(id.as_str()))
    );
    drop(stream);
    world.site.conversation(&contact(3)).await;
    let mut again = world.open("", Some(&id), TOKEN).await;
    let (next, data) = again.next().await.unwrap();
    assert_eq!(data["kind"], "conversation.updated");
    assert_eq!(
        next.parse::<u64>().unwrap(),
        id.parse::<u64>().unwrap() + 1,
        "nothing is missing"
    );
    assert_eq!(again.next_kind().await, "message.created");
    world.closing.send_replace(true);
    assert_eq!(again.next().await, None, "a process that stops ends its streams");
}

#[tokio::test]
async fn a_stream_tells_only_the_wanted_kinds() {
    let world = Streaming::new().await;
    let mut stream = world.open("?kind=message.created", None, TOKEN).await;
    world.site.conversation(&contact(1)).await;
    world.site.conversation(&contact(2)).await;
    assert_eq!(stream.next_kind().await, "message.created");
    assert_eq!(stream.next_kind().await, "message.created");
}

#[tokio::test]
async fn a_stream_tells_a_tenant_only_its_own_events() {
    let world = Streaming::new().await;
    let own = world.site.operate("GET", "/v1/tenants", &Value::Null).await;
    let own = own.body["items"][0]["id"].as_str().unwrap().to_owned();
    let post = json!({"id": "strangers"});
    let made = world.site.operate("POST", "/v1/tenants", &post).await;
    assert!(made.status.is_success(), "{}", made.text);
    let token = async |tenant: &str| {
        let body = json!({"name": format!("viewer-{tenant}"), "role": "viewer", "tenant": tenant});
        let made = world.site.operate("POST", "/v1/tokens", &body).await;
        made.body["secret"]
            .as_str()
            .unwrap_or_else(|| panic!("{}", made.text))
            .to_owned()
    };
    let (ours, theirs) = (token(&own).await, token("strangers").await);
    let mut stream = world.open("", None, &ours).await;
    let mut nothing = world.open("?after=0", None, &theirs).await;
    let mut outside = world.open(&format!("?after=0&tenant={own}"), None, &theirs).await;
    world.site.conversation(&contact(1)).await;
    assert_eq!(stream.next_kind().await, "conversation.updated");
    assert_eq!(stream.next_kind().await, "message.created");
    world.closing.send_replace(true);
    assert_eq!(nothing.next().await, None);
    assert_eq!(outside.next().await, None);
}

#[tokio::test]
async fn a_hundred_streams_cost_no_more_reads_than_one() {
    let world = Streaming::new().await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        streams.push(world.open("", None, TOKEN).await);
    }
    world.site.conversation(&contact(1)).await;
    for stream in &mut streams {
        assert_eq!(stream.next_kind().await, "conversation.updated");
        assert_eq!(stream.next_kind().await, "message.created");
    }
    let reads = world.reads.load(Ordering::Relaxed);
    assert!(reads <= 4, "{reads} reads");
}

#[tokio::test]
async fn a_stream_that_is_not_read_for_long_misses_nothing_and_holds_nothing_up() {
    let world = Streaming::new().await;
    let mut stalled = world.open("?kind=message.created", None, TOKEN).await;
    let mut quick = world.open("?kind=message.created", None, TOKEN).await;
    for number in 0..400 {
        world.site.conversation(&contact(number)).await;
        quick.next().await.unwrap();
    }
    let mut told = std::collections::BTreeSet::new();
    for _ in 0..400 {
        let (_, data) = stalled.next().await.unwrap();
        told.insert(data["message_id"].as_str().unwrap().to_owned());
    }
    assert_eq!(told.len(), 400);
}
