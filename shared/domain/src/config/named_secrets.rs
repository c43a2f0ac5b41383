//! The secrets that entries of the configuration name, beside the credentials with which instances send.

use super::{ConfigDocument, CredentialRef};
use crate::ids::TenantId;
use std::collections::BTreeSet;

/// A secret that an entry names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedSecret<'a> {
    /// Tenant of the entry; `None`: the installation's alerts.
    pub tenant: Option<&'a TenantId>,
    /// Kind of the entry.
    pub kind: &'static str,
    /// Id of the entry.
    pub id: &'a str,
    /// Field that names the secret.
    pub field: &'static str,
    /// The reference.
    pub reference: &'a CredentialRef,
}

impl NamedSecret<'_> {
    /// Returns words for the place of the reference.
    pub fn describe_place(&self) -> String {
        match self.tenant {
            Some(_) => format!("{} `{}`: {}", self.kind, self.id, self.field),
            None => format!("alert destination `{}`: {}", self.id, self.field),
        }
    }
}

impl ConfigDocument {
    /// Lists the secrets that the document's entries name, without those of disabled entries. The credentials with which instances
    /// send are left out: the state of each instance tells of its own.
    pub fn list_named_secrets(&self) -> Vec<NamedSecret<'_>> {
        let mut named = Vec::new();
        let mut add = |tenant, kind, id, field, reference| {
            named.extend(Option::map(reference, |reference| NamedSecret {
                tenant,
                kind,
                id,
                field,
                reference,
            }));
        };
        for one in &self.tenants {
            for sender in &one.email_senders {
                let (id, field) = (one.id.as_str(), "credential of an e-mail sender");
                let credential = sender.credential.as_ref();
                add(Some(&one.id), "tenant", id, field, credential);
            }
        }
        for one in &self.calendars {
            let id = one.id.as_str();
            add(Some(&one.tenant), "calendar", id, "credential", one.credential());
        }
        for one in &self.tools {
            let id = one.id.as_str();
            add(Some(&one.tenant), "tool", id, "credential", one.credential());
        }
        for one in self.agents.iter().filter(|one| !one.disabled) {
            let (tenant, id) = (Some(&one.tenant), one.id.as_str());
            add(tenant, "agent", id, "model_key", one.model_key.as_ref());
            let secret = one.http.as_ref().map(|http| &http.secret);
            add(tenant, "agent", id, "http.secret", secret);
        }
        for one in self.instances.iter().filter(|one| !one.disabled) {
            let (id, secret) = (one.id.as_str(), one.app_secret.as_ref());
            add(Some(&one.tenant), "instance", id, "app_secret", secret);
        }
        for one in self.alerts.iter().flat_map(|alerts| &alerts.destinations) {
            let webhook = one.webhook.as_ref().map(|webhook| &webhook.secret);
            add(None, "alerts", one.id.as_str(), "webhook.secret", webhook);
            let password = one.email.as_ref().and_then(|email| email.password.as_ref());
            add(None, "alerts", one.id.as_str(), "email.password", password);
        }
        let off = self.tenants.iter().filter(|tenant| tenant.disabled);
        let off: BTreeSet<&TenantId> = off.map(|tenant| &tenant.id).collect();
        named.retain(|one| one.tenant.is_none_or(|tenant| !off.contains(tenant)));
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_secret_that_an_enabled_entry_names_is_listed_with_its_place() {
        let own = |name: &str| format!("env:RECADO_CREDENTIAL_CLINIC_{name}");
        let document: ConfigDocument = serde_json::from_value(json!({
            "tenants": [{"id": "clinic"}],
            "agents": [
                {"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "p", "model_key": own("MODEL")},
                {"id": "off", "tenant": "clinic", "model": "m", "system_prompt": "p", "model_key": own("OFF"), "disabled": true},
            ],
            "instances": [{
                "id": "a", "tenant": "clinic", "agent": "ana", "provider": "meta", "external_id": "1",
                "credential": own("SENDS"), "app_secret": own("APP"),
            }],
            "alerts": {"destinations": [
                {"id": "pager", "webhook": {"url": "https://pager.example", "secret": "env:RECADO_ALERT_PAGER"}},
            ]},
        }))
        .unwrap();
        let places: Vec<String> = document
            .list_named_secrets()
            .iter()
            .map(NamedSecret::describe_place)
            .collect();
        assert_eq!(
            places,
            [
                "agent `ana`: model_key",
                "instance `a`: app_secret",
                "alert destination `pager`: webhook.secret"
            ]
        );
    }
}
