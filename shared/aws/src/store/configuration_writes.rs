//! Writes the configuration as records: one for each tenant, agent and instance, and one of the alerts. Each entry has
//! further records under the other keys by which it is found ([`super::keys`]), so that each way to it is one read.

use super::expression::Expression;
use super::item::{self, Item};
use super::keys::TableKey;
use super::transaction::TransactionAction;
use recado_domain::config::{ConfigDocument, ConfigEntry};
use recado_domain::ids::hash_parts;
use recado_pipeline::ports::{PortError, PortResult};
use std::collections::{HashMap, HashSet};

/// The number of actions in one transaction at most.
pub(super) const ACTIONS_MAX: usize = 100;
/// The size of one transaction at most, in characters of its attributes (the limit of `DynamoDB` is 4 MB).
const SIZE_MAX: usize = 3_000_000;

/// The attribute that holds the hash of an entry, for the conditions of its next change.
const HASH: &str = "entry_hash";

/// The hashes of entries as they are stored, by the keys under their ids. A write with them is made on condition that
/// the entries are still those.
pub(super) type EntryHashes = HashMap<TableKey, String>;

/// Reads the hash of an entry's record.
pub(super) fn read_hash(found: &Item) -> Option<(TableKey, String)> {
    let text = |name| item::get_string(found, name).map(str::to_owned);
    let key = TableKey {
        pk: text("pk")?,
        sk: text("sk")?,
    };
    Some((key, text(HASH)?))
}

/// Returns the condition that the entry under `key` is as it was read.
fn unchanged_condition(key: &TableKey, expected: Option<&EntryHashes>) -> Option<Expression> {
    expected.map(|expected| match expected.get(key) {
        Some(hash) => Expression::new(format!("#{HASH} = :hash")).with_text(":hash", hash),
        None => Expression::record_absent(),
    })
}

/// Adds the writes of all records of one entry. The condition is that of the first, under its id.
fn put_entry<T: ConfigEntry>(
    what: &'static str,
    entry: &T,
    keys: Vec<TableKey>,
    expected: Option<&EntryHashes>,
    into: &mut Vec<TransactionAction>,
) -> PortResult<()> {
    let text = serde_json::to_string(entry).map_err(|error| PortError::invalid(what, error))?;
    let mut record = item::encode_record(what, entry)?;
    record.insert(HASH.to_owned(), item::text_attribute(hash_parts(&[&text], 16)));
    for (place, key) in keys.into_iter().enumerate() {
        let condition = unchanged_condition(&key, expected.filter(|_| place == 0));
        into.push(TransactionAction::Put(key.into_item(record.clone()), condition));
    }
    Ok(())
}

/// Returns the writes that make `change` of `before`, in the order in which they must be made: tenants and agents come
/// before the instances that refer to them, and go after them. `before` holds the entries to change or remove as they are
/// stored now. Their records under keys that the change does not have are deleted.
pub(super) fn configuration_actions(
    what: &'static str,
    change: &ConfigDocument,
    before: &ConfigDocument,
    expected: Option<&EntryHashes>,
) -> PortResult<Vec<TransactionAction>> {
    let mut actions = Vec::new();
    for tenant in &change.tenants {
        let keys = TableKey::for_tenant_records(tenant);
        put_entry(what, tenant, keys, expected, &mut actions)?;
    }
    for agent in &change.agents {
        let keys = TableKey::for_agent_records(agent);
        put_entry(what, agent, keys, expected, &mut actions)?;
    }
    if let Some(alerts) = &change.alerts {
        let record = item::encode_record(what, alerts)?;
        let record = TableKey::for_alert_config().into_item(record);
        actions.push(TransactionAction::Put(record, None));
    }
    for instance in &change.instances {
        let keys = TableKey::for_instance_records(instance);
        put_entry(what, instance, keys, expected, &mut actions)?;
    }
    let kept: HashSet<TableKey> = list_keys(change).into_iter().collect();
    let gone = list_keys(before).into_iter().filter(|key| !kept.contains(key));
    actions.extend(gone.map(|key| {
        let of_entry = expected.filter(|expected| expected.contains_key(&key));
        let condition = unchanged_condition(&key, of_entry);
        TransactionAction::Delete(key, condition)
    }));
    Ok(actions)
}

/// Lists the keys of all records of a document's entries: instances first, which refer to the others.
fn list_keys(document: &ConfigDocument) -> Vec<TableKey> {
    let instances = document.instances.iter().flat_map(TableKey::for_instance_records);
    let agents = document.agents.iter().flat_map(TableKey::for_agent_records);
    let tenants = document.tenants.iter().flat_map(TableKey::for_tenant_records);
    instances.chain(agents).chain(tenants).collect()
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

    fn actions(change: &ConfigDocument, before: &ConfigDocument) -> Vec<TransactionAction> {
        configuration_actions("test", change, before, None).unwrap()
    }

    #[test]
    fn an_instance_that_got_another_name_loses_the_old_one() {
        let old = document("100");
        let same = actions(&document("100"), &old);
        assert!(
            !same
                .iter()
                .any(|action| matches!(action, TransactionAction::Delete(..)))
        );
        let moved = actions(&document("200"), &old);
        let gone = moved.iter().find_map(|action| match action {
            TransactionAction::Delete(key, _) => Some(key.sk.clone()),
            _ => None,
        });
        assert_eq!((gone.as_deref(), moved.len()), (Some("100"), 9));
    }

    #[test]
    fn two_instances_that_swap_names_both_keep_one() {
        let mut change = document("200");
        change.instances.push({
            let mut other = document("100").instances.remove(0);
            other.id = recado_domain::ids::InstanceId::parse("ward").unwrap();
            other
        });
        let mut before = change.clone();
        for (instance, name) in before.instances.iter_mut().zip(["100", "200"]) {
            instance.external_id = Some(recado_domain::ids::ExternalId::parse(name).unwrap());
        }
        let all = actions(&change, &before);
        assert!(
            !all.iter()
                .any(|action| matches!(action, TransactionAction::Delete(..)))
        );
    }

    #[test]
    fn an_agent_that_got_another_tenant_leaves_the_list_of_the_old_one() {
        let (before, mut after) = (document("100"), document("100"));
        after.agents[0].tenant = recado_domain::ids::TenantId::parse("shop").unwrap();
        let gone: Vec<String> = actions(&after, &before)
            .into_iter()
            .filter_map(|action| match action {
                TransactionAction::Delete(key, _) => Some(format!("{} {}", key.pk, key.sk)),
                _ => None,
            })
            .collect();
        assert_eq!(gone, ["G#C#clinic A#ana"]);
    }

    #[test]
    fn an_expected_entry_is_the_condition_of_its_first_record_alone() {
        let key = TableKey::for_configured(super::super::keys::ConfigurationKind::Agent, "ana");
        let expected = HashMap::from([(key.clone(), "a hash".to_owned())]);
        let written = configuration_actions("test", &document("100"), &document("100"), Some(&expected));
        let conditions: Vec<(String, String)> = written
            .unwrap()
            .into_iter()
            .filter_map(|action| match action {
                TransactionAction::Put(item, Some(condition)) => {
                    Some((item::get_string(&item, "pk")?.to_owned(), condition.text))
                }
                _ => None,
            })
            .collect();
        let told = |pk: &str, text: &str| (pk.to_owned(), text.to_owned());
        assert_eq!(
            conditions,
            [
                told("G#T", "attribute_not_exists(#pk)"),
                told("G#A", "#entry_hash = :hash"),
                told("G#I", "attribute_not_exists(#pk)"),
            ]
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
