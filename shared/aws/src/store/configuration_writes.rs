//! Writes the configuration as records: one for each tenant, agent and instance, and one of the alerts. Each entry has
//! further records under the other keys by which it is found ([`super::keys`]), so that each way to it is one read.

use super::expression::{Expression, UpdateChange};
use super::item::{self, Item};
use super::keys::{ConfigurationKind, TableKey};
use super::transaction::TransactionAction;
use recado_domain::config::{ConfigDocument, ConfigEntry, Instance};
use recado_domain::ids::{TenantId, hash_parts};
use recado_pipeline::ports::{PortError, PortResult};
use std::collections::{HashMap, HashSet};

/// The number of actions in one transaction at most.
pub(super) const ACTIONS_MAX: usize = 100;
/// The size of one transaction at most, in characters of its attributes (the limit of `DynamoDB` is 4 MB).
const SIZE_MAX: usize = 3_000_000;

/// The attribute that holds the hash of an entry, for the conditions of its next change.
const HASH: &str = "entry_hash";

/// The attribute that changes with each write of a tenant or an agent, and of an entry that refers to it. Its removal is
/// made on condition that it is as it was when nothing referred to the entry.
const TOUCHED: &str = "touched";

/// What the conditions of a write need to know of a stored entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryMarks {
    hash: String,
    touched: Option<String>,
}

/// The marks of entries as they are stored, by the keys under their ids.
pub(super) type StoredMarks = HashMap<TableKey, EntryMarks>;

/// Reads the marks of an entry's record.
pub(super) fn read_marks(found: &Item) -> Option<(TableKey, EntryMarks)> {
    let text = |name| item::get_string(found, name).map(str::to_owned);
    let (hash, touched) = (text(HASH)?, text(TOUCHED));
    Some((TableKey::from_item(found)?, EntryMarks { hash, touched }))
}

/// A write of the configuration: what is stored of its entries, and whether they must still be so.
#[derive(Clone, Copy)]
pub(super) struct EntryWrite<'a> {
    /// Name of the operation, for errors.
    pub(super) what: &'static str,
    /// The entries to change or remove, as they are stored now.
    pub(super) before: &'a ConfigDocument,
    /// The marks of these.
    pub(super) marks: &'a StoredMarks,
    /// `true`: nothing is written unless each entry is still as it was read.
    pub(super) conditional: bool,
    /// A random text of this write alone.
    pub(super) stamp: &'a str,
}

impl EntryWrite<'_> {
    /// Returns the condition that the entry under `key` is as it was read.
    fn unchanged_condition(&self, key: &TableKey) -> Option<Expression> {
        self.conditional.then(|| match self.marks.get(key) {
            Some(marks) => Expression::new(format!("#{HASH} = :hash")).with_text(":hash", &marks.hash),
            None => Expression::record_absent(),
        })
    }

    /// Returns the condition under which an entry is removed: nothing was written that refers to it since it was read.
    fn removal_condition(&self, key: &TableKey) -> Option<Expression> {
        let marks = self.marks.get(key)?;
        let untouched = match &marks.touched {
            Some(stamp) => Expression::new(format!("#{TOUCHED} = :touched")).with_text(":touched", stamp),
            None => Expression::new(format!("attribute_not_exists(#{TOUCHED})")),
        };
        Some(match self.unchanged_condition(key) {
            Some(unchanged) => unchanged.and_condition(untouched),
            None => untouched,
        })
    }

    /// Makes the writes of all records of one entry. The condition is that of the first, under its id.
    fn put_entry<T: ConfigEntry>(
        &self,
        entry: &T,
        keys: Vec<TableKey>,
    ) -> PortResult<Vec<TransactionAction>> {
        let text = serde_json::to_string(entry).map_err(|error| PortError::invalid(self.what, error))?;
        let mut record = item::encode_record(self.what, entry)?;
        record.insert(HASH.to_owned(), item::text_attribute(hash_parts(&[&text], 16)));
        let put = |(place, key): (usize, TableKey)| {
            let mut record = record.clone();
            let condition = self.unchanged_condition(&key).filter(|_| place == 0);
            if place == 0 && may_be_referred_to(&key) {
                record.insert(TOUCHED.to_owned(), item::text_attribute(self.stamp));
            }
            TransactionAction::Put(key.into_item(record), condition)
        };
        Ok(keys.into_iter().enumerate().map(put).collect())
    }

    /// Makes the write that touches the tenant to which an entry refers. The condition is that the tenant is there.
    fn touch_tenant(&self, tenant: &TenantId) -> TransactionAction {
        let key = TableKey::for_configured(ConfigurationKind::Tenant, tenant.as_str());
        self.touch(key, Expression::new("attribute_exists(#pk)"))
    }

    /// Makes the write that touches the agent of an instance. The condition is that the instance's tenant has the agent.
    fn touch_agent(&self, instance: &Instance) -> TransactionAction {
        let key = TableKey::for_configured(ConfigurationKind::Agent, instance.agent.as_str());
        let of_tenant = Expression::new("#tenant = :tenant").with_text(":tenant", instance.tenant.as_str());
        self.touch(key, of_tenant)
    }

    fn touch(&self, key: TableKey, condition: Expression) -> TransactionAction {
        let change = UpdateChange::default().set_value(TOUCHED, item::text_attribute(self.stamp));
        TransactionAction::Update(key, change, Some(condition))
    }
}

/// Returns `true` if the key is that of a tenant or an agent under its id.
fn may_be_referred_to(key: &TableKey) -> bool {
    [ConfigurationKind::Tenant, ConfigurationKind::Agent]
        .iter()
        .any(|kind| key.pk == kind.partition_key())
}

/// Returns the writes that make `change` of what is stored, in the order in which they must be made: tenants and agents come
/// before the instances that refer to them, and go after them. Records under keys that the change does not have are deleted.
/// The writes of one part must be made together: each entry is written only while what it refers to is there.
pub(super) fn configuration_actions(
    write: EntryWrite<'_>,
    change: &ConfigDocument,
) -> PortResult<Vec<Vec<TransactionAction>>> {
    let mut parts = Vec::new();
    for tenant in &change.tenants {
        parts.push(write.put_entry(tenant, TableKey::for_tenant_records(tenant))?);
    }
    for agent in &change.agents {
        let mut part = write.put_entry(agent, TableKey::for_agent_records(agent))?;
        part.push(write.touch_tenant(&agent.tenant));
        parts.push(part);
    }
    if let Some(alerts) = &change.alerts {
        let record = item::encode_record(write.what, alerts)?;
        let record = TableKey::for_alert_config().into_item(record);
        parts.push(vec![TransactionAction::Put(record, None)]);
    }
    for instance in &change.instances {
        let mut part = write.put_entry(instance, TableKey::for_instance_records(instance))?;
        part.push(write.touch_tenant(&instance.tenant));
        part.push(write.touch_agent(instance));
        parts.push(part);
    }
    let kept: HashSet<TableKey> = list_keys(change).into_iter().collect();
    let gone = list_keys(write.before)
        .into_iter()
        .filter(|key| !kept.contains(key));
    parts.extend(gone.map(|key| {
        let condition = write.removal_condition(&key);
        vec![TransactionAction::Delete(key, condition)]
    }));
    Ok(parts)
}

/// Lists the keys of all records of a document's entries: instances first, which refer to the others.
fn list_keys(document: &ConfigDocument) -> Vec<TableKey> {
    let instances = document.instances.iter().flat_map(TableKey::for_instance_records);
    let agents = document.agents.iter().flat_map(TableKey::for_agent_records);
    let tenants = document.tenants.iter().flat_map(TableKey::for_tenant_records);
    instances.chain(agents).chain(tenants).collect()
}

/// Splits the writes into as few transactions as possible. A document of usual size needs one. In a transaction that writes
/// an entry, or touches it already, touching it is left out: a transaction has one action for each record.
pub(super) fn split_transactions(parts: Vec<Vec<TransactionAction>>) -> Vec<Vec<TransactionAction>> {
    let mut transactions: Vec<Vec<TransactionAction>> = Vec::new();
    let (mut size, mut keys) = (0, HashSet::new());
    for part in parts {
        let more: usize = part.iter().map(estimate_size).sum();
        let fits = |last: &Vec<_>| last.len() + part.len() <= ACTIONS_MAX && size + more <= SIZE_MAX;
        if !transactions.last().is_some_and(fits) {
            (size, keys) = (0, HashSet::new());
            transactions.push(Vec::new());
        }
        size += more;
        let is_needed = |action: &TransactionAction| {
            let is_first = action.key().is_none_or(|key| keys.insert(key));
            is_first || !matches!(action, TransactionAction::Update(..))
        };
        let needed: Vec<_> = part.into_iter().filter(is_needed).collect();
        if let Some(last) = transactions.last_mut() {
            last.extend(needed);
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

    fn parts(
        change: &ConfigDocument,
        before: &ConfigDocument,
        marks: Option<&StoredMarks>,
    ) -> Vec<Vec<TransactionAction>> {
        let none = StoredMarks::new();
        let write = EntryWrite {
            what: "test",
            before,
            marks: marks.unwrap_or(&none),
            conditional: marks.is_some(),
            stamp: "a stamp",
        };
        configuration_actions(write, change).unwrap()
    }

    fn actions(change: &ConfigDocument, before: &ConfigDocument) -> Vec<TransactionAction> {
        split_transactions(parts(change, before, None)).remove(0)
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
        let key = TableKey::for_configured(ConfigurationKind::Agent, "ana");
        let marks = EntryMarks {
            hash: "a hash".to_owned(),
            touched: None,
        };
        let marks = HashMap::from([(key, marks)]);
        let written = parts(&document("100"), &document("100"), Some(&marks));
        let conditions: Vec<(String, String)> = split_transactions(written)
            .into_iter()
            .flatten()
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
    fn what_an_instance_refers_to_is_touched_in_its_transaction_unless_it_is_written_there() {
        let mut alone = document("100");
        alone.tenants.clear();
        alone.agents.clear();
        let touched = |change: &ConfigDocument| -> Vec<String> {
            actions(change, &ConfigDocument::default())
                .into_iter()
                .filter_map(|action| match action {
                    TransactionAction::Update(key, _, condition) => {
                        Some(format!("{} {} {}", key.pk, key.sk, condition?.text))
                    }
                    _ => None,
                })
                .collect()
        };
        assert_eq!(touched(&document("100")), Vec::<String>::new());
        let expected = ["G#T clinic attribute_exists(#pk)", "G#A ana #tenant = :tenant"];
        assert_eq!(touched(&alone), expected);
        let mut two = alone.instances[0].clone();
        two.id = recado_domain::ids::InstanceId::parse("ward").unwrap();
        two.external_id = None;
        alone.instances.push(two);
        assert_eq!(touched(&alone), expected, "once");
    }

    #[test]
    fn an_agent_goes_only_while_nothing_that_refers_to_it_was_written() {
        let key = TableKey::for_configured(ConfigurationKind::Agent, "ana");
        for (touched, expected) in [
            (None, "attribute_not_exists(#touched)"),
            (Some("an older stamp".to_owned()), "#touched = :touched"),
        ] {
            let hash = "a hash".to_owned();
            let marks = HashMap::from([(key.clone(), EntryMarks { hash, touched })]);
            let gone = parts(&ConfigDocument::default(), &document("100"), Some(&marks));
            let condition = gone.into_iter().flatten().find_map(|action| match action {
                TransactionAction::Delete(of, condition) if of == key => condition,
                _ => None,
            });
            let text = format!("#entry_hash = :hash AND {expected}");
            assert_eq!(condition.map(|condition| condition.text), Some(text));
        }
    }

    #[test]
    fn many_records_are_split_by_number_and_by_size_and_keep_their_order() {
        let small = (0..250)
            .map(|n| {
                vec![TransactionAction::Delete(
                    TableKey::for_dead_letter(&n.to_string()),
                    None,
                )]
            })
            .collect();
        let split = split_transactions(small);
        assert_eq!(split.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 50]);
        assert!(matches!(&split[1][0], TransactionAction::Delete(key, _) if key.pk == "X#100"));
        let large = || {
            let text = item::text_attribute("x".repeat(1_400_000));
            vec![TransactionAction::Put(Item::from([("p".to_owned(), text)]), None)]
        };
        assert_eq!(split_transactions(vec![large(), large(), large()]).len(), 2);
    }
}
