//! Sends messages through 360dialog: Meta's body with 360dialog's key, which also identifies the sending number.

use super::errors::classify_answer;
use crate::meta::send::{CloudNumber, judge_connection};
use crate::meta::templates::find_template;
use crate::wire::http_exchange::{HttpExchange, HttpResponse, build_url, send_request};
use crate::wire::template_lookup::TemplateLookup;
use recado_domain::content::MessageTemplate;
use recado_domain::secret::Secret;
use recado_ports::ports::{ConnectionAnswer, SendOutcome};
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use std::time::Duration;

/// Name of the HTTP header with the key.
pub(super) const KEY_HEADER: &str = "D360-API-KEY";

/// A sending number at 360dialog, with its key and base URL.
pub(crate) struct Dialog360Endpoint<'a> {
    pub(crate) http: &'a Client,
    pub(crate) base: &'a str,
    pub(crate) key: &'a Secret,
    pub(crate) timeout: Duration,
}

impl CloudNumber for Dialog360Endpoint<'_> {
    fn begin_request(&self, action: &str) -> Option<RequestBuilder> {
        let url = build_url(self.base, &[action])?;
        Some(self.http.post(url).header(KEY_HEADER, self.key.expose_secret()))
    }

    fn classify_answer(answer: &HttpResponse, attempt: u32) -> SendOutcome {
        classify_answer(answer, attempt)
    }

    fn request_timeout(&self) -> Duration {
        self.timeout
    }
}

/// Checks the key by reading the number's webhook. A 360dialog number has no connection that could be lost. Only a
/// refusal of the key or the account counts against it: a key that may not read the webhook (403, 404) may still send.
pub(crate) async fn fetch_connection(at: &Dialog360Endpoint<'_>) -> ConnectionAnswer {
    let Some(url) = build_url(at.base, &["v1", "configs", "webhook"]) else {
        return ConnectionAnswer::Unclear;
    };
    let request = at.http.get(url).header(KEY_HEADER, at.key.expose_secret());
    match send_request(request, at.timeout).await {
        HttpExchange::Response(answer) if matches!(answer.status, 403 | 404) => ConnectionAnswer::Open,
        exchange => judge_connection::<Dialog360Endpoint<'_>>(exchange),
    }
}

/// Reads a template of the number's account (`GET {base}/v1/configs/templates`).
pub(crate) async fn fetch_template(at: &Dialog360Endpoint<'_>, wanted: &MessageTemplate) -> TemplateLookup {
    let Some(mut url) = build_url(at.base, &["v1", "configs", "templates"]) else {
        return TemplateLookup::Unclear;
    };
    url.set_query(Some("limit=1000"));
    let request = at.http.get(url).header(KEY_HEADER, at.key.expose_secret());
    match send_request(request, at.timeout).await {
        HttpExchange::Response(answer) if answer.is_success() => {
            let rows = answer.body.get("waba_templates");
            let listed = rows.and_then(Value::as_array).map_or(0, Vec::len);
            let total = answer.body.get("total").and_then(Value::as_u64);
            find_template(rows, total.is_some_and(|total| total > listed as u64), wanted)
        }
        HttpExchange::Response(_) | HttpExchange::NotSent(_) | HttpExchange::ResponseLost { .. } => {
            TemplateLookup::Unclear
        }
    }
}
