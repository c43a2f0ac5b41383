//! Amazon SES, version 2 of its API (<https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html>).
//!
//! Two requests are needed, and the program for one machine contains no crate of AWS. So they are made and signed here, in place of
//! the SDK's 110 operations; a test compares each signature with that of AWS's own crate.

mod signature;

use crate::EmailClients;
use crate::answer::{CarrierAnswer, make_request_once};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use recado_domain::config::EmailSender;
use recado_domain::email::{Email, Mailbox};
use recado_ports::ports::{EmailError, Secrets};
use reqwest::{Method, RequestBuilder, Url};
use serde_json::{Value, json};
pub(crate) use signature::{AccessKey, SignedRequest, sign_request};
use std::time::Duration;

/// Pause after a quota was used up.
const QUOTA_PAUSE: Duration = Duration::from_secs(60 * 60);

/// Most bytes of a name in one encoded word (RFC 2047: 75 characters in all).
const ENCODED_WORD_BYTES: usize = 42;

impl<S: Secrets> EmailClients<S> {
    /// Gives an e-mail to Amazon SES. Returns its id there.
    pub(crate) async fn send_by_ses(
        &self,
        sender: &EmailSender,
        email: &Email,
    ) -> Result<String, EmailError> {
        let body = write_email_as_json(sender, email).to_string();
        let request = self
            .request_ses(sender, Method::POST, "/v2/email/outbound-emails", body)
            .await?;
        let answer = make_request_once(request, self.timeout).await?;
        if !answer.status.is_success() {
            return Err(read_refusal(&answer));
        }
        let unreadable = || EmailError::Unknown("the answer holds no id".to_owned());
        answer
            .read_text_field("MessageId")
            .map(str::to_owned)
            .ok_or_else(unreadable)
    }

    /// Checks the key of a sender by asking for its account.
    pub(crate) async fn check_ses(&self, sender: &EmailSender) -> Result<String, EmailError> {
        let request = self
            .request_ses(sender, Method::GET, "/v2/email/account", String::new())
            .await?;
        let answer = make_request_once(request, self.timeout).await?;
        if answer.status.is_success() {
            return judge_account_state(&answer.body);
        }
        if error_name(&answer) == "AccessDeniedException" {
            return Ok(
                "the key is valid and may not ask for the account, so nothing else was checked".to_owned(),
            );
        }
        Err(read_refusal(&answer))
    }

    async fn request_ses(
        &self,
        sender: &EmailSender,
        method: Method,
        path: &'static str,
        body: String,
    ) -> Result<RequestBuilder, EmailError> {
        let not_ready = |what: &str| EmailError::SenderNotReady(what.to_owned());
        let region = sender
            .region
            .as_deref()
            .ok_or_else(|| not_ready("it names no region"))?;
        let credential = self.require_credential(sender).await?;
        let key = AccessKey::parse(&credential).ok_or_else(|| {
            EmailError::NeedsCredentials(
                "the credential is no `{access key id}:{secret access key}`".to_owned(),
            )
        })?;
        let base = self
            .carriers
            .ses
            .clone()
            .unwrap_or_else(|| endpoint_of_region(region));
        let url = Url::parse(&format!("{base}{path}")).map_err(|_| not_ready("its address is none"))?;
        let signed = sign_request(
            &key,
            region,
            Timestamp::now(),
            &SignedRequest {
                method: method.as_str(),
                host: host_with_port(&url).as_str(),
                path,
                body: body.as_bytes(),
            },
        );
        let mut request = self
            .http
            .request(method, url)
            .header("content-type", "application/json");
        for (name, value) in signed {
            request = request.header(name, value);
        }
        Ok(request.body(body))
    }
}

fn endpoint_of_region(region: &str) -> String {
    let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://email.{region}.amazonaws.com{suffix}")
}

/// Returns the host as the HTTP client writes it into the header.
fn host_with_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn write_email_as_json(sender: &EmailSender, email: &Email) -> Value {
    let text = |data: &str| json!({"Data": data, "Charset": "UTF-8"});
    let mut simple = json!({
        "Subject": text(&email.subject),
        "Body": {"Text": text(&email.text)},
    });
    if let Some(html) = &email.html {
        simple["Body"]["Html"] = text(html);
    }
    let headers: Vec<Value> = email
        .unsubscribe_headers()
        .into_iter()
        .map(|(name, value)| json!({"Name": name, "Value": value}))
        .collect();
    if !headers.is_empty() {
        simple["Headers"] = json!(headers);
    }
    let mut body = json!({
        "FromEmailAddress": write_sender_mailbox(&email.from),
        "Destination": {"ToAddresses": [email.to.as_str()]},
        "Content": {"Simple": simple},
        "EmailTags": [{"Name": "recado-id", "Value": email.id}],
    });
    if let Some(reply_to) = &email.reply_to {
        body["ReplyToAddresses"] = json!([write_sender_mailbox(reply_to)]);
    }
    if let Some(set) = &sender.configuration_set {
        body["ConfigurationSetName"] = json!(set);
    }
    body
}

/// Writes an address with its name as SES takes it: a name beyond ASCII in encoded words.
fn write_sender_mailbox(mailbox: &Mailbox) -> String {
    match &mailbox.name {
        Some(name) if !name.is_ascii() => format!("{} <{}>", encode_name_as_words(name), mailbox.address),
        _ => mailbox.to_string(),
    }
}

/// Encodes a name as words of base64 (RFC 2047), none longer than 75 characters and none with half a character.
fn encode_name_as_words(name: &str) -> String {
    let mut words: Vec<String> = vec![String::new()];
    for c in name.chars() {
        let is_full = words
            .last()
            .is_some_and(|word| word.len() + c.len_utf8() > ENCODED_WORD_BYTES);
        if is_full {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    let encoded: Vec<String> = words
        .iter()
        .map(|word| format!("=?UTF-8?B?{}?=", STANDARD.encode(word)))
        .collect();
    encoded.join(" ")
}

fn judge_account_state(body: &Value) -> Result<String, EmailError> {
    if body["SendingEnabled"] == json!(false) {
        return Err(EmailError::SenderNotReady(
            "sending is paused for this account of Amazon SES".to_owned(),
        ));
    }
    if body["ProductionAccessEnabled"] == json!(false) {
        return Ok(
            "the key is valid; the account is in the sandbox, which sends to verified addresses alone"
                .to_owned(),
        );
    }
    Ok("the key is valid and the account sends".to_owned())
}

/// Returns the name of an error, from the header or the body, without what may stand before or behind it.
fn error_name(answer: &CarrierAnswer) -> String {
    let header = answer.error_header.as_deref();
    let told = header
        .or_else(|| answer.read_text_field("__type"))
        .or_else(|| answer.read_text_field("code"))
        .unwrap_or("no reason given");
    let name = told.split(':').next().unwrap_or_default();
    let name = name.rsplit('#').next().unwrap_or_default();
    let fine = |c: &char| c.is_ascii_alphanumeric() || *c == ' ';
    name.chars().filter(fine).take(60).collect()
}

/// Tells what a refusal means.
fn read_refusal(answer: &CarrierAnswer) -> EmailError {
    let name = error_name(answer);
    let told = format!("Amazon SES answers {} ({name})", answer.status.as_u16());
    let said = answer
        .read_text_field("message")
        .or_else(|| answer.read_text_field("Message"))
        .unwrap_or_default();
    match (answer.status.as_u16(), name.as_str()) {
        (429, _) | (400, "Throttling" | "ThrottlingException" | "TooManyRequestsException") => {
            answer.describe_throttling(told)
        }
        (_, "LimitExceededException") => answer.describe_pause(&told, QUOTA_PAUSE),
        (
            _,
            "MailFromDomainNotVerifiedException" | "AccountSuspendedException" | "SendingPausedException",
        ) => EmailError::SenderNotReady(told),
        (_, "MessageRejected") if said.contains("not verified") => EmailError::SenderNotReady(told),
        (401 | 403, _) => EmailError::NeedsCredentials(told),
        (400..=499, _) => EmailError::Refused(told),
        _ => EmailError::Unknown(told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_beyond_ascii_stands_in_encoded_words() {
        let name = "Clínica São João da Boa Vista — Centro de Saúde e Bem-Estar ✉";
        let encoded = encode_name_as_words(name);
        let mut decoded = String::new();
        for word in encoded.split(' ') {
            assert!(word.len() <= 75, "{word}");
            let inner = word
                .strip_prefix("=?UTF-8?B?")
                .unwrap()
                .strip_suffix("?=")
                .unwrap();
            decoded.push_str(std::str::from_utf8(&STANDARD.decode(inner).unwrap()).unwrap());
        }
        assert_eq!(decoded, name);
        let plain = Mailbox::parse("Clinic, Centro <a@b.example>").unwrap();
        assert_eq!(write_sender_mailbox(&plain), "\"Clinic, Centro\" <a@b.example>");
    }

    #[test]
    fn the_address_of_a_region_is_that_of_its_partition() {
        assert_eq!(
            endpoint_of_region("sa-east-1"),
            "https://email.sa-east-1.amazonaws.com"
        );
        assert_eq!(
            endpoint_of_region("cn-north-1"),
            "https://email.cn-north-1.amazonaws.com.cn"
        );
    }
}
