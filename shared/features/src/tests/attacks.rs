//! Kinds of attack that are refused by how things are built: other texts in place of a secret, other places for it, and
//! input that would be a command to something behind.

use crate::tests::webhooks::evolution_message;
use crate::tests::{Site, TOKEN, secret_at, secret_of};
use axum::http::StatusCode;
use futures::future::join_all;
use recado_domain::provider::Provider;
use recado_http::api::request::encode_cursor;
use serde_json::{Value, json};

const CONTACT: &str = "5511900000001@s.whatsapp.net";

#[tokio::test]
async fn no_other_text_and_no_other_place_is_an_instances_proof() {
    let site = Site::in_memory();
    let secret = secret_of("master", "suporte-01");
    let (padded, upper) = (format!("{secret}0"), secret.to_uppercase());
    let others = [
        secret_of("master", "suporte-02"),
        secret_at(Provider::Dialog360, "master", "suporte-01"),
        secret_of("stolen", "suporte-01"),
    ];
    let texts = [
        "",
        " ",
        "*",
        "null",
        "master",
        TOKEN,
        &secret[..63],
        &padded,
        &upper,
    ];
    let texts = texts.into_iter().chain(others.iter().map(String::as_str));
    let body = evolution_message().to_string();
    for text in texts {
        let bearer = format!("Bearer {text}");
        for header in [("apikey", text), ("authorization", &bearer)] {
            let answered = site
                .ask("POST", "/webhooks/evolution", &[header], body.clone())
                .await;
            assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "{header:?}");
        }
    }
    let mut inside = evolution_message();
    inside["apikey"] = json!(secret);
    let query = format!("/webhooks/evolution?apikey={secret}");
    let cookie = format!("apikey={secret}");
    for (path, headers, body) in [
        ("/webhooks/evolution", vec![], inside.to_string()),
        (&*query, vec![], body.clone()),
        ("/webhooks/evolution", vec![("cookie", &*cookie)], body.clone()),
        ("/webhooks/evolution", vec![("x-api-key", &*secret)], body.clone()),
        (
            "/webhooks/evolution",
            vec![("apikey", "wrong"), ("apikey", &*secret)],
            body.clone(),
        ),
    ] {
        let answered = site.ask("POST", path, &headers, body).await;
        assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "{path} {headers:?}");
    }
}

#[tokio::test]
async fn no_other_place_and_no_other_path_opens_the_operators_api() {
    let site = Site::in_memory().configured().await;
    let bearer = format!("Bearer {TOKEN}");
    let basic = format!("Basic {TOKEN}");
    let cookie = format!("token={TOKEN}; authorization=Bearer {TOKEN}");
    let query = format!("/v1/config?token={TOKEN}&access_token={TOKEN}");
    for (path, headers) in [
        (&*query, vec![]),
        ("/v1/config", vec![("cookie", &*cookie)]),
        ("/v1/config", vec![("authorization", &*basic)]),
        ("/v1/config", vec![("authorization", TOKEN)]),
        ("/v1/config", vec![("x-authorization", &*bearer)]),
        ("/v1/config", vec![("proxy-authorization", &*bearer)]),
        (
            "/v1/config",
            vec![("authorization", "Bearer wrong"), ("authorization", &*bearer)],
        ),
        (
            "/v1/config",
            vec![("x-forwarded-for", "127.0.0.1"), ("forwarded", "for=127.0.0.1")],
        ),
        (
            "/v1/config",
            vec![("x-original-url", "/health"), ("x-http-method-override", "GET")],
        ),
    ] {
        let answered = site.ask("GET", path, &headers, "").await;
        assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "{path} {headers:?}");
    }
    for path in [
        "//v1/config",
        "/v1//config",
        "/V1/config",
        "/v1/CONFIG",
        "/v1/config/",
        "/v1/%63onfig",
        "/./v1/config",
        "/health/../v1/config",
        "/health%2f..%2fv1/config",
        "/webhooks/..%2fv1/config",
    ] {
        for method in ["GET", "OPTIONS", "TRACE", "PUT", "POST"] {
            let answered = site.ask(method, path, &[], "").await;
            assert!(
                !answered.status.is_success(),
                "{method} {path}: {}",
                answered.status
            );
            assert!(!answered.text.contains("suporte-01"), "{method} {path}");
        }
    }
    for method in ["OPTIONS", "TRACE", "PROPFIND"] {
        let answered = site.ask(method, "/v1/config", &[], "").await;
        assert!(!answered.status.is_success(), "{method}");
    }
}

#[tokio::test]
async fn what_stands_in_an_id_a_filter_or_a_cursor_is_never_a_command() {
    let site = Site::in_memory().configured().await;
    let id = site.conversation(CONTACT).await;
    for text in [
        "'%20OR%20'1'='1",
        "%22;DROP%20TABLE%20conversations;--",
        "%25",
        "*",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "c_0123456789abcdef0123456789abcdef-99999999999",
        "c_0123456789abcdef0123456789abcdef-1.99999999999999999999",
        "18446744073709551616",
        "-1",
        &"x".repeat(5_000),
    ] {
        let encoded = encode_cursor(text);
        for path in [
            format!("/v1/conversations/{text}"),
            format!("/v1/conversations/{text}/messages"),
            format!("/v1/messages/{text}"),
            format!("/v1/dead-letters/{text}"),
            format!("/v1/instances/{text}/notices"),
            format!("/v1/conversations?instance={text}"),
            format!("/v1/conversations?cursor={text}"),
            format!("/v1/conversations/{id}/messages?cursor={text}"),
            format!("/v1/conversations?cursor={encoded}"),
            format!("/v1/conversations/{id}/messages?cursor={encoded}"),
            format!("/v1/dead-letters?instance={text}"),
        ] {
            let answered = site.operate("GET", &path, &Value::Null).await;
            let nothing = answered.body["items"] == json!([]);
            let refused = matches!(answered.status.as_u16(), 400 | 404 | 414 | 422);
            assert!(
                refused || nothing,
                "{path}: {} {}",
                answered.status,
                answered.text
            );
        }
    }
    let all = site.operate("GET", "/v1/conversations", &Value::Null).await;
    assert_eq!(all.body["items"].as_array().unwrap().len(), 1, "{}", all.text);
}

#[tokio::test]
async fn of_twenty_requests_with_one_key_at_once_one_makes_a_message() {
    let site = Site::in_memory().configured().await;
    let bearer = format!("Bearer {TOKEN}");
    let body = json!({"to": "+5511900000001", "text": "Seu exame está pronto."}).to_string();
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k-1")];
    let requests = (0..20).map(|_| {
        site.ask(
            "POST",
            "/v1/instances/suporte-01/messages",
            &headers,
            body.clone(),
        )
    });
    let answers = join_all(requests).await;
    let of = |status: StatusCode| {
        answers
            .iter()
            .filter(|answered| answered.status == status)
            .count()
    };
    assert_eq!((of(StatusCode::ACCEPTED), of(StatusCode::OK)), (1, 19));
    assert!(
        answers
            .iter()
            .all(|answered| answered.body["id"] == answers[0].body["id"])
    );
}

#[tokio::test]
async fn a_file_is_named_by_a_web_address_or_an_upload_and_nothing_else() {
    let site = Site::in_memory().configured().await;
    for source in [
        "file:///etc/passwd",
        "data:text/plain;base64,eA==",
        "ftp://example.org/a.png",
        "gopher://example.org/",
        "javascript:alert(1)",
        "upload:../../operator-token",
        "upload:",
        "upload:0123456789ABCDEF0123456789ABCDEF",
        "https://user:pw@example.org/a.png",
        "https:///a.png",
        "//example.org/a.png",
        "/etc/passwd",
        "https://example.org/a b.png",
        "https://example.org/a\r\nx: y",
    ] {
        let content = json!({"type": "media", "media": "image", "source": source});
        let body = json!({"to": "+5511900000001", "content": content});
        let answered = site
            .operate("POST", "/v1/instances/suporte-01/messages", &body)
            .await;
        assert_eq!(
            answered.status,
            StatusCode::BAD_REQUEST,
            "{source}: {}",
            answered.text
        );
    }
}
