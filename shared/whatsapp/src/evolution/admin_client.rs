//! Setting an instance's webhook, and asking how the instance is.

use crate::admin_request::{AdminRequestError, AdminResponse, send_admin_request};
use crate::http_exchange::build_url;
use crate::json::{get_text, list_members};
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use reqwest::{Client, Method};
use serde_json::{Map, Value, json};

/// An instance as whoever sets it up reaches it.
#[derive(Debug, Clone, Copy)]
pub struct EvolutionAdminClient<'a> {
    /// A client that follows no redirects: they would carry the key along.
    pub http: &'a Client,
    /// Evolution's base URL.
    pub base: &'a str,
    /// The installation's key, or the instance's token.
    pub key: &'a Secret,
    /// Its name there.
    pub instance: &'a ExternalId,
    /// Evolution's major version.
    pub version: u8,
}

/// How the webhooks of an instance prove themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookAuthMethod {
    /// The secret as the header `apikey`.
    Header,
    /// A token signed with the secret (`jwt_key`), which itself does not travel. From 2.3 on.
    Token,
    /// The secret in the URL: version 1 can set no headers.
    Url,
}

/// A webhook as it shall be.
#[derive(Debug, Clone, Copy)]
pub struct DesiredWebhook<'a> {
    /// Where to; with [`WebhookAuthMethod::Url`], the secret in it.
    pub url: &'a str,
    /// The instance's webhook secret.
    pub secret: &'a Secret,
    /// How it is shown.
    pub auth_method: WebhookAuthMethod,
    /// Whether files come along in the body.
    pub base64: bool,
}

/// A webhook as it is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredWebhook {
    /// Whether anything is sent.
    pub enabled: bool,
    /// Where to.
    pub url: String,
    /// What is sent, in Evolution's upper case.
    pub events: Vec<String>,
    /// Whether each event has a URL of its own.
    pub by_events: bool,
    /// Whether files come along.
    pub base64: bool,
    /// Its headers; version 1 has none.
    pub headers: Map<String, Value>,
}

/// What Recado cannot do without.
const REQUIRED_EVENTS: [&str; 3] = ["MESSAGES_UPSERT", "MESSAGES_UPDATE", "CONNECTION_UPDATE"];

/// What it takes as well, where the version knows it: an unknown name is refused.
const OPTIONAL_EVENTS: [&str; 2] = ["MESSAGES_EDITED", "MESSAGES_DELETE"];

/// How an instance is connected to WhatsApp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingState {
    /// It is.
    Open,
    /// It is not yet, or not again.
    Connecting,
    /// It is not, and will not be by itself.
    Closed,
    /// Evolution does not say (it has just been restarted).
    Unclear,
}

/// What there is to pair a phone with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairingCodes {
    /// What the QR code says.
    pub code: Option<String>,
    /// The code of eight characters, if a number was given at creation.
    pub pairing_code: Option<String>,
}

impl EvolutionAdminClient<'_> {
    async fn call_api(
        &self,
        method: Method,
        path: [&str; 2],
        body: Option<&Value>,
    ) -> Result<AdminResponse, AdminRequestError> {
        let [area, action] = path;
        let url =
            build_url(self.base, &[area, action, self.instance.as_str()]).ok_or(AdminRequestError::NotUrl)?;
        let request = self
            .http
            .request(method, url)
            .header("apikey", self.key.expose_secret());
        send_admin_request(match body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    /// Sets the webhook (`POST webhook/set`), with every event that Recado takes and this version knows.
    pub async fn set_webhook(&self, wanted: &DesiredWebhook<'_>) -> Result<(), AdminRequestError> {
        let all: Vec<&str> = REQUIRED_EVENTS.into_iter().chain(OPTIONAL_EVENTS).collect();
        let set = |events: Vec<&str>| build_webhook_body(self.version, wanted, &events);
        let path = ["webhook", "set"];
        match self.call_api(Method::POST, path, Some(&set(all))).await {
            Err(AdminRequestError::Failed { status: 400, .. }) => self
                .call_api(Method::POST, path, Some(&set(REQUIRED_EVENTS.to_vec())))
                .await
                .map(drop),
            set => set.map(drop),
        }
    }

    /// Reads the webhook (`GET webhook/find`); `None` if none was ever set.
    pub async fn find_webhook(&self) -> Result<Option<ConfiguredWebhook>, AdminRequestError> {
        let said = match self.call_api(Method::GET, ["webhook", "find"], None).await {
            // Version 1 has no row then, or says so.
            Err(AdminRequestError::NotFound { .. }) => return Ok(None),
            said => said?,
        };
        Ok(parse_webhook(&said.body))
    }

    /// Asks how it is connected; with that comes Evolution's clock.
    pub async fn fetch_connection_state(&self) -> Result<(PairingState, AdminResponse), AdminRequestError> {
        let said = self
            .call_api(Method::GET, ["instance", "connectionState"], None)
            .await?;
        let instance = said.body.get("instance").unwrap_or(&said.body);
        let paired = match get_text(instance, "state") {
            Some("open") => PairingState::Open,
            Some("connecting") => PairingState::Connecting,
            Some("close" | "closed" | "refused") => PairingState::Closed,
            _ => PairingState::Unclear,
        };
        Ok((paired, said))
    }

    /// Asks for something to pair a phone with (`GET instance/connect`), which begins the pairing.
    pub async fn start_pairing(&self) -> Result<PairingCodes, AdminRequestError> {
        let body = self
            .call_api(Method::GET, ["instance", "connect"], None)
            .await?
            .body;
        if body["error"] == true {
            // It answers 200 to say that it failed.
            let said = get_text(&body, "message").unwrap_or("it failed").to_owned();
            return Err(AdminRequestError::Failed { status: 200, said });
        }
        let own = |name: &str| get_text(&body, name).or_else(|| get_text(&body["qrcode"], name));
        Ok(PairingCodes {
            code: own("code").map(str::to_owned),
            pairing_code: own("pairingCode").map(str::to_owned),
        })
    }
}

impl ConfiguredWebhook {
    /// What is not as `wanted`, in words; empty if nothing.
    pub fn list_differences(&self, wanted: &DesiredWebhook<'_>) -> Vec<String> {
        let mut wrong = Vec::new();
        if !self.enabled {
            wrong.push("it is switched off".to_owned());
        }
        // A slash at the end counts: that is another route, which does not exist.
        if self.url != wanted.url {
            // The URL may hold a secret: only its beginning is told.
            let plain = self.url.split("/k/").next().unwrap_or_default();
            wrong.push(format!("it goes to {plain}"));
        }
        let missing: Vec<&str> = REQUIRED_EVENTS
            .into_iter()
            .filter(|event| !self.events.iter().any(|found| found == event))
            .collect();
        if !missing.is_empty() && !self.events.is_empty() {
            wrong.push(format!("events are missing: {}", missing.join(", ")));
        }
        let header = match wanted.auth_method {
            WebhookAuthMethod::Header => "apikey",
            WebhookAuthMethod::Token => "jwt_key",
            WebhookAuthMethod::Url => return wrong,
        };
        let shown = ["apikey", "jwt_key"]
            .into_iter()
            .filter_map(|name| self.headers.get(name)?.as_str())
            .any(|shown| wanted.secret.matches(shown));
        if !shown {
            wrong.push(format!("its header {header} is not the instance's secret"));
        }
        wrong
    }
}

fn build_webhook_body(version: u8, wanted: &DesiredWebhook<'_>, events: &[&str]) -> Value {
    if version == 1 {
        let known: Vec<&&str> = events
            .iter()
            .filter(|event| **event != "MESSAGES_EDITED")
            .collect();
        return json!({ "url": wanted.url, "enabled": true, "webhook_by_events": false,
            "webhook_base64": wanted.base64, "events": known });
    }
    let header = match wanted.auth_method {
        WebhookAuthMethod::Header => Some("apikey"),
        WebhookAuthMethod::Token => Some("jwt_key"),
        WebhookAuthMethod::Url => None,
    };
    let headers: Map<String, Value> = header
        .map(|name| (name.to_owned(), json!(wanted.secret.expose_secret())))
        .into_iter()
        .collect();
    json!({ "webhook": { "enabled": true, "url": wanted.url, "headers": headers, "byEvents": false,
        "base64": wanted.base64, "events": events } })
}

/// A row as version 2 answers it (`webhookByEvents`), version 1 (`webhook_by_events`), or the setting itself.
fn parse_webhook(body: &Value) -> Option<ConfiguredWebhook> {
    let row = body.get("webhook").filter(|row| row.is_object()).unwrap_or(body);
    let url = get_text(row, "url")?.to_owned();
    let flag = |names: [&str; 3]| names.iter().any(|name| row[*name] == true);
    let events = list_members(row.get("events"));
    Some(ConfiguredWebhook {
        enabled: row["enabled"] != false,
        url,
        events: events
            .iter()
            .filter_map(|e| Some(e.as_str()?.to_owned()))
            .collect(),
        by_events: flag(["webhookByEvents", "webhook_by_events", "byEvents"]),
        base64: flag(["webhookBase64", "webhook_base64", "base64"]),
        headers: row["headers"].as_object().cloned().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
