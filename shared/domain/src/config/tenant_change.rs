//! Checks a configuration document that a tenant applies itself, with a token of that tenant alone.

use super::{ConfigDocument, ConfigError, CredentialRef, EntryRef, Instance, Tenant};
use crate::ids::TenantId;
use std::collections::BTreeMap;

/// The words for a field that a tenant may not change itself.
const INSTALLATION_ALONE: &str = "can be changed with a token of the installation alone";

impl ConfigDocument {
    /// Checks that the document stays within `tenant`. `all` is everything configured so far. The errors say the same
    /// whether another tenant has an id or nobody has it.
    pub fn check_within_tenant(&self, tenant: &TenantId, all: &ConfigDocument) -> Result<(), ConfigError> {
        for (of, is_changed) in [
            ("alerts", self.alerts.is_some()),
            ("prices", self.prices.is_some()),
        ] {
            if is_changed {
                let why = "only a token of the installation may change them";
                return Err(ConfigError::of(of, why));
            }
        }
        let owners: BTreeMap<EntryRef, &TenantId> = all.list_entry_owners().into_iter().collect();
        for (name, owner) in self.list_entry_owners() {
            check_owner(&name, owner, tenant)?;
            if !matches!(name, EntryRef::Tenant(_)) {
                check_id(&name, owners.get(&name).copied(), tenant)?;
            }
        }
        for named in &self.tenants {
            named.check_limits_kept(all.tenants.iter().find(|known| known.id == named.id))?;
        }
        for instance in &self.instances {
            let known = all.instances.iter().find(|known| known.id == instance.id);
            instance.check_set_up_by_tenant(known)?;
            let taken = |other: &Instance| {
                other.tenant != *tenant
                    && other.provider == instance.provider
                    && other.resolve_external_id() == instance.resolve_external_id()
            };
            if all.instances.iter().any(taken) {
                let of = format_args!("instance `{}`", instance.id);
                return Err(ConfigError::of(of, "this name at the provider cannot be used"));
            }
        }
        Ok(())
    }
}

fn check_owner(of: &EntryRef, owner: &TenantId, tenant: &TenantId) -> Result<(), ConfigError> {
    if owner == tenant {
        return Ok(());
    }
    let why = format_args!("this token configures tenant `{tenant}` alone");
    Err(ConfigError::of(of, why))
}

/// Checks an id: the tenant has it already, or nobody has it and it begins with the tenant's id.
fn check_id(of: &EntryRef, owner: Option<&TenantId>, tenant: &TenantId) -> Result<(), ConfigError> {
    let is_new = || of.id_text().starts_with(&format!("{tenant}-"));
    let is_own = owner.map_or_else(is_new, |owner| owner == tenant);
    let why = format_args!(
        "a tenant gives new calendars, tools, agents and instances ids that nobody has and that begin with `{tenant}-`"
    );
    is_own.then_some(()).ok_or_else(|| ConfigError::of(of, why))
}

impl Tenant {
    /// Checks that a tenant leaves alone what limits it: the installation's operators pay for its models, and disabled it.
    fn check_limits_kept(&self, known: Option<&Tenant>) -> Result<(), ConfigError> {
        if known.is_some_and(|known| known.removing_since.is_some()) {
            // Nothing of it is changed any more: `check_removals` refuses the document with that reason.
            return Ok(());
        }
        let limits = [
            (
                "disabled",
                self.disabled != known.is_some_and(|known| known.disabled),
            ),
            (
                "tokens_per_day",
                self.tokens_per_day != known.and_then(|known| known.tokens_per_day),
            ),
            (
                "budget",
                self.budget.as_ref() != known.and_then(|known| known.budget.as_ref()),
            ),
            (
                "turns_at_once",
                self.turns_at_once != known.and_then(|known| known.turns_at_once),
            ),
        ];
        match limits.into_iter().find(|(_, is_changed)| *is_changed) {
            Some((limit, _)) => {
                let of = format_args!("tenant `{}`", self.id);
                Err(ConfigError::of(of, format_args!("{limit} {INSTALLATION_ALONE}")))
            }
            None => Ok(()),
        }
    }
}

impl Instance {
    /// Checks what a tenant may set itself. The installation's own keys open other numbers too, and an account's notices
    /// are of all of its numbers: both are for the installation's operators to give.
    fn check_set_up_by_tenant(&self, known: Option<&Instance>) -> Result<(), ConfigError> {
        let refuse = |why: String| Err(ConfigError::of(format_args!("instance `{}`", self.id), why));
        if self.account_id.as_ref() != known.and_then(|known| known.account_id.as_ref()) {
            return refuse(format!("account_id {INSTALLATION_ALONE}"));
        }
        let same_place = known.is_some_and(|known| {
            known.provider == self.provider
                && known.resolve_external_id() == self.resolve_external_id()
                && known.base_url == self.base_url
                && known.credential == self.credential
        });
        let credential = self.credential.as_ref();
        let own_key = credential.is_some_and(|credential| credential.belongs_to_tenant(&self.tenant));
        if !own_key && !same_place {
            let allowed = CredentialRef::describe_allowed_for(&self.tenant);
            return refuse(format!(
                "a tenant that sets an instance up must name a `credential` of its own, {allowed}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const OWN: &str = "env:RECADO_CREDENTIAL_A_KEY";

    fn document(value: &Value) -> ConfigDocument {
        serde_json::from_value(value.clone()).unwrap()
    }

    fn all() -> ConfigDocument {
        document(&json!({
            "tenants": [{"id": "a"}, {"id": "b"}],
            "agents": [
                {"id": "ana", "tenant": "a", "model": "m", "system_prompt": "p"},
                {"id": "bia", "tenant": "b", "model": "m", "system_prompt": "p"},
                {"id": "a-bia", "tenant": "b", "model": "m", "system_prompt": "p"},
            ],
            "instances": [
                {"id": "desk", "tenant": "a", "agent": "ana", "provider": "evolution", "account_id": "7"},
                {"id": "ward", "tenant": "b", "agent": "bia", "provider": "meta", "external_id": "100"},
            ],
        }))
    }

    fn fault(value: &Value) -> Option<String> {
        let checked = document(value).check_within_tenant(&TenantId::parse("a").unwrap(), &all());
        checked.err().map(|error| error.to_string())
    }

    fn agent(id: &str, tenant: &str) -> Value {
        json!({"agents": [{"id": id, "tenant": tenant, "model": "m", "system_prompt": "p"}]})
    }

    fn instance(fields: &Value) -> Value {
        let mut instance = json!({"tenant": "a", "agent": "ana", "provider": "evolution"});
        for (name, value) in fields.as_object().unwrap() {
            instance[name] = value.clone();
        }
        json!({ "instances": [instance] })
    }

    #[test]
    fn a_tenant_changes_what_it_has_and_adds_under_its_own_name() {
        for fine in [
            json!({"tenants": [{"id": "a", "name": "A"}]}),
            agent("ana", "a"),
            agent("a-zoe", "a"),
            instance(&json!({"id": "desk", "account_id": "7", "typing": true})),
            instance(&json!({"id": "a-new", "credential": OWN})),
        ] {
            assert_eq!(fault(&fine), None, "{fine}");
        }
    }

    #[test]
    fn what_another_tenant_has_and_what_nobody_has_are_refused_alike() {
        for (theirs, nobodys) in [
            (
                json!({"tenants": [{"id": "b"}]}),
                json!({"tenants": [{"id": "nobody"}]}),
            ),
            (agent("bia", "a"), agent("nobody", "a")),
            (agent("x", "b"), agent("x", "nobody")),
            (
                instance(&json!({"id": "ward", "credential": OWN})),
                instance(&json!({"id": "nobody", "credential": OWN})),
            ),
        ] {
            let known = fault(&theirs).unwrap().replace("ward", "nobody");
            let known = known.replace("bia", "nobody").replace("`b`", "`nobody`");
            assert_eq!(fault(&nobodys), Some(known));
        }
        assert!(fault(&agent("a-bia", "a")).is_some(), "its id is taken");
    }

    #[test]
    fn what_limits_a_tenant_is_changed_with_a_token_of_the_installation_alone() {
        let limits = json!({"id": "a", "disabled": true, "tokens_per_day": 1000, "turns_at_once": 2,
            "budget": {"tokens": 5000, "stop": true}});
        let change = |known: &Value, fields: &Value| {
            let known = document(&json!({"tenants": [known]}));
            let mut changed = json!({"tenants": [{"id": "a"}]});
            for (name, value) in fields.as_object().unwrap() {
                changed["tenants"][0][name] = value.clone();
            }
            let checked = document(&changed).check_within_tenant(&TenantId::parse("a").unwrap(), &known);
            checked.err().map(|error| error.to_string())
        };
        for name in ["disabled", "tokens_per_day", "turns_at_once", "budget"] {
            let said = Some(format!(
                "tenant `a`: {name} can be changed with a token of the installation alone"
            ));
            let mut lifted = limits.clone();
            lifted.as_object_mut().unwrap().remove(name);
            assert_eq!(change(&limits, &lifted), said, "lifted");
            let set = json!({name: limits[name]});
            assert_eq!(change(&json!({"id": "a"}), &set), said, "set");
            assert_eq!(
                change(&json!({"id": "x"}), &set),
                said,
                "set for a tenant that is not there"
            );
        }
        let mut higher = limits.clone();
        higher["budget"]["tokens"] = json!(5001);
        assert!(change(&limits, &higher).is_some());
        let mut renamed = limits.clone();
        renamed["name"] = json!("A");
        assert_eq!(change(&limits, &renamed), None, "the rest is the tenant's own");
        let mut removed = limits.clone();
        removed["removing_since"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(
            change(&removed, &json!({})),
            None,
            "refused as one that is being removed"
        );
    }

    #[test]
    fn a_tenant_gets_neither_the_installations_keys_nor_an_account_nor_anothers_number() {
        for refused in [
            json!({"id": "a-new"}),
            json!({"id": "desk", "account_id": "7", "external_id": "other"}),
            json!({"id": "desk", "account_id": "7", "base_url": "https://a.example"}),
            json!({"id": "desk", "account_id": "8"}),
            json!({"id": "desk"}),
            json!({"id": "a-new", "credential": "env:EVOLUTION_API_KEY"}),
            json!({"id": "a-new", "credential": "env:RECADO_CREDENTIAL_B_KEY"}),
            json!({"id": "a-new", "credential": OWN, "provider": "meta", "external_id": "100"}),
        ] {
            assert!(fault(&instance(&refused)).is_some(), "{refused}");
        }
    }
}
