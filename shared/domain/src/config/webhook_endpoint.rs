//! The endpoints of tenants to which published events are posted.

use super::CredentialRef;
use crate::ids::{TenantId, WebhookEndpointId};
use crate::published_event::{KindFilter, PublishedKind};
use crate::web_url::{HostScope, WebUrl};
use serde::{Deserialize, Serialize};

/// Greatest number of endpoints of a tenant.
pub const WEBHOOK_ENDPOINTS_MAX: usize = 10;

/// Longest URL, in characters.
const URL_MAX: usize = 2_000;

/// An endpoint of a tenant's own systems, which is told of published events by signed requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookEndpoint {
    /// The endpoint's id, unique within its tenant.
    pub id: WebhookEndpointId,
    /// The URL: https, or http to this machine or a private network, where the installation allows such hosts.
    pub url: String,
    /// The kinds of events that are posted: a kind, or a group (`message.*`). If absent, all are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindFilter>,
    /// Reference to the secret with which requests are signed: `whsec_` and base64.
    pub secret: CredentialRef,
    /// Reference to the secret before, with which requests are signed as well while receivers change to the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_secret: Option<CredentialRef>,
    /// `true` if nothing is posted. What happens meanwhile is posted later, as far as it is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

/// The reasons why an endpoint is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookEndpointError {
    /// The URL cannot be used.
    #[error("url must be https:// (http:// only to this machine or a private network), of at most 2000 characters")]
    Url,
    /// A secret is one of another tenant, or of the installation.
    #[error("its secrets must be {0}")]
    ForeignSecret(String),
}

impl WebhookEndpoint {
    /// Returns whether events of this kind are posted.
    pub fn wants_kind(&self, kind: PublishedKind) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|filter| filter.covers_kind(kind))
    }

    /// Checks the endpoint by itself, as one of `tenant`.
    pub fn check_endpoint(&self, tenant: &TenantId) -> Result<(), WebhookEndpointError> {
        let is_allowed = WebUrl::parse(&self.url).is_some_and(|url| match url.scope {
            HostScope::LinkLocal => false,
            HostScope::Loopback | HostScope::Private => true,
            HostScope::Public => url.https,
        });
        if !is_allowed || self.url.chars().count() > URL_MAX {
            return Err(WebhookEndpointError::Url);
        }
        let secrets = [Some(&self.secret), self.old_secret.as_ref()];
        let mut secrets = secrets.into_iter().flatten();
        if secrets.any(|secret| !secret.belongs_to_tenant(tenant)) {
            let allowed = CredentialRef::describe_allowed_for(tenant);
            return Err(WebhookEndpointError::ForeignSecret(allowed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn endpoint(url: &str, secret: &str) -> WebhookEndpoint {
        serde_json::from_value(json!({"id": "crm", "url": url, "secret": secret})).unwrap()
    }

    #[test]
    fn an_endpoint_is_asked_over_tls_unless_it_is_near() {
        let tenant = TenantId::parse("clinic").unwrap();
        let own = "env:RECADO_TENANT_CLINIC_HOOK";
        for url in ["https://crm.example.org/hook", "http://127.0.0.1:9/hook", "http://10.0.0.7/hook"] {
            assert_eq!(endpoint(url, own).check_endpoint(&tenant), Ok(()), "{url}");
        }
        for url in ["http://crm.example.org/hook", "ftp://crm.example.org", "https://169.254.169.254/", "crm", ""] {
            assert_eq!(endpoint(url, own).check_endpoint(&tenant), Err(WebhookEndpointError::Url), "{url}");
        }
        let foreign = endpoint("https://crm.example.org/hook", "env:RECADO_TENANT_OTHER_HOOK");
        assert!(matches!(foreign.check_endpoint(&tenant), Err(WebhookEndpointError::ForeignSecret(_))));
    }
}
