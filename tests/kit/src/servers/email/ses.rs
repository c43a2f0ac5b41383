//! Amazon SES's API, version 2, as documented: `POST /v2/email/outbound-emails`
//! (<https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html>), `GET /v2/email/account`. It recognizes no repeat.
//! Every signature is made once more and compared.

use crate::servers::call::{Call, Refusal, fresh, json, wrong};
use crate::servers::journal::{Delivered, Journal, Recorded};
use crate::servers::shape::{list, object, only, text, text_if};
use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use recado_domain::secret::hmac_sha256;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;

const KEY_ID: &str = "AKIASTANDIN";
const KEY_SECRET: &str = "stand-in-secret";
const REGION: &str = "sa-east-1";

pub(super) fn router(journal: Arc<Journal>) -> Router {
    Router::new()
        .route("/v2/email/outbound-emails", post(send))
        .route("/v2/email/account", get(get_account))
        .with_state(journal)
}

async fn send(call: Call) -> Response {
    match check_signature(&call).and_then(|()| check_body(&call)) {
        Ok(()) => call.perform(accept).await,
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn get_account(call: Call) -> Response {
    match check_signature(&call) {
        Ok(()) => {
            let account = json!({"SendingEnabled": true, "ProductionAccessEnabled": true, "EnforcementStatus": "HEALTHY"});
            call.perform(|_, _| json(StatusCode::OK, account)).await
        }
        Err(refusal) => refuse(&call, &refusal),
    }
}

/// The parts of `AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`.
fn authorization_parts(call: &Call) -> Option<(&str, &str, &str)> {
    let rest = call.header("authorization")?.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let mut parts = rest.split(", ");
    let credential = parts.next()?.strip_prefix("Credential=")?;
    let headers = parts.next()?.strip_prefix("SignedHeaders=")?;
    let signature = parts.next()?.strip_prefix("Signature=")?;
    parts.next().is_none().then_some((credential, headers, signature))
}

fn check_signature(call: &Call) -> Result<(), Refusal> {
    let Some((credential, names, _)) = authorization_parts(call) else {
        return wrong("no header authorization of Signature Version 4");
    };
    let Some(time) = call
        .header("x-amz-date")
        .filter(|time| time.len() == 16 && time.ends_with('Z'))
    else {
        return wrong("no header x-amz-date of the form 20260131T120000Z");
    };
    let mut scope = credential.split('/');
    let key_id = scope.next().unwrap_or_default();
    let expected = [&time[..8], REGION, "ses", "aws4_request"];
    if !scope.eq(expected) {
        return wrong("the scope is not day, region, ses, aws4_request");
    }
    if !names.split(';').any(|name| name == "host") || !names.split(';').any(|name| name == "x-amz-date") {
        return wrong("host and x-amz-date are not signed");
    }
    // A wrong secret shows as another signature; it is the doing of a test, as another key is.
    if key_id == KEY_ID && is_signed(call) {
        Ok(())
    } else {
        Err(Refusal::Credential)
    }
}

/// Signs the request as AWS does, and compares. Recado writes its bodies from JSON values, so that this gives the same bytes.
fn is_signed(call: &Call) -> bool {
    let Some((credential, names, signature)) = authorization_parts(call) else {
        return false;
    };
    let lines: Vec<String> = names
        .split(';')
        .map(|name| format!("{name}:{}\n", call.header(name).unwrap_or_default().trim()))
        .collect();
    let lines = lines.concat();
    let request = &call.request;
    let body = match &request.body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let canonical = format!(
        "{}\n{}\n\n{lines}\n{names}\n{}",
        request.method,
        request.path,
        hash(&body)
    );
    let time = call.header("x-amz-date").unwrap_or_default();
    let scope = credential.split_once('/').map_or("", |(_, scope)| scope);
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hash(&canonical));
    let mut key = format!("AWS4{KEY_SECRET}").into_bytes();
    for part in scope.split('/') {
        key = hmac_sha256(&key, part.as_bytes()).to_vec();
    }
    hex::encode(hmac_sha256(&key, to_sign.as_bytes())) == signature
}

fn hash(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

fn check_body(call: &Call) -> Result<(), Refusal> {
    call.check_json()?;
    let body = &call.request.body;
    only(
        body,
        &[
            "ConfigurationSetName",
            "Content",
            "Destination",
            "EmailTags",
            "FromEmailAddress",
            "ReplyToAddresses",
        ],
    )?;
    let from = text(body, "FromEmailAddress", 320)?;
    if !from.is_ascii() {
        return wrong("FromEmailAddress is not in ASCII: a name beyond it must be encoded");
    }
    text_if(body, "ConfigurationSetName", 64)?;
    let destination = object(body, "Destination")?;
    only(destination, &["ToAddresses"])?;
    list(destination, "ToAddresses", 1, 50)?;
    let simple = object(object(body, "Content")?, "Simple")?;
    only(simple, &["Subject", "Body", "Headers"])?;
    check_data(simple, "Subject")?;
    let parts = object(simple, "Body")?;
    only(parts, &["Text", "Html"])?;
    check_data(parts, "Text")?;
    if parts.get("Html").is_some() {
        check_data(parts, "Html")?;
    }
    if simple.get("Headers").is_some() {
        for header in list(simple, "Headers", 1, 15)? {
            only(header, &["Name", "Value"])?;
            text(header, "Name", 126)?;
            text(header, "Value", 870)?;
        }
    }
    for tag in list(body, "EmailTags", 1, 50)? {
        let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let is_fine = text(tag, "Name", 256)?.bytes().all(fine) && text(tag, "Value", 256)?.bytes().all(fine);
        if !is_fine {
            return wrong("EmailTags holds other characters than letters, digits, - and _");
        }
    }
    Ok(())
}

fn check_data(of: &Value, field: &str) -> Result<(), Refusal> {
    let content = object(of, field)?;
    only(content, &["Data", "Charset"])?;
    text(content, "Data", 1_000_000)?;
    match content["Charset"].as_str() {
        Some("UTF-8") => Ok(()),
        // Without it, SES takes seven bits alone.
        _ => wrong(format!("{field} has no charset")),
    }
}

fn accept(journal: &Journal, request: &Recorded) -> Response {
    let id = format!("0103{}-000000", fresh());
    let text_at = |pointer: &str| {
        let found = request.body.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let sent = Delivered {
        content: request.body.clone(),
        id: id.clone(),
        callback: Some(text_at("/EmailTags/0/Value")),
        ..Delivered::new(
            &text_at("/FromEmailAddress"),
            &text_at("/Destination/ToAddresses/0"),
            &text_at("/Content/Simple/Subject/Data"),
            request.at,
        )
    };
    journal.deliver(sent);
    json(StatusCode::OK, json!({"MessageId": id}))
}

fn refuse(call: &Call, refusal: &Refusal) -> Response {
    let (status, kind, what) = match refusal {
        Refusal::Credential => (
            StatusCode::FORBIDDEN,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        Refusal::Wrong(what) => {
            call.violate(what);
            (StatusCode::BAD_REQUEST, "BadRequestException", what.as_str())
        }
    };
    let mut answer = json(status, json!({"message": what})).into_response();
    let name = axum::http::HeaderName::from_static("x-amzn-errortype");
    answer
        .headers_mut()
        .insert(name, axum::http::HeaderValue::from_static(kind));
    answer
}
