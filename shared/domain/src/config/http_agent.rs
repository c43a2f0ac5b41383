//! An agent that the user runs: an endpoint of a tenant that is asked for each reply, in place of a model.

use super::CredentialRef;
use crate::ids::TenantId;
use crate::web_url::WebUrl;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Longest time limit of one request to an endpoint, in seconds.
const HTTP_AGENT_SECONDS_MAX: f64 = 60.0;

/// Greatest length of an endpoint's URL, in characters.
const URL_MAX: usize = 2_000;

/// The endpoint of an agent that the user runs. It gets each turn as a signed request, and answers with the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HttpAgent {
    /// The URL to which each turn is posted.
    #[cfg_attr(feature = "schema", schema(example = "https://agent.example/turns"))]
    pub url: String,
    /// Reference to the secret that signs requests (`env:NAME` or `ssm:/path/name`), a secret of the tenant.
    pub secret: CredentialRef,
    /// Time limit of one request, in seconds: above 0, at most 60.
    #[cfg_attr(feature = "schema", schema(default = 30.0, maximum = 60))]
    #[serde(default = "default_timeout_seconds")]
    pub timeout_seconds: f64,
    /// The data of the contact that requests carry beside what the contact wrote. If absent, none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub contact: BTreeSet<ContactField>,
}

/// Data of a contact that may be sent to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(example = "name"))]
#[serde(rename_all = "snake_case")]
pub enum ContactField {
    /// The name that the contact gives itself.
    Name,
    /// The contact's phone number, if it is known.
    Phone,
}

fn default_timeout_seconds() -> f64 {
    30.0
}

impl HttpAgent {
    /// Returns the time limit of one request.
    pub fn time_limit(&self) -> SignedDuration {
        let seconds = self.timeout_seconds.clamp(0.0, HTTP_AGENT_SECONDS_MAX);
        SignedDuration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// Checks the endpoint of an agent of this tenant.
    pub(super) fn check_endpoint(&self, tenant: &TenantId) -> Result<(), &'static str> {
        let is_url = WebUrl::parse(&self.url).is_some() && self.url.chars().count() <= URL_MAX;
        if !is_url || self.url.contains('#') {
            return Err("http.url must be an http:// or https:// URL of at most 2000 characters");
        }
        if !self.secret.belongs_to_tenant(tenant) {
            return Err(
                "http.secret must be a secret of the agent's tenant, such as env:RECADO_CREDENTIAL_{TENANT}_{NAME}",
            );
        }
        if !(self.timeout_seconds > 0.0 && self.timeout_seconds <= HTTP_AGENT_SECONDS_MAX) {
            return Err("http.timeout_seconds must be above 0 and at most 60");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigDocument;
    use serde_json::{Value, json};

    fn check(agent: &Value) -> Result<(), String> {
        let mut whole = json!({"id": "ana", "tenant": "clinic"});
        for (name, value) in agent.as_object().unwrap() {
            whole[name] = value.clone();
        }
        let document: ConfigDocument =
            serde_json::from_value(json!({"tenants": [{"id": "clinic"}], "agents": [whole]})).unwrap();
        let checked = document.validate_against(&ConfigDocument::default());
        checked.map_err(|error| error.to_string())
    }

    fn endpoint(change: &Value) -> Value {
        let mut http =
            json!({"url": "https://agent.example/turns", "secret": "env:RECADO_CREDENTIAL_CLINIC_AGENT"});
        for (name, value) in change.as_object().unwrap() {
            http[name] = value.clone();
        }
        json!({"http": http})
    }

    #[test]
    fn an_endpoint_takes_the_place_of_a_model_and_sends_no_contact_data_unless_told() {
        assert_eq!(check(&endpoint(&json!({}))), Ok(()));
        let http: HttpAgent = serde_json::from_value(endpoint(&json!({}))["http"].clone()).unwrap();
        assert!(http.contact.is_empty());
        assert_eq!(http.time_limit(), SignedDuration::from_secs(30));
    }

    #[test]
    fn an_endpoint_that_cannot_be_asked_is_refused() {
        for (change, named) in [
            (json!({"url": "ftp://agent.example"}), "http.url"),
            (json!({"url": "https://a@agent.example"}), "http.url"),
            (
                json!({"secret": "env:RECADO_CREDENTIAL_SHOP_AGENT"}),
                "http.secret",
            ),
            (json!({"secret": "env:ANTHROPIC_API_KEY"}), "http.secret"),
            (json!({"timeout_seconds": 0}), "http.timeout_seconds"),
            (json!({"timeout_seconds": 61}), "http.timeout_seconds"),
        ] {
            let refused = check(&endpoint(&change)).unwrap_err();
            assert!(refused.contains(named), "{change}: {refused}");
        }
    }

    #[test]
    fn an_agent_has_a_model_with_a_prompt_or_an_endpoint() {
        for beside in [
            json!({"model": "m"}),
            json!({"system_prompt": "p"}),
            json!({"fallback_model": "m"}),
            json!({"tools": ["x"]}),
            json!({"reads_contact_name": true}),
        ] {
            let mut agent = endpoint(&json!({}));
            for (name, value) in beside.as_object().unwrap() {
                agent[name] = value.clone();
            }
            assert!(check(&agent).is_err(), "{beside}");
        }
        assert!(check(&json!({})).unwrap_err().contains("model must not be empty"));
        assert!(
            check(&json!({"model": "m"}))
                .unwrap_err()
                .contains("system_prompt must not be empty")
        );
    }
}
