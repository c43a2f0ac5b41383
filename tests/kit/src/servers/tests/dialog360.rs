//! 360dialog's stand-in.

use super::contents::{bound, product};
use super::*;
use crate::ports::succeed;
use recado_domain::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::instance::{DownloadBlock, InstanceChange, InstanceState};
use recado_ports::ports::Providers;
use recado_whatsapp::dialog360::media_url;
use reqwest::Method;

const PHOTO: &[u8] = &[0xff, 0xd8, 0xff, 0xe0, 0, 1];

fn ask(server: &StandIn, method: Method, path: &str) -> RequestBuilder {
    client()
        .request(method, format!("{}{path}", server.url()))
        .header("D360-API-KEY", "key-1")
}

fn text(server: &StandIn) -> RequestBuilder {
    ask(server, Method::POST, "/messages").json(&json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "+5511944440000",
        "type": "text",
        "text": {"body": "Olá", "preview_url": false},
        "biz_opaque_callback_data": "c_1-1.2",
    }))
}

#[tokio::test]
async fn a_message_is_taken_with_200_as_meta_does_or_201_without_the_contact() {
    let server = StandIn::dialog360();
    let (first, whole) = go(text(&server)).await;
    let (second, short) = go(text(&server)).await;
    let phone = server.phone();
    assert_eq!(
        (first, &whole["contacts"][0]["wa_id"]),
        (200, &json!("5511944440000"))
    );
    assert_eq!((second, short), (201, json!({"messages": [{"id": phone[1].id}]})));
    assert_eq!(whole["messages"][0]["id"], phone[0].id.as_str());
    assert_eq!(phone[0].instance, "key-1", "the key says which number");
    assert_eq!(phone[0].callback.as_deref(), Some("c_1-1.2"));
}

#[tokio::test]
async fn only_its_own_key_opens_and_nothing_beside_it_is_shown() {
    let server = StandIn::dialog360();
    let wrong = [
        (text(&server).bearer_auth("meta-token"), "authorization"),
        (
            client()
                .post(format!("{}/messages", server.url()))
                .json(&json!({})),
            "no header D360-API-KEY",
        ),
        (
            ask(&server, Method::POST, "/v24.0/1/messages").json(&json!({})),
            "no such route",
        ),
        (ask(&server, Method::POST, "/messages").body("x"), "content-type"),
    ];
    let mut what = Vec::new();
    for (request, expected) in wrong {
        assert!((400..500).contains(&go(request).await.0), "{expected}");
        what.push(expected);
    }
    let found = server.violations();
    assert_eq!(found.len(), what.len());
    assert!(
        found
            .iter()
            .zip(what)
            .all(|(found, what)| found.what.contains(what)),
        "{found:?}"
    );
    server.expect_credential("another");
    let (status, said) = go(text(&server)).await;
    assert_eq!(
        (status, &said["meta"]["developer_message"]),
        (401, &json!("Invalid api_key"))
    );
    assert!(server.phone().is_empty() && server.violations().len() == 4);
}

#[tokio::test]
async fn a_file_must_have_been_uploaded_before_it_is_sent() {
    let server = StandIn::dialog360();
    let send = |id: &str| {
        ask(&server, Method::POST, "/messages").json(&json!({
            "messaging_product": "whatsapp", "recipient_type": "individual", "to": "+5511944440000",
            "type": "image", "image": {"id": id}, "biz_opaque_callback_data": "c_1-1.2",
        }))
    };
    assert_eq!(go(send("41")).await.0, 400);
    server.files().put("41", "image/jpeg", PHOTO);
    assert_eq!(go(send("41")).await.0, 200);
    assert_eq!(server.violations()[0].what, "the file was never uploaded here");
    assert_eq!(
        go(ask(&server, Method::DELETE, "/41")).await,
        (200, json!({"success": true}))
    );
    assert_eq!(go(ask(&server, Method::DELETE, "/41")).await.0, 404);
    assert_eq!(go(send("41")).await.0, 400);
}

#[tokio::test]
async fn read_marks_and_typing_are_taken_from_the_product_as_meta_takes_them() {
    for provider in ["meta", "360dialog"] {
        let server = super::contents::server(provider);
        let (product, bound) = (product(&server), bound(provider, 2));
        let chat = ContactAddress::parse("5511944440000").unwrap();
        product.show_typing(&bound, &chat, "wamid.A").await;
        let ids = ["wamid.A", "wamid.B"].map(str::to_owned);
        product.mark_messages_read(&bound, &chat, &ids).await;
        let seen = [("wamid.A".to_owned(), true), ("wamid.B".to_owned(), false)];
        assert_eq!(server.notes().seen(), seen, "{provider}");
        assert_eq!(server.violations(), [], "{provider}");
        assert!(server.phone().is_empty());
    }
}

#[tokio::test]
async fn a_wrong_read_mark_is_refused() {
    let server = StandIn::dialog360();
    for change in [
        json!({"status": "delivered"}),
        json!({"status": "read", "typing_indicator": {"type": "audio"}}),
        json!({"status": "read", "type": "text"}),
        json!({"status": "read", "message_id": ""}),
    ] {
        let mut body = json!({"messaging_product": "whatsapp", "message_id": "wamid.A"});
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        assert_eq!(
            go(ask(&server, Method::POST, "/messages").json(&body)).await.0,
            400,
            "{body}"
        );
    }
    assert_eq!(
        (server.violations().len(), server.notes().seen()),
        (4, Vec::new())
    );
}

#[tokio::test]
async fn a_webhook_is_set_with_its_headers_and_read_back() {
    let server = StandIn::dialog360();
    assert_eq!(go(ask(&server, Method::GET, "/v1/configs/webhook")).await.0, 404);
    let set = |body: &Value| ask(&server, Method::POST, "/v1/configs/webhook").json(body);
    let wrong = [
        json!({"headers": {}}),
        json!({"url": "ftp://example.org"}),
        json!({"url": "https://example.org", "headers": ["x"]}),
        json!({"url": "https://example.org", "headers": {"x": 1}}),
        json!({"url": "https://example.org", "events": []}),
    ];
    for body in &wrong {
        assert_eq!(go(set(body)).await.0, 400, "{body}");
    }
    assert_eq!(server.violations().len(), wrong.len());
    let webhook = json!({"url": "https://recado.example/w", "headers": {"x-secret": "s"}});
    assert_eq!(go(set(&webhook)).await.0, 200);
    assert_eq!(
        go(ask(&server, Method::GET, "/v1/configs/webhook")).await,
        (200, webhook.clone())
    );
    assert_eq!(server.notes().webhook("key-1"), Some(webhook));
    let other = client().get(format!("{}/v1/configs/webhook", server.url()));
    assert_eq!(
        go(other.header("D360-API-KEY", "key-2")).await.0,
        404,
        "another number has its own"
    );
}

/// Where the product finds the file that 360dialog names.
async fn place(server: &StandIn, id: &str) -> String {
    let (status, said) = go(ask(server, Method::GET, &format!("/{id}"))).await;
    assert_eq!((status, &said["mime_type"]), (200, &json!("image/jpeg")));
    let named = said["url"].as_str().unwrap();
    assert!(named.starts_with("https://lookaside.fbsbx.com/"), "{named}");
    media_url(&server.url(), named).unwrap()
}

async fn bytes(url: &str) -> (u16, Vec<u8>) {
    let answer = succeed(client().get(url).header("D360-API-KEY", "key-1").send()).await;
    (answer.status().as_u16(), answer.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn a_file_is_found_at_the_bases_host_with_the_key_for_five_minutes() {
    let server = StandIn::dialog360();
    server.files().put("41", "image/jpeg", PHOTO);
    let escaped = succeed(succeed(ask(&server, Method::GET, "/41").send()).await.text()).await;
    assert!(
        escaped.contains(r"https:\/\/lookaside.fbsbx.com\/whatsapp_business"),
        "{escaped}"
    );
    let url = place(&server, "41").await;
    assert_eq!(bytes(&url).await, (200, PHOTO.to_vec()));
    server.files().later(Duration::from_secs(299));
    assert_eq!(bytes(&url).await.0, 200);
    server.files().later(Duration::from_secs(2));
    assert_eq!(bytes(&url).await.0, 404, "the URL is too old");
    assert_eq!(
        bytes(&place(&server, "41").await).await.0,
        200,
        "a new one is not"
    );
    assert_eq!(server.violations(), []);
    assert_eq!(client().get(&url).send().await.unwrap().status().as_u16(), 400);
    assert_eq!(server.violations()[0].what, "no header D360-API-KEY");
}

#[tokio::test]
async fn twenty_failed_downloads_block_all_of_the_numbers_for_half_an_hour() {
    let server = StandIn::dialog360();
    server.files().put("41", "image/jpeg", PHOTO);
    for _ in 0..20 {
        assert_eq!(go(ask(&server, Method::GET, "/42")).await.0, 404);
    }
    let (status, said) = go(ask(&server, Method::GET, "/41")).await;
    assert_eq!((status, said["meta"]["http_code"].as_u64()), (403, Some(403)));
    let other = client()
        .get(format!("{}/41", server.url()))
        .header("D360-API-KEY", "key-2");
    assert_eq!(go(other).await.0, 200, "another number is not");
    server.files().later(Duration::from_secs(29 * 60));
    assert_eq!(go(ask(&server, Method::GET, "/41")).await.0, 403);
    server.files().later(Duration::from_secs(60));
    assert_eq!(go(ask(&server, Method::GET, "/41")).await.0, 200);
    assert_eq!(go(text(&server)).await.0, 200);
}

#[tokio::test]
async fn who_keeps_to_the_products_own_count_asks_for_nothing_while_blocked() {
    let server = StandIn::dialog360();
    let mut state = InstanceState::default();
    for _ in 0..50 {
        if state.downloads.blocked_until(Timestamp::now()).is_none() {
            assert_eq!(go(ask(&server, Method::GET, "/42")).await.0, 404);
            state.apply_change(&InstanceChange::DownloadFailed(Timestamp::now()));
        }
    }
    assert_eq!(server.requests().len(), DownloadBlock::FAILURES);
}

#[tokio::test]
async fn its_pages_are_no_json() {
    let server = StandIn::dialog360();
    server.next_all([
        Dialog360Error::BadGateway.behaviour(),
        Dialog360Error::RateLimitAsText.with_retry_after(3),
    ]);
    let page = text(&server).send().await.unwrap();
    assert_eq!(
        (page.status().as_u16(), &page.headers()["content-type"]),
        (502, &"text/html".parse().unwrap())
    );
    assert!(page.text().await.unwrap().starts_with("<html>"));
    let plain = text(&server).send().await.unwrap();
    assert_eq!(
        (plain.status().as_u16(), &plain.headers()["retry-after"]),
        (400, &"3".parse().unwrap())
    );
    assert_eq!(
        plain.text().await.unwrap(),
        "You have exceeded the endpoint rate limit"
    );
}
