//! Sets an instance's webhook through Evolution's API and reads the instance's state.

use super::events::{OPTIONAL_EVENTS, REQUIRED_EVENTS};
use crate::admin_request::{AdminRequestError, AdminResponse, send_admin_request};
use crate::connect::ConnectError;
use crate::target::OnboardingTarget;
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use recado_whatsapp::wire::http_exchange::build_url;
use recado_whatsapp::wire::json::{get_text, list_members};
use reqwest::{Client, Method};
use serde_json::{Map, Value, json};

/// A client of Evolution's administration API for one instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvolutionAdminClient<'a> {
    /// HTTP client that follows no redirects, because a redirect would carry the key to another host.
    pub(crate) http: &'a Client,
    /// Base URL of Evolution.
    pub(crate) base: &'a str,
    /// Installation's API key, or the instance's token.
    pub(crate) key: &'a Secret,
    /// Name of the instance in Evolution.
    pub(crate) instance: &'a ExternalId,
    /// Major version of Evolution.
    pub(crate) version: u8,
}

/// The method by which an instance's webhooks prove that they are authentic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WebhookAuthMethod {
    /// Secret in the header `apikey`.
    Header,
    /// Token that is signed with the secret (`jwt_key`); the secret itself is not sent. Needs version 2.3 or later.
    Token,
    /// Secret in the URL, for version 1, which cannot set headers.
    Url,
}

/// A webhook configuration as Recado wants it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DesiredWebhook<'a> {
    /// Webhook URL; with [`WebhookAuthMethod::Url`] it contains the secret.
    pub(crate) url: &'a str,
    /// Webhook secret of the instance.
    pub(crate) secret: &'a Secret,
    /// Method by which the webhooks prove that they are authentic.
    pub(crate) auth_method: WebhookAuthMethod,
    /// `true` if webhook bodies should contain files as base64.
    pub(crate) base64: bool,
    /// Events beside those that each instance has.
    pub(crate) extra_events: &'a [&'static str],
}

/// A webhook configuration as it is set in Evolution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConfiguredWebhook {
    /// `true` if webhooks are switched on.
    pub(crate) enabled: bool,
    /// Webhook URL.
    pub(crate) url: String,
    /// Names of the events that are sent, in Evolution's upper case.
    pub(crate) events: Vec<String>,
    /// `true` if each event has its own URL.
    pub(crate) by_events: bool,
    /// `true` if webhook bodies contain files as base64.
    pub(crate) base64: bool,
    /// Headers of the webhook requests; version 1 has none.
    pub(crate) headers: Map<String, Value>,
}

/// The state of an instance's connection to WhatsApp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PairingState {
    /// Connected.
    Open,
    /// Being connected, for the first time or again.
    Connecting,
    /// Disconnected; Evolution does not reconnect by itself.
    Closed,
    /// Unknown: Evolution does not report a state, for example just after a restart.
    Unclear,
}

/// The codes with which a phone is paired.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PairingCodes {
    /// Content of the QR code.
    pub(crate) code: Option<String>,
    /// Pairing code of eight characters, if a phone number was given when the instance was created.
    pub(crate) pairing_code: Option<String>,
}

impl<'a> EvolutionAdminClient<'a> {
    /// Creates a client for the target's instance; `None` if neither the instance nor the installation has a base URL.
    pub(crate) fn for_target(
        subject: &OnboardingTarget<'a>,
        key: &'a Secret,
        instance: &'a ExternalId,
    ) -> Option<Self> {
        let base = subject.instance.base_url.as_ref();
        Some(Self {
            http: subject.http,
            base: base.or(subject.config.evolution_base_url.as_ref())?,
            key,
            instance,
            version: subject.instance.api_version,
        })
    }

    /// Creates a client as [`Self::for_target`] does. The error names what the instance lacks.
    pub(crate) fn require_for_target(
        subject: &OnboardingTarget<'a>,
        key: &'a Secret,
        instance: Option<&'a ExternalId>,
    ) -> Result<Self, ConnectError> {
        let instance = instance.ok_or(ConnectError::Missing("the instance has no name"))?;
        Self::for_target(subject, key, instance).ok_or(ConnectError::Missing(
            "no base URL: set EVOLUTION_API_URL here, or base_url of the instance",
        ))
    }
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
        let answer = send_admin_request(match body {
            Some(body) => request.json(body),
            None => request,
        });
        answer.await.map_err(|error| self.add_base_url_hint(error))
    }

    /// Adds a hint to "not found" if the base URL is that of Evolution's page for people. A browser shows that page.
    fn add_base_url_hint(&self, error: AdminRequestError) -> AdminRequestError {
        match error {
            AdminRequestError::NotFound { said } if self.base.trim_end_matches('/').ends_with("/manager") => {
                AdminRequestError::NotFound {
                    said: format!(
                        "{said}. The base URL ends in /manager, Evolution's page for people: leave that out"
                    ),
                }
            }
            error => error,
        }
    }

    /// Puts back a webhook as [`Self::find_webhook`] found it; `None` switches the webhook off.
    pub(crate) async fn restore_webhook(
        &self,
        before: Option<&ConfiguredWebhook>,
    ) -> Result<(), AdminRequestError> {
        let off = ConfiguredWebhook::default();
        let body = build_restored_body(self.version, before.unwrap_or(&off));
        let path = ["webhook", "set"];
        self.call_api(Method::POST, path, Some(&body)).await.map(drop)
    }

    /// Sets the webhook (`POST webhook/set`) with all events that Recado uses and this version has. A configuration that
    /// is refused with 400 is sent again with the required and the chosen events only.
    pub(crate) async fn set_webhook(&self, wanted: &DesiredWebhook<'_>) -> Result<(), AdminRequestError> {
        let needed = || {
            REQUIRED_EVENTS
                .into_iter()
                .chain(wanted.extra_events.iter().copied())
        };
        let all: Vec<&str> = needed().chain(OPTIONAL_EVENTS).collect();
        let set = |events: Vec<&str>| build_webhook_body(self.version, wanted, &events);
        let path = ["webhook", "set"];
        let answer = match self.call_api(Method::POST, path, Some(&set(all))).await {
            Err(AdminRequestError::Failed { status: 400, .. }) => {
                self.call_api(Method::POST, path, Some(&set(needed().collect())))
                    .await?
            }
            set => set?,
        };
        if answer.body.is_object() {
            return Ok(());
        }
        // A web page, for example: another program is there.
        Err(AdminRequestError::Failed {
            status: 200,
            said: "the answer is not Evolution API's: is its URL right?".to_owned(),
        })
    }

    /// Reads the webhook (`GET webhook/find`); `None` if no webhook was ever set.
    pub(crate) async fn find_webhook(&self) -> Result<Option<ConfiguredWebhook>, AdminRequestError> {
        let said = match self.call_api(Method::GET, ["webhook", "find"], None).await {
            // Version 1 answers 404 if no webhook was set.
            Err(AdminRequestError::NotFound { .. }) => return Ok(None),
            said => said?,
        };
        Ok(parse_webhook(&said.body))
    }

    /// Reads the connection state. The answer is returned too, because it holds Evolution's clock.
    pub(crate) async fn fetch_connection_state(
        &self,
    ) -> Result<(PairingState, AdminResponse), AdminRequestError> {
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

    /// Starts pairing (`GET instance/connect`) and returns the codes for the phone.
    pub(crate) async fn start_pairing(&self) -> Result<PairingCodes, AdminRequestError> {
        let body = self
            .call_api(Method::GET, ["instance", "connect"], None)
            .await?
            .body;
        if body["error"] == true {
            // Evolution answers 200 here even if the call failed.
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
    /// Lists the differences from `wanted` in words; empty if there are none.
    pub(crate) fn list_differences(&self, wanted: &DesiredWebhook<'_>) -> Vec<String> {
        let mut wrong = Vec::new();
        if !self.enabled {
            wrong.push("it is switched off".to_owned());
        }
        // A slash at the end counts: it makes another route, which does not exist.
        if self.url != wanted.url {
            // The URL may contain a secret, so only its beginning is shown.
            let plain = self.url.split("/k/").next().unwrap_or_default();
            wrong.push(format!("it goes to {plain}"));
        }
        let missing: Vec<&str> = REQUIRED_EVENTS
            .into_iter()
            .chain(wanted.extra_events.iter().copied())
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

/// Returns the body that sets a webhook as it was found.
fn build_restored_body(version: u8, before: &ConfiguredWebhook) -> Value {
    let ConfiguredWebhook {
        enabled,
        url,
        events,
        by_events,
        base64,
        headers,
    } = before;
    if version == 1 {
        return json!({ "url": url, "enabled": enabled, "webhook_by_events": by_events,
            "webhook_base64": base64, "events": events });
    }
    json!({ "webhook": { "enabled": enabled, "url": url, "headers": headers, "byEvents": by_events,
        "base64": base64, "events": events } })
}

/// Reads the webhook row of version 2 (`webhookByEvents`), of version 1 (`webhook_by_events`), or the bare
/// configuration.
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
