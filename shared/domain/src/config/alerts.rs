//! The configuration of alerts: the thresholds, and the destinations that are told.

use super::{ConfigDocument, ConfigError, CredentialRef, EntryRef};
use crate::alert::{Alert, AlertKind, AlertSeverity};
use crate::content::MessageTemplate;
use crate::ids::{InstanceId, TenantId};
use crate::web_url::{HostScope, WebUrl};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Greatest number of destinations. Their notifications are stored in one transaction with the alerts.
const DESTINATIONS_MAX: usize = 10;

/// Greatest free space that may be asked for: a petabyte, in megabytes.
const DISK_FREE_MAX: u64 = 1_000_000_000;

/// Thresholds of the alerts, and their destinations. What is left out has its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AlertConfig {
    /// Kinds of alerts that are switched off.
    pub off: Vec<AlertKind>,
    /// Number of waiting messages above which a warning is told.
    pub depth_warning: u64,
    /// Number of waiting messages above which it is critical.
    pub depth_critical: u64,
    /// Time for which as many must wait, in minutes.
    #[cfg_attr(feature = "schema", schema(maximum = 1440))]
    pub depth_minutes: u32,
    /// Time after which an instance that is not connected is a warning, in minutes.
    #[cfg_attr(feature = "schema", schema(maximum = 1440))]
    pub disconnected_warning_minutes: u32,
    /// Time after which it is critical, in minutes.
    #[cfg_attr(feature = "schema", schema(maximum = 1440))]
    pub disconnected_critical_minutes: u32,
    /// Number of dead letters above which a warning is told.
    #[cfg_attr(feature = "schema", schema(maximum = 1000))]
    pub dead_letters_warning: u64,
    /// Number of dead letters above which it is critical.
    #[cfg_attr(feature = "schema", schema(maximum = 1000))]
    pub dead_letters_critical: u64,
    /// Messages a second below which processing is too slow while messages wait.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 1000))]
    pub rate_per_second: f64,
    /// Time for which processing must be too slow, in minutes.
    #[cfg_attr(feature = "schema", schema(maximum = 1440))]
    pub rate_minutes: u32,
    /// Time without a look at the installation after which Recado counts as not running, in minutes.
    #[cfg_attr(feature = "schema", schema(minimum = 2, maximum = 1440))]
    pub heartbeat_minutes: u32,
    /// Time for which a customer may wait for a person, in minutes.
    #[cfg_attr(feature = "schema", schema(maximum = 1440))]
    pub customer_wait_minutes: u32,
    /// Space that must be free on the disk of the data folder, in megabytes.
    #[cfg_attr(feature = "schema", schema(maximum = 1_000_000_000))]
    pub disk_free_megabytes: u64,
    /// Destinations that are told, 10 at most.
    pub destinations: Vec<AlertDestination>,
}

impl Default for AlertConfig {
    fn default() -> Self {
        Self {
            off: Vec::new(),
            depth_warning: 100,
            depth_critical: 1000,
            depth_minutes: 5,
            disconnected_warning_minutes: 2,
            disconnected_critical_minutes: 10,
            dead_letters_warning: 10,
            dead_letters_critical: 50,
            rate_per_second: 0.5,
            rate_minutes: 5,
            heartbeat_minutes: 5,
            customer_wait_minutes: 60,
            disk_free_megabytes: 500,
            destinations: Vec::new(),
        }
    }
}

/// A destination of notifications. Exactly one of `webhook`, `whatsapp` and `email` is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AlertDestination {
    /// Name of the destination: letters, digits and `-`.
    #[cfg_attr(feature = "schema", schema(example = "pager"))]
    pub id: String,
    /// Lowest severity that is told there.
    #[serde(default = "lowest_severity")]
    pub severity: AlertSeverity,
    /// The only tenant whose alerts are told there. If absent, all alerts are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Request to a URL, signed as Standard Webhooks defines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookDestination>,
    /// Message to a WhatsApp number, through an instance of this installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whatsapp: Option<WhatsAppDestination>,
    /// E-mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<EmailDestination>,
}

fn lowest_severity() -> AlertSeverity {
    AlertSeverity::Warning
}

/// A URL that is told by signed requests, as Standard Webhooks defines them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WebhookDestination {
    /// The URL: https, or http on this machine.
    pub url: String,
    /// Reference to the secret with which requests are signed, `env:RECADO_ALERT_NAME` or `ssm:…/alerts/name`. The secret is `whsec_`
    /// and base64.
    pub secret: CredentialRef,
}

/// A WhatsApp number that is told through an instance of Recado.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WhatsAppDestination {
    /// The instance that sends. Alerts about this instance are not told by it.
    pub instance: InstanceId,
    /// The number, with its country code.
    pub to: String,
    /// The template to send, with one parameter: the text. Providers with a service window need one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<MessageTemplate>,
}

impl WhatsAppDestination {
    /// Returns the template with `line` as its only value; `None` if the destination has no template.
    pub fn fill_template(&self, line: &str) -> Option<MessageTemplate> {
        let mut template = self.template.clone()?;
        if template.components.is_empty() {
            let parameters = serde_json::json!([{"type": "text", "text": line}]);
            template.components = vec![serde_json::json!({"type": "body", "parameters": parameters})];
        }
        Some(template)
    }
}

/// Addresses that are told by e-mail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EmailDestination {
    /// The server: `smtps://host` (TLS) or `smtp://host` (STARTTLS; without TLS only on this machine), with a port if it
    /// is not the usual one.
    pub server: String,
    /// Name with which Recado logs in at the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Reference to the password, as the secret of a webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<CredentialRef>,
    /// Address of the sender.
    pub from: String,
    /// Addresses of the recipients, 20 at most.
    pub to: Vec<String>,
}

/// The way in which a destination is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DestinationChannel<'a> {
    /// By a request to a URL.
    Webhook(&'a WebhookDestination),
    /// By a WhatsApp message.
    WhatsApp(&'a WhatsAppDestination),
    /// By e-mail.
    Email(&'a EmailDestination),
}

impl AlertDestination {
    /// Returns the way in which the destination is told; `None` unless exactly one is configured.
    pub fn channel(&self) -> Option<DestinationChannel<'_>> {
        match (&self.webhook, &self.whatsapp, &self.email) {
            (Some(webhook), None, None) => Some(DestinationChannel::Webhook(webhook)),
            (None, Some(whatsapp), None) => Some(DestinationChannel::WhatsApp(whatsapp)),
            (None, None, Some(email)) => Some(DestinationChannel::Email(email)),
            _ => None,
        }
    }

    /// Returns `true` if `alert` is told to this destination. No instance is told to send an alert about itself.
    pub fn accepts_alert(&self, alert: &Alert) -> bool {
        let sender = self.whatsapp.as_ref().map(|whatsapp| &whatsapp.instance);
        let about_sender = sender.is_some() && sender == alert.subject.instance.as_ref();
        alert.severity >= self.severity
            && (self.tenant.is_none() || self.tenant == alert.subject.tenant)
            && !about_sender
    }

    fn validate_destination(&self, all: &ConfigDocument) -> Result<(), ConfigError> {
        let of = format!("alerts: destination `{}`", self.id);
        let refuse = |what| Err(ConfigError::of(&of, what));
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if self.id.is_empty() || self.id.len() > 50 || !self.id.chars().all(fine) {
            return refuse("its id must be 1 to 50 letters, digits and `-`");
        }
        let known = |tenant: &TenantId| all.tenants.iter().any(|known| known.id == *tenant);
        if let Some(tenant) = self.tenant.as_ref().filter(|tenant| !known(tenant)) {
            return Err(ConfigError::missing(of, &EntryRef::Tenant(tenant.clone())));
        }
        let problem = match self.channel() {
            None => Some("exactly one of webhook, whatsapp and email must be set"),
            Some(DestinationChannel::Webhook(webhook)) => webhook.find_problem(),
            Some(DestinationChannel::Email(email)) => email.find_problem(),
            Some(DestinationChannel::WhatsApp(whatsapp)) => {
                if !all.instances.iter().any(|known| known.id == whatsapp.instance) {
                    let instance = EntryRef::Instance(whatsapp.instance.clone());
                    return Err(ConfigError::missing(of, &instance));
                }
                let digits = whatsapp.to.chars().filter(char::is_ascii_digit).count();
                (!(8..=15).contains(&digits)).then_some("`to` must be a phone number with its country code")
            }
        };
        problem.map_or(Ok(()), refuse)
    }
}

/// The problem of a secret that is not one of alerts.
const FOREIGN_SECRET: &str = "a secret must be `env:RECADO_ALERT_NAME` or `ssm:…/alerts/name`";

impl WebhookDestination {
    fn find_problem(&self) -> Option<&'static str> {
        let is_allowed = WebUrl::parse(&self.url).is_some_and(|url| match url.scope {
            HostScope::LinkLocal => false,
            HostScope::Loopback => true,
            HostScope::Private | HostScope::Public => url.https,
        });
        if !is_allowed {
            return Some("its url must begin with https:// (http:// only on this machine)");
        }
        (!self.secret.belongs_to_alerts()).then_some(FOREIGN_SECRET)
    }
}

impl EmailDestination {
    fn find_problem(&self) -> Option<&'static str> {
        let is_address = |text: &String| {
            text.split_once('@')
                .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
                && !text.chars().any(char::is_control)
        };
        if self.server_parts().is_none() {
            return Some("its server must be smtps://host or smtp://host, with a port if needed");
        }
        if self.to.is_empty() || self.to.len() > 20 || !self.to.iter().chain([&self.from]).all(is_address) {
            return Some("`from` and `to` must be e-mail addresses, 1 to 20 in `to`");
        }
        if self.user.is_some() != self.password.is_some() {
            return Some("user and password belong together");
        }
        let foreign = |secret: &CredentialRef| !secret.belongs_to_alerts();
        self.password
            .as_ref()
            .is_some_and(foreign)
            .then_some(FOREIGN_SECRET)
    }

    /// Returns the parts of the server's URL; `None` if it is not one.
    pub fn server_parts(&self) -> Option<ServerParts<'_>> {
        parse_mail_server(&self.server)
    }
}

/// Returns the parts of a mail server's URL, `smtps://host` or `smtp://host`, with a port if needed. `None`: it is not such a
/// URL.
pub fn parse_mail_server(url: &str) -> Option<ServerParts<'_>> {
    let (tls, rest) = match url.split_once("://")? {
        ("smtps", rest) => (true, rest),
        ("smtp", rest) => (false, rest),
        _ => return None,
    };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (rest, None),
    };
    let fine = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let valid = !host.is_empty() && host.chars().all(fine);
    let is_loopback = |host: &str| host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_local = host == "localhost" || is_loopback(host);
    valid.then_some(ServerParts {
        host,
        port,
        tls,
        is_local,
    })
}

/// The parts of a mail server's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerParts<'a> {
    /// Name or address of the host.
    pub host: &'a str,
    /// Port; `None` for the usual one.
    pub port: Option<u16>,
    /// `true` if the connection begins with TLS; `false` if it must be changed to TLS by STARTTLS.
    pub tls: bool,
    /// `true` for this machine, to which TLS is not needed.
    pub is_local: bool,
}

impl AlertConfig {
    /// Returns the destination with this id.
    pub fn find_destination(&self, id: &str) -> Option<&AlertDestination> {
        self.destinations.iter().find(|destination| destination.id == id)
    }

    /// Checks the values, and the references to tenants and instances of `all`.
    pub(super) fn validate_alerts(&self, all: &ConfigDocument) -> Result<(), ConfigError> {
        let refuse = |what| Err(ConfigError::of("alerts", what));
        if !(0.0..=1000.0).contains(&self.rate_per_second) {
            return refuse("rate_per_second must be between 0 and 1000");
        }
        let day = 1440;
        let minutes = [
            self.depth_minutes,
            self.disconnected_warning_minutes,
            self.disconnected_critical_minutes,
            self.rate_minutes,
            self.customer_wait_minutes,
        ];
        if minutes.iter().any(|minutes| *minutes > day) || !(2..=day).contains(&self.heartbeat_minutes) {
            return refuse("minutes must be at most 1440, and heartbeat_minutes at least 2");
        }
        if self.disk_free_megabytes > DISK_FREE_MAX {
            return refuse("disk_free_megabytes must be at most 1000000000");
        }
        // Dead letters are counted up to the threshold, every minute.
        if self.dead_letters_warning.max(self.dead_letters_critical) > 1000 {
            return refuse("the thresholds of dead letters must be at most 1000");
        }
        if self.destinations.len() > DESTINATIONS_MAX {
            return refuse("there may be 10 destinations at most");
        }
        let mut seen = BTreeSet::new();
        for destination in &self.destinations {
            if !seen.insert(&destination.id) {
                return Err(ConfigError::declared_twice("destination", &destination.id));
            }
            destination.validate_destination(all)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
