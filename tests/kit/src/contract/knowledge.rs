//! The records of agents' knowledge.

use super::given::{assert_conflict, assert_written};
use crate::builders::{Fixture, at, fresh};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{AgentKnowledge, KnowledgeSnapshot, SnapshotName};
use recado_ports::ports::{Store, WriteOutcome};

fn tenant() -> TenantId {
    Fixture::new().bound.tenant.id
}

fn agent() -> AgentId {
    AgentId::parse(&fresh("agent")).unwrap()
}

/// A record that is ready for its first write: a snapshot of it is about to be written.
fn begun(tenant: &TenantId, agent: &AgentId) -> AgentKnowledge {
    let mut known = AgentKnowledge::new(tenant.clone(), agent.clone());
    known.begin_snapshot(SnapshotName::from_random_bits(7), at(0), &[]);
    known
}

async fn assert_found<S: Store>(store: &S, expected: &AgentKnowledge) {
    let found = succeed(store.find_knowledge(&expected.tenant, &expected.agent)).await;
    assert_eq!(found.as_ref(), Some(expected));
}

pub async fn a_record_is_found_as_it_was_written<S: Store>(store: &S) {
    let mut known = begun(&tenant(), &agent());
    let absent = succeed(store.find_knowledge(&known.tenant, &known.agent)).await;
    assert_eq!(absent, None);
    assert_written(store.save_knowledge(&known)).await;
    assert_found(store, &known).await;
    let snapshot = KnowledgeSnapshot {
        version: 1,
        ..KnowledgeSnapshot::default()
    };
    assert!(known.switch_snapshot(&SnapshotName::from_random_bits(7), &snapshot, at(1)));
    assert_written(store.save_knowledge(&known)).await;
    assert_found(store, &known).await;
}

pub async fn a_write_of_an_old_revision_is_refused<S: Store>(store: &S) {
    let known = begun(&tenant(), &agent());
    assert_written(store.save_knowledge(&known)).await;
    let mut next = known.clone();
    next.begin_snapshot(SnapshotName::from_random_bits(8), at(1), &[]);
    assert_written(store.save_knowledge(&next)).await;
    let mut late = known.clone();
    late.begin_snapshot(SnapshotName::from_random_bits(9), at(2), &[]);
    assert_conflict(store.save_knowledge(&late)).await;
    let mut another = begun(&known.tenant, &known.agent);
    another.blocks = 9;
    assert_conflict(store.save_knowledge(&another)).await;
    assert_found(store, &next).await;
    // A record that was deleted meanwhile is not written again by a change of it.
    succeed(store.delete_knowledge(&known.tenant, &known.agent)).await;
    next.begin_snapshot(SnapshotName::from_random_bits(10), at(3), &[]);
    assert_conflict(store.save_knowledge(&next)).await;
}

pub async fn the_knowledge_of_an_agent_that_is_made_again_is_another<S: Store>(store: &S) {
    let before = begun(&tenant(), &agent());
    assert_written(store.save_knowledge(&before)).await;
    succeed(store.delete_knowledge(&before.tenant, &before.agent)).await;
    let mut again = AgentKnowledge::new(before.tenant.clone(), before.agent.clone());
    again.begin_snapshot(SnapshotName::from_random_bits(8), at(1), &[]);
    assert_written(store.save_knowledge(&again)).await;
    // A large document of the agent before was read until now. Both records are at the same write.
    let mut late = before.clone();
    let snapshot = KnowledgeSnapshot {
        version: 1,
        ..KnowledgeSnapshot::default()
    };
    assert!(late.switch_snapshot(&SnapshotName::from_random_bits(7), &snapshot, at(2)));
    assert_conflict(store.save_knowledge(&late)).await;
    assert_found(store, &again).await;
}

pub async fn of_ten_writers_at_once_one_wins<S: Store>(store: &S) {
    let (tenant, agent) = (tenant(), agent());
    let records: Vec<AgentKnowledge> = (0..10)
        .map(|number| {
            let mut known = AgentKnowledge::new(tenant.clone(), agent.clone());
            known.begin_snapshot(SnapshotName::from_random_bits(number), at(0), &[]);
            known
        })
        .collect();
    let outcomes = join_all(records.iter().map(|known| store.save_knowledge(known))).await;
    let won: Vec<&AgentKnowledge> = records
        .iter()
        .zip(outcomes)
        .filter_map(|(known, outcome)| (outcome.unwrap() == WriteOutcome::Written).then_some(known))
        .collect();
    let [won] = won.as_slice() else {
        panic!("{} writers won", won.len());
    };
    assert_found(store, won).await;
}

pub async fn records_are_listed_by_their_tenant<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    let longer = TenantId::parse(&format!("{one}-2")).unwrap();
    let mut expected = Vec::new();
    for named in ["a", "a b", "b", "c"] {
        // Another tenant may use the same agent's id once it is free.
        for tenant in [&one, &other, &longer] {
            let known = begun(tenant, &AgentId::parse(named).unwrap());
            assert_written(store.save_knowledge(&known)).await;
            expected.extend((*tenant == one).then_some(known));
        }
    }
    assert_eq!(succeed(store.list_knowledge(&one, 10)).await, expected);
    assert_eq!(succeed(store.list_knowledge(&one, 2)).await, expected[..2]);
    assert_eq!(succeed(store.list_knowledge(&tenant(), 10)).await, []);
}

pub async fn a_deleted_record_is_gone_for_its_tenant_alone<S: Store>(store: &S) {
    let (one, other, agent) = (tenant(), tenant(), agent());
    for tenant in [&one, &other] {
        assert_written(store.save_knowledge(&begun(tenant, &agent))).await;
    }
    for _ in 0..2 {
        succeed(store.delete_knowledge(&one, &agent)).await;
    }
    assert_eq!(succeed(store.find_knowledge(&one, &agent)).await, None);
    assert_found(store, &begun(&other, &agent)).await;
    assert_written(store.save_knowledge(&begun(&one, &agent))).await;
}
