//! Configuration as records: each tenant, agent and instance one, and each instance once more by the provider's name
//! for it, so that a webhook's instance is found by one read among any number.

use super::item::{self, Item};
use super::keys::{Key, Kind};
use super::transaction::Action;
use recado_domain::config::{Document, Instance};
use recado_pipeline::ports::PortResult;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// The most that one transaction does.
const ACTIONS_MAX: usize = 100;
/// The most that one transaction carries, in characters of its attributes (the limit is 4 MB).
const SIZE_MAX: usize = 3_000_000;

fn put<T: Serialize>(what: &'static str, key: Key, record: &T) -> PortResult<Action> {
    Ok(Action::Put(key.into_item(item::write(what, record)?), None))
}

/// What applying `change` writes, in the order in which it must be there: who is referred to comes first. `before` are
/// the instances of the change as they are now: one that has another name at its provider loses the old one.
pub(super) fn actions(
    what: &'static str,
    change: &Document,
    before: &HashMap<String, Instance>,
) -> PortResult<Vec<Action>> {
    let mut actions = Vec::new();
    for tenant in &change.tenants {
        actions.push(put(
            what,
            Key::configured(Kind::Tenant, tenant.id.as_str()),
            tenant,
        )?);
    }
    for agent in &change.agents {
        actions.push(put(what, Key::configured(Kind::Agent, agent.id.as_str()), agent)?);
    }
    let current: HashSet<Key> = change.instances.iter().filter_map(Key::lookup).collect();
    for instance in &change.instances {
        actions.push(put(
            what,
            Key::configured(Kind::Instance, instance.id.as_str()),
            instance,
        )?);
        if let Some(lookup) = Key::lookup(instance) {
            actions.push(put(what, lookup, instance)?);
        }
        let old = before.get(instance.id.as_str()).and_then(Key::lookup);
        actions.extend(
            old.filter(|old| !current.contains(old))
                .map(|old| Action::Delete(old, None)),
        );
    }
    Ok(actions)
}

/// The actions in as few transactions as they fit in. A document of usual size is one.
pub(super) fn transactions(actions: Vec<Action>) -> Vec<Vec<Action>> {
    let mut transactions: Vec<Vec<Action>> = Vec::new();
    let mut size = 0;
    for action in actions {
        let more = size_of(&action);
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

/// About how large an action is: what can be long in configuration is text.
fn size_of(action: &Action) -> usize {
    let texts = |item: &Item| {
        item.values()
            .map(|value| value.as_s().map_or(64, String::len))
            .sum()
    };
    match action {
        Action::Put(item, _) => texts(item),
        _ => 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(external: &str) -> Document {
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
        let same = actions("test", &document("100"), &old).unwrap();
        assert!(!same.iter().any(|action| matches!(action, Action::Delete(..))));
        let moved = actions("test", &document("200"), &old).unwrap();
        let gone = moved.iter().find_map(|action| match action {
            Action::Delete(key, _) => Some(key.sk.clone()),
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
        let all = actions("test", &change, &before).unwrap();
        assert!(!all.iter().any(|action| matches!(action, Action::Delete(..))));
    }

    #[test]
    fn many_records_are_split_by_number_and_by_size_and_keep_their_order() {
        let small = (0..250)
            .map(|n| Action::Delete(Key::dead_letter(&n.to_string()), None))
            .collect();
        let split = transactions(small);
        assert_eq!(split.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 50]);
        assert!(matches!(&split[1][0], Action::Delete(key, _) if key.pk == "X#100"));
        let large = || {
            Action::Put(
                Item::from([("p".to_owned(), item::text("x".repeat(1_400_000)))]),
                None,
            )
        };
        assert_eq!(transactions(vec![large(), large(), large()]).len(), 2);
    }
}
