//! The endpoints of tenants to which published events are posted.

use super::check::check_unique_ids;
use super::{ConfigDocument, ConfigError, Tenant};
use crate::ids::WebhookEndpointId;
use crate::published_event::{KindFilter, PublishedKind};
use crate::web_url::{HostScope, WebUrl};
use serde::{Deserialize, Serialize};

/// Greatest number of endpoints of a tenant.
pub const WEBHOOK_ENDPOINTS_MAX: usize = 10;

/// Longest URL, in characters.
const URL_MAX: usize = 2_000;

/// An endpoint of a tenant's own systems, which is told of published events by signed requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(example = json!({"id": "crm", "url": "https://crm.example.org/recado", "kinds": ["message.*", "conversation.waiting"]})))]
#[serde(deny_unknown_fields)]
pub struct WebhookEndpoint {
    /// The endpoint's id, unique within its tenant.
    pub id: WebhookEndpointId,
    /// The URL: https, or http to this machine or a private network, where `RECADO_PRIVATE_TOOLS` allows such hosts.
    pub url: String,
    /// The kinds of events that are posted: a kind, or a group (`message.*`). If absent, all are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindFilter>,
    /// `true` if nothing is posted. What happens meanwhile is posted later, as far as it is kept.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

impl WebhookEndpoint {
    /// Returns whether events of this kind are posted.
    pub fn wants_kind(&self, kind: PublishedKind) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|filter| filter.covers_kind(kind))
    }

    /// Checks the endpoint by itself.
    fn check_endpoint(&self) -> Result<(), &'static str> {
        let is_allowed = WebUrl::parse(&self.url).is_some_and(|url| match url.scope {
            HostScope::LinkLocal => false,
            HostScope::Loopback | HostScope::Private => true,
            HostScope::Public => url.https,
        });
        let is_fine = is_allowed && self.url.chars().count() <= URL_MAX;
        is_fine.then_some(()).ok_or(
            "url must be https:// (http:// only to this machine or a private network), of at most 2000 characters",
        )
    }
}

impl Tenant {
    /// Returns the endpoints to which the tenant's events are posted.
    pub fn webhook_endpoints(&self) -> &[WebhookEndpoint] {
        self.webhooks.as_deref().unwrap_or_default()
    }

    /// Checks the endpoints to which events are posted.
    pub(super) fn check_webhooks(&self) -> Result<(), ConfigError> {
        let endpoints = self.webhook_endpoints();
        if endpoints.len() > WEBHOOK_ENDPOINTS_MAX {
            let of = format_args!("tenant `{}`", self.id);
            return Err(ConfigError::of(of, "webhooks holds at most 10 endpoints"));
        }
        let ids = endpoints.iter().map(|endpoint| endpoint.id.as_str());
        check_unique_ids("webhook endpoint", ids)?;
        for endpoint in endpoints {
            let of = format_args!("webhook endpoint `{}` of tenant `{}`", endpoint.id, self.id);
            let checked = endpoint.check_endpoint();
            checked.map_err(|why| ConfigError::of(of, why))?;
        }
        Ok(())
    }
}

impl ConfigDocument {
    /// Leaves the endpoints of each tenant as `known` has them where the document does not say. A document that names none
    /// (`webhooks = []`) removes them.
    pub fn keep_webhook_endpoints(&mut self, known: &ConfigDocument) {
        for tenant in &mut self.tenants {
            if tenant.webhooks.is_none() {
                let stored = known.tenants.iter().find(|known| known.id == tenant.id);
                tenant.webhooks = stored.and_then(|stored| stored.webhooks.clone());
            }
            tenant.webhooks = tenant.webhooks.take().filter(|endpoints| !endpoints.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn document(webhooks: &Value) -> ConfigDocument {
        serde_json::from_value(json!({"tenants": [{"id": "clinic", "webhooks": webhooks}]})).unwrap()
    }

    fn fault(webhooks: &Value) -> Option<String> {
        let checked = document(webhooks).validate_against(&ConfigDocument::default());
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn an_endpoint_is_asked_over_tls_unless_it_is_near() {
        for url in [
            "https://crm.example.org/hook",
            "http://127.0.0.1:9/hook",
            "http://10.0.0.7/hook",
        ] {
            assert_eq!(fault(&json!([{"id": "crm", "url": url}])), None, "{url}");
        }
        let long = format!("https://crm.example.org/{}", "x".repeat(2_000));
        for url in [
            "http://crm.example.org/hook",
            "ftp://crm.example.org",
            "https://169.254.169.254/",
            "https://me:secret@crm.example.org/",
            "crm",
            "",
            &long,
        ] {
            let told = fault(&json!([{"id": "crm", "url": url}])).unwrap_or_default();
            assert!(
                told.contains("`crm`") && told.contains("https://"),
                "{url}: {told}"
            );
        }
    }

    #[test]
    fn a_tenant_has_ten_endpoints_at_most_each_with_an_id_of_its_own() {
        let endpoint = |number: usize| json!({"id": format!("e{number}"), "url": "https://crm.example.org/"});
        let ten: Vec<Value> = (0..10).map(endpoint).collect();
        assert_eq!(fault(&json!(ten)), None);
        let eleven: Vec<Value> = (0..11).map(endpoint).collect();
        assert!(fault(&json!(eleven)).unwrap().contains("at most 10"));
        assert!(
            fault(&json!([endpoint(1), endpoint(1)]))
                .unwrap()
                .contains("`e1`")
        );
    }

    #[test]
    fn kinds_are_chosen_by_name_or_by_group() {
        let one = |kinds: &Value| -> WebhookEndpoint {
            serde_json::from_value(json!({"id": "crm", "url": "https://crm.example.org/", "kinds": kinds}))
                .unwrap()
        };
        let some = one(&json!(["message.*", "alert.fired"]));
        for (kind, wanted) in [
            (PublishedKind::MessageCreated, true),
            (PublishedKind::AlertFired, true),
            (PublishedKind::AlertEnded, false),
            (PublishedKind::TurnStarted, false),
        ] {
            assert_eq!(some.wants_kind(kind), wanted, "{kind}");
            assert!(one(&json!([])).wants_kind(kind));
        }
    }

    #[test]
    fn a_document_that_does_not_speak_of_endpoints_leaves_them_and_an_empty_list_removes_them() {
        let known = document(&json!([{"id": "crm", "url": "https://crm.example.org/"}]));
        for (written, kept) in [(Value::Null, true), (json!([]), false)] {
            let mut change = document(&written);
            change.keep_webhook_endpoints(&known);
            let left = change.tenants[0].webhook_endpoints().len();
            assert_eq!(left, usize::from(kept), "{written}");
            assert_eq!(change.tenants[0].webhooks.is_some(), kept);
        }
    }
}
