//! Writes the configuration as records: one for each tenant, agent and instance, and one of the alerts. Each instance
//! has a second record under the provider's name for it, so that one read finds a webhook's instance among any number.

use super::item::{self, Item};
use super::keys::{ConfigurationKind, TableKey};
use super::transaction::TransactionAction;
use recado_domain::config::{ConfigDocument, ConfigRemoval, Instance};
use recado_pipeline::ports::PortResult;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// The number of actions in one transaction at most.
const ACTIONS_MAX: usize = 100;
/// The size of one transaction at most, in characters of its attributes (the limit of `DynamoDB` is 4 MB).
const SIZE_MAX: usize = 3_000_000;

fn put_action<T: Serialize>(what: &'static str, key: TableKey, record: &T) -> PortResult<TransactionAction> {
    Ok(TransactionAction::Put(
        key.into_item(item::encode_record(what, record)?),
        None,
    ))
}

/// Returns the writes that apply `change`, in the order in which they must be made: tenants and agents come before the
/// instances that refer to them. `before` holds the instances of the change as they are stored now, by id. If an
/// instance has another name at its provider now, the lookup record of the old name is deleted.
pub(super) fn configuration_actions(
    what: &'static str,
    change: &ConfigDocument,
    before: &HashMap<String, Instance>,
) -> PortResult<Vec<TransactionAction>> {
    let mut actions = Vec::new();
    for tenant in &change.tenants {
        actions.push(put_action(
            what,
            TableKey::for_configured(ConfigurationKind::Tenant, tenant.id.as_str()),
            tenant,
        )?);
    }
    for agent in &change.agents {
        actions.push(put_action(
            what,
            TableKey::for_configured(ConfigurationKind::Agent, agent.id.as_str()),
            agent,
        )?);
    }
    if let Some(alerts) = &change.alerts {
        actions.push(put_action(what, TableKey::for_alert_config(), alerts)?);
    }
    let current: HashSet<TableKey> = change
        .instances
        .iter()
        .filter_map(TableKey::for_instance_lookup)
        .collect();
    for instance in &change.instances {
        actions.push(put_action(
            what,
            TableKey::for_configured(ConfigurationKind::Instance, instance.id.as_str()),
            instance,
        )?);
        if let Some(lookup) = TableKey::for_instance_lookup(instance) {
            actions.push(put_action(what, lookup, instance)?);
        }
        let old = before
            .get(instance.id.as_str())
            .and_then(TableKey::for_instance_lookup);
        actions.extend(
            old.filter(|old| !current.contains(old))
                .map(|old| TransactionAction::Delete(old, None)),
        );
    }
    Ok(actions)
}

/// Returns the writes that remove what `removal` names, in the order in which they must be made: instances before the
/// agents and tenants to which they refer. `before` holds the instances as they are stored now, by id.
pub(super) fn removal_actions(
    removal: &ConfigRemoval,
    before: &HashMap<String, Instance>,
) -> Vec<TransactionAction> {
    let lookups = removal
        .instances
        .iter()
        .filter_map(|id| TableKey::for_instance_lookup(before.get(id.as_str())?));
    let of = TableKey::for_configured;
    let instances = removal
        .instances
        .iter()
        .map(|id| of(ConfigurationKind::Instance, id.as_str()));
    let agents = removal
        .agents
        .iter()
        .map(|id| of(ConfigurationKind::Agent, id.as_str()));
    let tenants = removal
        .tenants
        .iter()
        .map(|id| of(ConfigurationKind::Tenant, id.as_str()));
    lookups
        .chain(instances)
        .chain(agents)
        .chain(tenants)
        .map(|key| TransactionAction::Delete(key, None))
        .collect()
}

/// Splits the actions into as few transactions as possible. A document of usual size needs one.
pub(super) fn split_transactions(actions: Vec<TransactionAction>) -> Vec<Vec<TransactionAction>> {
    let mut transactions: Vec<Vec<TransactionAction>> = Vec::new();
    let mut size = 0;
    for action in actions {
        let more = estimate_size(&action);
        match transactions.last_mut() {
            Some(last) if last.len() < ACTIONS_MAX && size + more <= SIZE_MAX => {
                size += more;
                last.push(action);
            }
            _ => {
                size = more;
                transactions.push(vec![action]);
            }
        }
    }
    transactions
}

/// Estimates the size of an action, in characters. Only text can be long in a configuration.
fn estimate_size(action: &TransactionAction) -> usize {
    let texts = |item: &Item| {
        item.values()
            .map(|value| value.as_s().map_or(64, String::len))
            .sum()
    };
    match action {
        TransactionAction::Put(item, _) => texts(item),
        _ => 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(external: &str) -> ConfigDocument {
        serde_json::from_value(json!({
            "tenants": [{"id": "clinic"}],
            "agents": [{"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "p"}],
            "instances": [{"id": "desk", "tenant": "clinic", "agent": "ana", "provider": "meta", "external_id": external}],
        }))
        .unwrap()
    }

    #[test]
    fn an_instance_that_got_another_name_loses_the_old_one() {
        let old = HashMap::from([("desk".to_owned(), document("100").instances.remove(0))]);
        let same = configuration_actions("test", &document("100"), &old).unwrap();
        assert!(
            !same
                .iter()
                .any(|action| matches!(action, TransactionAction::Delete(..)))
        );
        let moved = configuration_actions("test", &document("200"), &old).unwrap();
        let gone = moved.iter().find_map(|action| match action {
            TransactionAction::Delete(key, _) => Some(key.sk.clone()),
            _ => None,
        });
        assert_eq!((gone.as_deref(), moved.len()), (Some("100"), 5));
    }

    #[test]
    fn two_instances_that_swap_names_both_keep_one() {
        let mut change = document("200");
        change.instances.push({
            let mut other = document("100").instances.remove(0);
            other.id = recado_domain::ids::InstanceId::parse("ward").unwrap();
            other
        });
        let mut before = HashMap::new();
        for (instance, name) in change.instances.iter().zip(["100", "200"]) {
            let mut instance = instance.clone();
            instance.external_id = Some(recado_domain::ids::ExternalId::parse(name).unwrap());
            before.insert(instance.id.to_string(), instance);
        }
        let all = configuration_actions("test", &change, &before).unwrap();
        assert!(
            !all.iter()
                .any(|action| matches!(action, TransactionAction::Delete(..)))
        );
    }

    #[test]
    fn many_records_are_split_by_number_and_by_size_and_keep_their_order() {
        let small = (0..250)
            .map(|n| TransactionAction::Delete(TableKey::for_dead_letter(&n.to_string()), None))
            .collect();
        let split = split_transactions(small);
        assert_eq!(split.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 50]);
        assert!(matches!(&split[1][0], TransactionAction::Delete(key, _) if key.pk == "X#100"));
        let large = || {
            TransactionAction::Put(
                Item::from([("p".to_owned(), item::text_attribute("x".repeat(1_400_000)))]),
                None,
            )
        };
        assert_eq!(split_transactions(vec![large(), large(), large()]).len(), 2);
    }
}
