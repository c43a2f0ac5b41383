//! The records of agents' knowledge.

use super::given::{assert_conflict, assert_written};
use crate::builders::{Fixture, at, fresh};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::ids::{AgentId, Nonce, TenantId};
use recado_domain::knowledge::{AgentKnowledge, KnowledgeSnapshot, SnapshotName};
use recado_ports::ports::{Store, WriteOutcome};
use recado_ports::records::knowledge::{delete_knowledge, find_knowledge, list_knowledge};
use recado_ports::table::{Versioned, write_record};

fn tenant() -> TenantId {
    Fixture::new().bound.tenant.id
}

fn agent() -> AgentId {
    AgentId::parse(&fresh("agent")).unwrap()
}

/// A record that is ready for its first write: a snapshot of it is about to be written.
fn begun(tenant: &TenantId, agent: &AgentId) -> AgentKnowledge {
    let born = Nonce::parse("born").unwrap();
    let mut known = AgentKnowledge::begin(tenant.clone(), agent.clone(), born);
    known.begin_snapshot(SnapshotName::from_random_bits(7), at(0), &[]);
    known
}

async fn assert_found<S: Store>(store: &S, expected: &AgentKnowledge) {
    let found = succeed(find_knowledge(store, &expected.tenant, &expected.agent)).await;
    assert_eq!(found.map(|found| found.record).as_ref(), Some(expected));
}

async fn is_found<S: Store>(store: &S, tenant: &TenantId, agent: &AgentId) -> bool {
    succeed(find_knowledge(store, tenant, agent)).await.is_some()
}

/// Writes a record that is not stored yet, and returns it as it is stored.
async fn write_new<S: Store>(store: &S, known: AgentKnowledge) -> Versioned<AgentKnowledge> {
    let mut known = Versioned::new(known);
    assert_written(write_record(store, &mut known)).await;
    known
}

/// Makes the first snapshot the present one.
fn switch(known: &mut AgentKnowledge) {
    let snapshot = KnowledgeSnapshot {
        version: 1,
        ..KnowledgeSnapshot::default()
    };
    assert!(known.switch_snapshot(&SnapshotName::from_random_bits(7), &snapshot, at(1)));
}

pub async fn a_record_is_found_as_it_was_written<S: Store>(store: &S) {
    let (tenant, agent) = (tenant(), agent());
    assert!(!is_found(store, &tenant, &agent).await);
    let mut known = write_new(store, begun(&tenant, &agent)).await;
    assert_found(store, &known.record).await;
    switch(&mut known.record);
    assert_written(write_record(store, &mut known)).await;
    assert_found(store, &known.record).await;
}

pub async fn a_write_of_an_old_version_is_refused<S: Store>(store: &S) {
    let (tenant, agent) = (tenant(), agent());
    let known = write_new(store, begun(&tenant, &agent)).await;
    let mut next = known.clone();
    next.record
        .begin_snapshot(SnapshotName::from_random_bits(8), at(1), &[]);
    assert_written(write_record(store, &mut next)).await;
    let mut late = known.clone();
    late.record
        .begin_snapshot(SnapshotName::from_random_bits(9), at(2), &[]);
    assert_conflict(write_record(store, &mut late)).await;
    let mut another = begun(&tenant, &agent);
    another.blocks = 9;
    assert_conflict(write_record(store, &mut Versioned::new(another))).await;
    assert_found(store, &next.record).await;
    // A record that was deleted meanwhile is not written again by a change of it.
    succeed(delete_knowledge(store, &tenant, &agent)).await;
    next.record
        .begin_snapshot(SnapshotName::from_random_bits(10), at(3), &[]);
    assert_conflict(write_record(store, &mut next)).await;
}

/// A record has another random version with each write.
pub async fn the_knowledge_of_an_agent_that_is_made_again_is_another<S: Store>(store: &S) {
    let (tenant, agent) = (tenant(), agent());
    let mut late = write_new(store, begun(&tenant, &agent)).await;
    succeed(delete_knowledge(store, &tenant, &agent)).await;
    let again = write_new(store, begun(&tenant, &agent)).await;
    // A large document of the agent before was read until now. Both records say the same.
    switch(&mut late.record);
    assert_conflict(write_record(store, &mut late)).await;
    assert_found(store, &again.record).await;
}

pub async fn of_ten_writers_at_once_one_wins<S: Store>(store: &S) {
    let (tenant, agent) = (tenant(), agent());
    let begin = |number| {
        let mut known = begun(&tenant, &agent);
        known.begin_snapshot(SnapshotName::from_random_bits(number), at(0), &[]);
        Versioned::new(known)
    };
    let mut records: Vec<Versioned<AgentKnowledge>> = (10..20).map(begin).collect();
    let outcomes = join_all(records.iter_mut().map(|known| write_record(store, known))).await;
    let won: Vec<&Versioned<AgentKnowledge>> = records
        .iter()
        .zip(outcomes)
        .filter_map(|(known, outcome)| (outcome.unwrap() == WriteOutcome::Written).then_some(known))
        .collect();
    let [won] = won.as_slice() else {
        panic!("{} writers won", won.len());
    };
    assert_found(store, &won.record).await;
}

pub async fn records_are_listed_by_their_tenant<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    let longer = TenantId::parse(&format!("{one}-2")).unwrap();
    let mut expected = Vec::new();
    for named in ["a", "a b", "b", "c"] {
        // Another tenant may use the same agent's id once it is free.
        for tenant in [&one, &other, &longer] {
            let known = begun(tenant, &AgentId::parse(named).unwrap());
            let known = write_new(store, known).await.record;
            expected.extend((*tenant == one).then_some(known));
        }
    }
    assert_eq!(succeed(list_knowledge(store, &one, 10)).await, expected);
    assert_eq!(succeed(list_knowledge(store, &one, 2)).await, expected[..2]);
    assert_eq!(succeed(list_knowledge(store, &tenant(), 10)).await, []);
}

pub async fn a_deleted_record_is_gone_for_its_tenant_alone<S: Store>(store: &S) {
    let (one, other, agent) = (tenant(), tenant(), agent());
    for tenant in [&one, &other] {
        write_new(store, begun(tenant, &agent)).await;
    }
    for _ in 0..2 {
        succeed(delete_knowledge(store, &one, &agent)).await;
    }
    assert!(!is_found(store, &one, &agent).await);
    assert_found(store, &begun(&other, &agent)).await;
    write_new(store, begun(&one, &agent)).await;
}
