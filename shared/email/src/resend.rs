//! Resend: `POST /emails` (<https://resend.com/docs/api-reference/emails/send-email>).

use crate::EmailClients;
use crate::answer::{CarrierAnswer, make_request_once};
use recado_domain::config::EmailSender;
use recado_domain::email::Email;
use recado_domain::secret::Secret;
use recado_ports::ports::{EmailError, Secrets};
use reqwest::RequestBuilder;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Pause after a quota of days or months was used up.
const QUOTA_PAUSE: Duration = Duration::from_secs(60 * 60);

/// Pause while another request with the same id is under way.
const CONCURRENT_PAUSE: Duration = Duration::from_secs(5);

impl<S: Secrets> EmailClients<S> {
    /// Gives an e-mail to Resend. Returns its id there.
    pub(crate) async fn send_by_resend(
        &self,
        sender: &EmailSender,
        email: &Email,
    ) -> Result<String, EmailError> {
        let key = self.require_credential(sender).await?;
        let url = format!("{}/emails", self.carriers.resend);
        let request = add_bearer_token(self.http.post(url), &key)?
            .header("Idempotency-Key", &email.id)
            .json(&write_email_as_json(email));
        let answer = make_request_once(request, self.timeout).await?;
        if !answer.status.is_success() {
            return Err(read_refusal(&answer));
        }
        let unreadable = || EmailError::Unknown("the answer holds no id".to_owned());
        answer
            .read_text_field("id")
            .map(str::to_owned)
            .ok_or_else(unreadable)
    }

    /// Checks the key of a sender, and that its domain is verified, by the list of domains.
    pub(crate) async fn check_resend(&self, sender: &EmailSender) -> Result<String, EmailError> {
        let key = self.require_credential(sender).await?;
        let url = format!("{}/domains", self.carriers.resend);
        let answer = make_request_once(add_bearer_token(self.http.get(url), &key)?, self.timeout).await?;
        let host = sender.address().host();
        if answer.status.is_success() {
            return judge_domain_list(&answer.body, host);
        }
        if answer.read_text_field("name") == Some("restricted_api_key") {
            return Ok(format!(
                "the key is valid and may only send: whether {host} is verified was not asked"
            ));
        }
        Err(read_refusal(&answer))
    }
}

fn add_bearer_token(request: RequestBuilder, key: &Secret) -> Result<RequestBuilder, EmailError> {
    let value = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()));
    let mut value = value.map_err(|_| EmailError::NeedsCredentials("the key is no API key".to_owned()))?;
    value.set_sensitive(true);
    Ok(request.header(AUTHORIZATION, value))
}

fn write_email_as_json(email: &Email) -> Value {
    let mut body = json!({
        "from": email.from.to_string(),
        "to": [email.to.as_str()],
        "subject": email.subject,
        "text": email.text,
    });
    if let Some(html) = &email.html {
        body["html"] = json!(html);
    }
    if let Some(reply_to) = &email.reply_to {
        body["reply_to"] = json!(reply_to.to_string());
    }
    let headers: Map<String, Value> = email
        .unsubscribe_headers()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    if !headers.is_empty() {
        body["headers"] = Value::Object(headers);
    }
    body
}

/// Tells from the list of domains whether a sender of this host may send.
fn judge_domain_list(body: &Value, host: &str) -> Result<String, EmailError> {
    let domains = body.get("data").and_then(Value::as_array);
    let named = |domain: &&Value| domain["name"].as_str() == Some(host);
    match domains
        .into_iter()
        .flatten()
        .find(named)
        .map(|domain| &domain["status"])
    {
        Some(status) if status == "verified" => Ok(format!("the key is valid and {host} is verified")),
        Some(_) => Err(EmailError::SenderNotReady(format!(
            "{host} is not verified at Resend"
        ))),
        None => Err(EmailError::SenderNotReady(format!(
            "{host} is no domain of this account of Resend"
        ))),
    }
}

/// Tells what a refusal means (<https://resend.com/docs/api-reference/errors>).
fn read_refusal(answer: &CarrierAnswer) -> EmailError {
    let name = answer.read_text_field("name").unwrap_or("no reason given");
    let told = format!("Resend answers {} ({})", answer.status.as_u16(), shorten(name));
    match (answer.status.as_u16(), name) {
        (_, "missing_api_key" | "invalid_api_key" | "restricted_api_key" | "invalid_access") | (401, _) => {
            EmailError::NeedsCredentials(told)
        }
        // The domain of the sender is not verified, or the account may only send to itself.
        (403, _) => EmailError::SenderNotReady(told),
        (_, "daily_quota_exceeded" | "monthly_quota_exceeded") => answer.describe_pause(&told, QUOTA_PAUSE),
        (429, _) => answer.describe_throttling(told),
        (_, "concurrent_idempotent_requests") => answer.describe_pause(&told, CONCURRENT_PAUSE),
        // An e-mail with this id and another content may have been accepted.
        (409, _) => EmailError::Unknown(told),
        (400..=499, _) => EmailError::Refused(told),
        _ => EmailError::Unknown(told),
    }
}

/// Cuts a name that a server gave, and takes out what is no letter of such names.
fn shorten(name: &str) -> String {
    let fine = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '-');
    name.chars().filter(fine).take(60).collect()
}
