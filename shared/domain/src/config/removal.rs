//! A tenant that is being removed: it no longer works, and no document changes it.

use super::{ConfigDocument, ConfigError, EntryRef, Tenant};
use crate::delivery_rules::DeliveryRules;
use crate::ids::TenantId;
use crate::retention::RetentionPolicy;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

impl Tenant {
    /// Makes what is left of the tenant while it is being removed, from `now` on: its id.
    #[must_use]
    pub fn to_removed(&self, now: Timestamp) -> Self {
        Self {
            id: self.id.clone(),
            name: None,
            time_zone: super::default_time_zone(),
            retention: RetentionPolicy::default(),
            tokens_per_day: None,
            turns_at_once: None,
            deliveries: DeliveryRules::default(),
            email_senders: Vec::new(),
            webhooks: None,
            budget: None,
            disabled: true,
            removing_since: Some(now),
        }
    }
}

impl ConfigDocument {
    /// Checks that the document leaves alone what is being removed in `known`. Takes out of it what only a removal may set.
    pub fn check_removals(&mut self, known: &ConfigDocument) -> Result<(), ConfigError> {
        for tenant in &mut self.tenants {
            tenant.removing_since = None;
        }
        let removed = known.removed_tenants();
        let before: BTreeMap<EntryRef, &TenantId> = known.list_entry_owners().into_iter().collect();
        for (name, owner) in self.list_entry_owners() {
            let mut owners = before.get(&name).copied().into_iter().chain([owner]);
            if let Some(tenant) = owners.find(|tenant| removed.contains(*tenant)) {
                let of = format_args!("tenant `{tenant}` is being removed");
                return Err(ConfigError::of(of, "nothing of it can be changed"));
            }
        }
        Ok(())
    }

    /// Returns this document without the tenants that are being removed, and without what belongs to them.
    #[must_use]
    pub fn without_removed_tenants(&self) -> ConfigDocument {
        let removed = self.removed_tenants();
        let owners: BTreeMap<EntryRef, &TenantId> = self.list_entry_owners().into_iter().collect();
        let mut left = self.clone();
        left.retain_entries(|name| owners.get(name).is_none_or(|owner| !removed.contains(*owner)));
        left
    }

    fn removed_tenants(&self) -> BTreeSet<TenantId> {
        let removed = self
            .tenants
            .iter()
            .filter(|tenant| tenant.removing_since.is_some());
        removed.map(|tenant| tenant.id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn known() -> ConfigDocument {
        let agent = |id, tenant| json!({"id": id, "tenant": tenant, "model": "m", "system_prompt": "p"});
        let mut known: ConfigDocument = serde_json::from_value(json!({
            "tenants": [{"id": "clinic", "name": "Clinic"}, {"id": "shop"}],
            "agents": [agent("ana", "clinic"), agent("bob", "shop")],
            "instances": [{"id": "desk", "tenant": "clinic", "agent": "ana", "provider": "evolution"}],
        }))
        .unwrap();
        known.tenants[0] = known.tenants[0].to_removed(Timestamp::UNIX_EPOCH);
        known
    }

    fn check(document: serde_json::Value) -> Result<ConfigDocument, ConfigError> {
        let mut document: ConfigDocument = serde_json::from_value(document).unwrap();
        document.check_removals(&known())?;
        Ok(document)
    }

    #[test]
    fn nothing_of_a_tenant_that_is_being_removed_can_be_changed() {
        for of_clinic in [
            json!({"tenants": [{"id": "clinic"}]}),
            json!({"agents": [{"id": "new", "tenant": "clinic", "model": "m", "system_prompt": "p"}]}),
            json!({"agents": [{"id": "ana", "tenant": "shop", "model": "m", "system_prompt": "p"}]}),
            json!({"instances": [{"id": "new", "tenant": "clinic", "agent": "ana", "provider": "evolution"}]}),
            json!({"instances": [{"id": "desk", "tenant": "shop", "agent": "bob", "provider": "evolution"}]}),
        ] {
            let found = check(of_clinic.clone()).unwrap_err();
            assert!(
                found.to_string().contains("`clinic` is being removed"),
                "{of_clinic}"
            );
        }
    }

    #[test]
    fn others_can_be_changed_and_no_document_begins_a_removal() {
        let document = check(json!({"tenants": [{"id": "shop", "removing_since": "2026-01-05T12:00:00Z"}]}));
        assert_eq!(document.unwrap().tenants[0].removing_since, None);
        let left = known().without_removed_tenants();
        assert_eq!(
            (left.tenants.len(), left.agents.len(), left.instances.len()),
            (1, 1, 0)
        );
    }

    #[test]
    fn a_removed_tenant_is_disabled_and_keeps_its_id_alone() {
        let known = known();
        assert!(known.tenants[0].disabled && known.tenants[0].name.is_none());
        assert_eq!(known.enabled_instances().count(), 0);
    }
}
