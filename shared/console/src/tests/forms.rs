//! What single forms become.

use super::stand_in::{ApiStandIn, post, send, sign_in};
use crate::form_body::{ApiForm, FormContent, FormError, FormFields};
use axum::http::StatusCode;
use serde_json::{Value, json};

fn parse_console_form(form: &[u8]) -> Result<ApiForm, FormError> {
    FormFields::split(form)?.into_request()
}

fn parse_json_form(form: &str) -> Value {
    match parse_console_form(form.as_bytes()).unwrap().body {
        Some(FormContent::Json(json)) => json,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_become_json_by_the_kinds_that_their_names_say() {
    assert_eq!(
        parse_json_form("text=Bom+dia%21&seen%3Anumber=4&content.type=&x%3Anull=&y%3Aempty="),
        json!({"text": "Bom dia!", "seen": 4, "x": null, "y": ""})
    );
    assert_eq!(
        parse_json_form(
            "a.b%3Awords=x%2C+y%0D%0Az&c%3Alist=p%2Cq%0Ar&d%3Abool=false&d%3Abool=true&e%3Ajson=%5B1%5D"
        ),
        json!({"a": {"b": ["x", "y", "z"]}, "c": ["p,q", "r"], "d": true, "e": [1]})
    );
    assert_eq!(
        parse_json_form("expires_at%3Aend=2026-12-31&since%3Abegin=2026-12-01&until%3Aend="),
        json!({"expires_at": "2027-01-01T00:00:00Z", "since": "2026-12-01T00:00:00Z"})
    );
    assert_eq!(
        parse_json_form("since%3Atime=2026-11-27T10%3A30&until%3Atime="),
        json!({"since": "2026-11-27T10:30:00Z"})
    );
    let kept = r#"_json={"id":"a","unknown":{"deep":[1]},"opening_hours":{"mon":["08:00-09:00"]}}"#;
    assert_eq!(
        parse_json_form(&format!(
            "{kept}&opening_hours.mon%3Awords=09:00-10:00&opening_hours.tue%3Awords="
        )),
        json!({"id": "a", "unknown": {"deep": [1]}, "opening_hours": {"mon": ["09:00-10:00"], "tue": []}})
    );
    for wrong in [
        "n%3Anumber=x",
        "j%3Ajson={",
        "_json=[]",
        "d%3Aend=x",
        "t%3Atime=10%3A30",
        "e%3Adays=x",
        "_method=%20",
    ] {
        assert!(parse_console_form(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

/// Sends a form and returns the one request that the API got: method, path and body.
async fn ask(path: &str, form: &str) -> (String, String, String) {
    let api = ApiStandIn::for_role("admin");
    let (status, _, answer) = send(
        &api.console(),
        post(&format!("/console/api{path}"), &sign_in(), form),
    )
    .await;
    assert!(status.is_success() || status == StatusCode::SEE_OTHER, "{answer}");
    let mut asked = api.take_changes();
    assert_eq!(asked.len(), 1);
    let one = asked.remove(0);
    (one.method, one.path, one.body)
}

/// Reads a body. The order of the fields of JSON says nothing; what is no JSON is a text.
fn read_sent_body(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| Value::from(body))
}

#[tokio::test]
async fn forms_make_exactly_these_requests() {
    for (path, form, method, asked, body) in [
        (
            "/v1/conversations/c_1-1",
            "_method=PATCH&status=resolved&seen%3Anumber=4",
            "PATCH",
            "/v1/conversations/c_1-1",
            r#"{"seen":4,"status":"resolved"}"#,
        ),
        (
            "/v1/conversations/c_1-1/messages",
            "_key=k&seen%3Anumber=4&content.type=media&content.media=image&content.source=upload%3A00&content.file_name=&content.caption=Look",
            "POST",
            "/v1/conversations/c_1-1/messages",
            r#"{"content":{"caption":"Look","media":"image","source":"upload:00","type":"media"},"seen":4}"#,
        ),
        (
            "/v1/dead-letters",
            "_method=DELETE&%3Freason=poison&%3Fsince%3Abegin=2026-12-01&_show=count",
            "DELETE",
            "/v1/dead-letters?reason=poison&since=2026%2D12%2D01T00%3A00%3A00Z",
            "",
        ),
        (
            "/v1/occasions/o/guests?tenant=t",
            "_type=text%2Fcsv&_text=id%2Cname%0D%0Ag1%2CAna",
            "POST",
            "/v1/occasions/o/guests?tenant=t",
            "id,name\ng1,Ana",
        ),
        (
            "/v1/agents/a/knowledge",
            "_type=text%2Fmarkdown&%3Ftitle=a+b.md&_text=%23+Prices",
            "POST",
            "/v1/agents/a/knowledge?title=a%20b%2Emd",
            "# Prices",
        ),
        (
            "/v1/alerts/test",
            "_show=notifications",
            "POST",
            "/v1/alerts/test",
            "",
        ),
    ] {
        let (got_method, got_path, got_body) = ask(path, form).await;
        assert_eq!((got_method.as_str(), got_path.as_str()), (method, asked));
        assert_eq!(read_sent_body(&got_body), read_sent_body(body), "{asked}");
    }
}

#[tokio::test]
async fn a_refusal_is_shown_and_a_page_is_loaded_again_where_the_form_is() {
    let mut api = ApiStandIn::for_role("admin");
    let form = "_method=PATCH&mode=manual&_then=/console/conversations/c_1-1";
    let ask = |path: &str, current: &str| {
        let mut request = post(path, &sign_in(), form);
        request
            .headers_mut()
            .insert("hx-request", "true".parse().unwrap());
        request
            .headers_mut()
            .insert("hx-current-url", current.parse().unwrap());
        request
    };
    let path = "/console/api/v1/conversations/c_1-1";
    let here = ask(path, "http://x/console/conversations/c_1-1");
    let (status, headers, _) = send(&api.console(), here).await;
    assert_eq!(
        (status, &headers["hx-refresh"]),
        (StatusCode::NO_CONTENT, &"true".parse().unwrap())
    );
    let (_, headers, _) = send(&api.console(), ask(path, "http://x/console")).await;
    assert_eq!(headers["hx-redirect"], "/console/conversations/c_1-1");
    api.refuses = true;
    let (status, _, line) = send(
        &api.console(),
        ask("/console/api/v1/alerts/test", "http://x/console"),
    )
    .await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{line}");
    let test = post("/console/api/v1/alerts/test", &sign_in(), "");
    let (status, _, page) = send(&api.console(), test).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(page.contains("&lt;script&gt;") && page.contains("<h1>"), "{page}");
    let unknown = post("/console/api/v1/alerts/test", &sign_in(), "_show=../base");
    api.refuses = false;
    let (status, ..) = send(&api.console(), unknown).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_refusal_is_told_in_the_language_of_the_page_or_marked_as_words_of_the_server() {
    let mut api = ApiStandIn::for_role("admin");
    api.refuses = true;
    let refused = async |api: &ApiStandIn, path: &str, form: &str, is_part: bool| {
        let mut request = post(path, &sign_in(), form);
        request
            .headers_mut()
            .insert("accept-language", "pt-BR".parse().unwrap());
        if is_part {
            request
                .headers_mut()
                .insert("hx-request", "true".parse().unwrap());
        }
        let (_, _, told) = send(&api.console(), request).await;
        told
    };
    let path = "/console/api/v1/alerts/test";
    for is_part in [true, false] {
        api.refusal_code = Some("resolved");
        let known = refused(&api, path, "", is_part).await;
        assert!(
            known.contains("A conversa está resolvida.") && !known.contains("alert(1)"),
            "{known}"
        );
        api.refusal_code = None;
        let other = refused(&api, path, "", is_part).await;
        assert!(
            other.contains("O Recado diz, em inglês: <q lang=\"en\">&lt;script&gt;"),
            "{other}"
        );
        let wrong = refused(&api, path, "n%3Anumber=x", is_part).await;
        assert!(
            wrong.contains("O Recado diz, em inglês: <q lang=\"en\">`n` must be"),
            "{wrong}"
        );
    }
    api.refusal_code = Some("key_reused");
    let line = refused(&api, path, "", true).await;
    assert!(line.contains("data-refusal=\"key_reused\""), "{line}");
}

/// Another port or subdomain passes the guard against other origins.
#[tokio::test]
async fn no_request_that_another_page_can_make_becomes_one_that_changes_something() {
    let api = ApiStandIn::for_role("admin");
    let (console, cookie) = (api.console(), sign_in());
    let mut tried = 0;
    for (_, route) in super::described_api::DescribedApi::shared().list_routes() {
        let path = format!("/console/api{}", route.replace(['{', '}'], ""));
        for method in ["GET", "HEAD", "OPTIONS"] {
            let request = axum::extract::Request::builder()
                .method(method)
                .uri(&path)
                .header(axum::http::header::COOKIE, &cookie)
                .header(
                    axum::http::header::CONTENT_TYPE,
                    "application/x-www-form-urlencoded",
                )
                .header("sec-fetch-site", "cross-site")
                .body(axum::body::Body::from("_method=DELETE&text=x"));
            send(&console, request.unwrap()).await;
            let changes = api.take_changes().into_iter();
            let made: Vec<String> = changes
                .map(|asked| asked.method)
                .filter(|asked| asked.as_str() != method)
                .collect();
            assert!(made.is_empty(), "{method} {path} became {made:?}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_form_that_no_page_makes_is_refused_before_anything_is_made_of_it() {
    let long = "x".repeat(201);
    let deep = ["a"; 9].join(".");
    let deepest = vec!["a"; 500_000].join(".");
    let many: Vec<String> = (0..201).map(|number| format!("f{number}=1")).collect();
    let entries = "a,".repeat(10_001);
    let days = "2026-12-25: closed%0A".repeat(10_001);
    for wrong in [
        format!("{long}=1"),
        format!("{deep}=1"),
        format!("{deepest}=1"),
        many.join("&"),
        format!("a%3Awords={entries}"),
        format!("a%3Alist={}", entries.replace(',', "%0A")),
        format!("a%3Adays={days}"),
    ] {
        let refused = parse_console_form(wrong.as_bytes());
        assert_eq!(refused, Err(FormError::TooLarge), "{wrong:.60}");
    }
    let deep = ["a"; 8].join(".");
    let read = parse_json_form(&format!("{}&{deep}=1", many[..199].join("&")));
    assert_eq!(
        read.pointer(&format!("/{}", deep.replace('.', "/"))),
        Some(&json!("1"))
    );
    let entries = parse_json_form(&format!("a%3Awords={}", "a,".repeat(10_000)));
    assert_eq!(entries["a"].as_array().unwrap().len(), 10_000);
}

#[tokio::test]
async fn a_form_of_many_parts_is_a_400_and_one_that_the_role_may_not_send_is_not_looked_into() {
    let api = ApiStandIn::for_role("viewer");
    let path = "/console/api/v1/conversations/c_1-1/labels";
    let deep = format!("{}=1", vec!["a"; 5_000].join("."));
    let (status, ..) = send(&api.console(), post(path, &sign_in(), &deep)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    // A number that is none would be a 400 for who may send it.
    let (status, _, page) = send(&api.console(), post(path, &sign_in(), "n%3Anumber=x")).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{page}");
    let (status, ..) = send(
        &ApiStandIn::for_role("admin").console(),
        post(path, &sign_in(), "n%3Anumber=x"),
    )
    .await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(api.take_changes().is_empty());
}
