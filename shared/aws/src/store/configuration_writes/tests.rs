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
    let key = |number: usize| TableKey {
        pk: number.to_string(),
        sk: "a".to_owned(),
    };
    let small = (0..250)
        .map(|number| vec![TransactionAction::Delete(key(number), None)])
        .collect();
    let split = split_transactions(small);
    assert_eq!(split.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 50]);
    assert!(matches!(&split[1][0], TransactionAction::Delete(key, _) if key.pk == "100"));
    let large = || {
        let text = item::text_attribute("x".repeat(1_400_000));
        vec![TransactionAction::Put(Item::from([("p".to_owned(), text)]), None)]
    };
    assert_eq!(split_transactions(vec![large(), large(), large()]).len(), 2);
}
