//! Signing in, and what holds a session safe.

use super::stand_in::{ApiStandIn, SESSION, TOKEN, get, post, send, sign_in};
use crate::{ConsoleOptions, OneTimeLink, console_routes};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use std::time::Duration;

fn make_console(options: ConsoleOptions) -> Router {
    console_routes(ApiStandIn::for_role("operator").router(), options).unwrap()
}

fn cookie_of(headers: &HeaderMap) -> String {
    let cookie = headers[header::SET_COOKIE].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_stranger_is_led_to_the_sign_in_and_back() {
    let console = make_console(ConsoleOptions::default());
    let (status, headers, _) = send(&console, get("/console/conversations?mode=ai", "")).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let target = headers[header::LOCATION].to_str().unwrap();
    assert_eq!(
        target,
        "/console/sign-in?next=%2Fconsole%2Fconversations%3Fmode%3Dai"
    );
    let (status, _, form) = send(&console, get(target, "")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        form.contains(r#"name="next" value="&#x2f;console&#x2f;conversations?mode=ai""#),
        "{form}"
    );
    let filled = format!("token={TOKEN}&next=%2Fconsole%2Fconversations");
    let (status, headers, _) = send(&console, post("/console/sign-in", "", &filled)).await;
    assert_eq!(
        (status, &headers[header::LOCATION]),
        (StatusCode::SEE_OTHER, &"/console/conversations".parse().unwrap())
    );
    let cookie = headers[header::SET_COOKIE].to_str().unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/console"),
        "{cookie}"
    );
    assert!(!cookie.contains(TOKEN) && cookie.contains(SESSION), "{cookie}");
    let (status, _, page) = send(&console, get("/console/conversations", &cookie_of(&headers))).await;
    assert_eq!(status, StatusCode::OK, "{page}");
}

#[tokio::test]
async fn a_wrong_token_begins_no_session() {
    let console = make_console(ConsoleOptions::default());
    let (status, headers, _) = send(&console, post("/console/sign-in", "", "token=wrong")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(!headers.contains_key(header::SET_COOKIE));
    let (status, headers, _) = send(
        &console,
        post(
            "/console/sign-in",
            "",
            &format!("token={TOKEN}&next=//evil.example"),
        ),
    )
    .await;
    assert_eq!(
        (status, headers[header::LOCATION].to_str().unwrap()),
        (StatusCode::SEE_OTHER, "/console")
    );
}

#[tokio::test]
async fn a_sign_out_ends_the_session_on_the_server() {
    let api = ApiStandIn::for_role("operator");
    let (console, cookie) = (api.console(), sign_in());
    let cookie = cookie.split(';').next().unwrap();
    let (status, ..) = send(&console, get("/console/conversations", cookie)).await;
    assert_eq!(status, StatusCode::OK);
    let (status, headers, _) = send(&console, post("/console/sign-out", cookie, "")).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert!(api.has_ended());
    let forgotten: Vec<_> = headers.get_all(header::SET_COOKIE).iter().collect();
    assert!(
        forgotten
            .iter()
            .all(|cookie| cookie.to_str().unwrap().contains("Max-Age=0"))
            && forgotten.len() == 2
    );
    let (status, headers, _) = send(&console, get("/console/conversations", cookie)).await;
    assert_eq!(
        status,
        StatusCode::SEE_OTHER,
        "a copy of the cookie opens nothing any more"
    );
    assert!(
        headers[header::LOCATION]
            .to_str()
            .unwrap()
            .starts_with("/console/sign-in")
    );
}

#[tokio::test]
async fn over_tls_the_cookie_is_of_this_host_alone_and_each_page_keeps_it_for_longer() {
    let console = make_console(ConsoleOptions::default());
    let over_tls = |mut request: Request| {
        let protocol = "https".parse().unwrap();
        request.headers_mut().insert("x-forwarded-proto", protocol);
        request
    };
    let signed_in = post("/console/sign-in", "", &format!("token={TOKEN}"));
    let (_, headers, _) = send(&console, over_tls(signed_in)).await;
    let cookie = headers[header::SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.starts_with("__Host-recado_session=session_"), "{cookie}");
    assert!(
        cookie.contains("Path=/;") && cookie.ends_with("; Secure") && !cookie.contains("Domain"),
        "{cookie}"
    );
    let (status, headers, _) = send(
        &console,
        over_tls(get("/console/conversations", &cookie_of(&headers))),
    )
    .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(headers[header::SET_COOKIE].to_str().unwrap(), cookie);
    let plain = sign_in();
    let (status, ..) = send(&console, over_tls(get("/console/conversations", &plain))).await;
    assert_eq!(
        status,
        StatusCode::SEE_OTHER,
        "a cookie that another host could have set"
    );
}

#[tokio::test]
async fn after_ten_wrong_tokens_more_are_429_and_the_right_one_signs_in() {
    let console = make_console(ConsoleOptions::default());
    for _ in 0..10 {
        let (status, ..) = send(&console, post("/console/sign-in", "", "token=wrong")).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
    }
    let (status, headers, _) = send(&console, post("/console/sign-in", "", "token=wrong")).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert!(headers.contains_key(header::RETRY_AFTER) && !headers.contains_key(header::SET_COOKIE));
    let right = format!("token={TOKEN}");
    let (status, headers, _) = send(&console, post("/console/sign-in", "", &right)).await;
    assert_eq!(
        status,
        StatusCode::SEE_OTHER,
        "nobody is kept out by others' attempts"
    );
    assert!(headers.contains_key(header::SET_COOKIE));
    let (status, ..) = send(&console, get("/console/conversations", &sign_in())).await;
    assert_eq!(status, StatusCode::OK, "who is signed in is not concerned");
}

#[tokio::test]
async fn a_one_time_link_signs_in_once() {
    let (link, path) = OneTimeLink::generate(TOKEN.to_owned(), Duration::from_secs(600)).unwrap();
    let console = make_console(ConsoleOptions {
        one_time_link: Some(link),
        ..ConsoleOptions::default()
    });
    let (status, ..) = send(&console, get("/console/open/0000", "")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, headers, _) = send(&console, get(&path, "")).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    let (status, ..) = send(&console, get("/console/conversations", &cookie_of(&headers))).await;
    assert_eq!(status, StatusCode::OK);
    let (status, ..) = send(&console, get(&path, "")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_one_time_link_whose_time_is_over_signs_nobody_in() {
    let (link, path) = OneTimeLink::generate(TOKEN.to_owned(), Duration::ZERO).unwrap();
    let console = make_console(ConsoleOptions {
        one_time_link: Some(link),
        ..ConsoleOptions::default()
    });
    let (status, headers, _) = send(&console, get(&path, "")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(!headers.contains_key(header::SET_COOKIE));
}

#[tokio::test]
async fn what_customers_write_is_text_and_what_a_token_does_not_open_is_not_shown() {
    let console = make_console(ConsoleOptions::default());
    let cookie = sign_in();
    let (status, headers, page) = send(&console, get("/console/conversations", &cookie)).await;
    assert_eq!(status, StatusCode::OK, "{page}");
    assert!(
        page.contains("&lt;script&gt;") && !page.contains("<script>alert"),
        "{page}"
    );
    assert!(
        page.contains("/console/conversations") && !page.contains("/console/tokens"),
        "{page}"
    );
    let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
}

#[tokio::test]
async fn without_a_session_a_part_of_a_page_is_refused_in_its_place() {
    let console = make_console(ConsoleOptions::default());
    let part = |mut request: Request| {
        request
            .headers_mut()
            .insert("hx-request", "true".parse().unwrap());
        request
    };
    for request in [
        part(get("/console/conversations", "")),
        part(post("/console/api/v1/conversations/c_1-1/messages", "", "text=x")),
        get("/console/api/v1/events/stream", ""),
    ] {
        let (status, headers, _) = send(&console, request).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert!(!headers.contains_key("hx-redirect") && !headers.contains_key(header::LOCATION));
    }
}

#[tokio::test]
async fn a_change_keeps_the_cookie_for_longer_and_a_part_that_is_read_again_does_not() {
    let console = make_console(ConsoleOptions::default());
    let mut read = get("/console/conversations", &sign_in());
    read.headers_mut().insert("hx-request", "true".parse().unwrap());
    let (status, headers, _) = send(&console, read).await;
    assert_eq!((status, headers.get(header::SET_COOKIE)), (StatusCode::OK, None));
    let change = post(
        "/console/api/v1/conversations/c_1-1",
        &sign_in(),
        "_method=PATCH&mode=manual",
    );
    let (_, headers, _) = send(&console, change).await;
    assert!(headers.contains_key(header::SET_COOKIE));
    let (_, headers, _) = send(&console, post("/console/sign-out", &sign_in(), "")).await;
    let mut cookies = headers.get_all(header::SET_COOKIE).iter();
    assert!(cookies.all(|cookie| cookie.to_str().unwrap().contains("Max-Age=0")));
}

#[tokio::test]
async fn an_address_without_a_page_is_a_page_that_says_so() {
    let console = make_console(ConsoleOptions::default());
    let (status, _, page) = send(&console, get("/console/nope/further", &sign_in())).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(
        page.contains("<h1>Not found</h1>") && page.contains("id=\"nav\""),
        "{page}"
    );
    let (status, ..) = send(&console, get("/console/nope", "")).await;
    assert_eq!(status, StatusCode::SEE_OTHER, "a stranger learns nothing");
}

#[tokio::test]
async fn a_request_of_another_origin_changes_nothing() {
    let console = make_console(ConsoleOptions::default());
    let cookie = sign_in();
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
    ] {
        let request = Request::post("/console/api/v1/conversations")
            .header(header::COOKIE, &cookie)
            .header(header::HOST, "recado.example")
            .header(name, value);
        let (status, ..) = send(&console, request.body(Body::empty()).unwrap()).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{name}: {value}");
    }
    let (status, ..) = send(
        &console,
        Request::post("/console/sign-out").body(Body::empty()).unwrap(),
    )
    .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_page_says_how_it_learns_of_news_and_its_policy_lets_that_websocket_through_alone() {
    let url = "wss://push.example/live";
    for (push_url, sources, live) in [
        (Some(url), "connect-src 'self' wss://push.example/live;", "push"),
        (None, "connect-src 'self';", "none"),
    ] {
        let console = make_console(ConsoleOptions {
            push_url: push_url.map(str::to_owned),
            ..ConsoleOptions::default()
        });
        let cookie = sign_in();
        let (_, headers, page) = send(&console, get("/console/conversations", &cookie)).await;
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains(sources), "{policy}");
        assert!(page.contains(&format!("data-live-source=\"{live}\"")));
    }
}
