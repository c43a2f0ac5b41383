//! The endpoint that gives access tokens (<https://developers.google.com/identity/protocols/oauth2/service-account#httprest>).

use super::book::CalendarBook;
use super::checks::{Parameters, check_query};
use super::test_key::{PRIVATE_KEY, PUBLIC_KEY};
use crate::servers::call::{Call, Refusal, json, wrong};
use axum::Extension;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use recado_domain::Timestamp;
use rustls::SignatureScheme;
use serde_json::{Value, json};
use std::sync::Arc;

const ACCOUNT: &str = "recado@stand-in.iam.gserviceaccount.com";
const KEY_ID: &str = "4a1f0c";
const CLIENT_ID: &str = "client.apps.googleusercontent.com";
const CLIENT_SECRET: &str = "GOCSPX-stand-in-client-secret";
const REFRESH_TOKEN: &str = "1//stand-in-refresh-token";

/// The longest life of a claim, in seconds.
const CLAIM_LIFE_MAX: i64 = 3600;

/// How far the clock of a claim may be off, in seconds.
const CLOCK_MARGIN: i64 = 600;

/// The key file as Google's console gives it.
pub(super) fn service_account() -> Value {
    json!({
        "type": "service_account", "project_id": "stand-in", "private_key_id": KEY_ID, "private_key": PRIVATE_KEY,
        "client_email": ACCOUNT, "client_id": "100000000000000000000",
        "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": "https://oauth2.googleapis.com/token",
        "universe_domain": "googleapis.com",
    })
}

/// A refresh token as `gcloud` writes it.
pub(super) fn authorized_user() -> Value {
    json!({
        "type": "authorized_user", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET,
        "refresh_token": REFRESH_TOKEN,
    })
}

pub(super) async fn give_token(Extension(book): Extension<Arc<CalendarBook>>, call: Call) -> Response {
    if let Some((status, body)) = book.take_token_answer() {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        return json(status, body);
    }
    if let Err(Refusal::Wrong(what)) = check_request(&call) {
        call.violate(&what);
        return json(
            StatusCode::BAD_REQUEST,
            json!({"error": "invalid_grant", "error_description": what}),
        );
    }
    let (token, life) = book.give_token();
    let body = json!({"access_token": token, "expires_in": life, "token_type": "Bearer"});
    json(StatusCode::OK, body)
}

fn check_request(call: &Call) -> Result<(), Refusal> {
    if call.header("content-type") != Some("application/x-www-form-urlencoded") {
        return wrong("the content type is not that of a form");
    }
    let Value::String(form) = &call.request.body else {
        return wrong("the body is no form");
    };
    let form = check_query(
        Some(form),
        &[
            "grant_type",
            "assertion",
            "client_id",
            "client_secret",
            "refresh_token",
        ],
    )?;
    match form.get("grant_type").map(String::as_str) {
        Some("urn:ietf:params:oauth:grant-type:jwt-bearer") => {
            let host = call.header("host").unwrap_or_default();
            check_assertion(&form, &format!("http://{host}/token"))
        }
        Some("refresh_token") => {
            let of = |name: &str| form.get(name).map(String::as_str);
            let shown = (of("client_id"), of("client_secret"), of("refresh_token"));
            if shown == (Some(CLIENT_ID), Some(CLIENT_SECRET), Some(REFRESH_TOKEN)) {
                Ok(())
            } else {
                wrong("client or refresh token is another")
            }
        }
        _ => wrong("grant_type is none that is known"),
    }
}

fn check_assertion(form: &Parameters, audience: &str) -> Result<(), Refusal> {
    let parts: Vec<&str> = form
        .get("assertion")
        .map_or("", String::as_str)
        .split('.')
        .collect();
    let [header, claims, signature] = parts[..] else {
        return wrong("assertion is not of three parts");
    };
    let signed = format!("{header}.{claims}");
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
    let read = |part: &str| serde_json::from_slice::<Value>(&decoded(part)).unwrap_or_default();
    let (header, claims) = (read(header), read(claims));
    if header != json!({"alg": "RS256", "typ": "JWT", "kid": KEY_ID}) {
        return wrong("the assertion's header is another");
    }
    if claims["iss"] != ACCOUNT || claims["aud"] != *audience {
        return wrong("iss or aud is another");
    }
    if !claims["scope"].as_str().is_some_and(allows_enough) {
        return wrong("the scopes allow less than is asked for");
    }
    let (begin, end) = (
        claims["iat"].as_i64().unwrap_or(0),
        claims["exp"].as_i64().unwrap_or(0),
    );
    if (begin - Timestamp::now().as_second()).abs() > CLOCK_MARGIN
        || !(1..=CLAIM_LIFE_MAX).contains(&(end - begin))
    {
        return wrong("iat or exp is out of range");
    }
    if is_signed(signed.as_bytes(), &decoded(signature)) {
        Ok(())
    } else {
        wrong("the signature is wrong")
    }
}

/// Events and busy times.
fn allows_enough(scopes: &str) -> bool {
    let has = |names: &[&str]| {
        scopes.split(' ').any(|scope| {
            let name = scope.strip_prefix("https://www.googleapis.com/auth/");
            name.is_some_and(|name| names.contains(&name))
        })
    };
    has(&["calendar", "calendar.events"]) && has(&["calendar", "calendar.readonly", "calendar.freebusy"])
}

fn is_signed(message: &[u8], signature: &[u8]) -> bool {
    let key = STANDARD.decode(PUBLIC_KEY).unwrap_or_default();
    let known = rustls::crypto::ring::default_provider()
        .signature_verification_algorithms
        .mapping;
    let of_scheme = known
        .iter()
        .filter(|(scheme, _)| *scheme == SignatureScheme::RSA_PKCS1_SHA256);
    of_scheme
        .flat_map(|(_, algorithms)| algorithms.iter())
        .any(|algorithm| algorithm.verify_signature(&key, message, signature).is_ok())
}
