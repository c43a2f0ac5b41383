//! An agent is removed with its knowledge.

use crate::erasure::Site;
use crate::world::{EmbeddingModel, Setup};
use recado_configuration::{ApplyOptions, ConfigureError, EntryMatch, apply_configuration, remove_entry};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::config::{Agent, ConfigDocument, ConfigRemoval, EntryRef};
use recado_domain::ids::AgentId;
use recado_domain::knowledge::AgentKnowledge;
use recado_knowledge::{KnowledgeError, NewDocument, add_source};
use recado_pipeline::ports::{Files, PageRequest};
use recado_pipeline::records::audit::{AuditFilter, list_audit};
use recado_pipeline::records::configuration::{put_configuration, remove_configuration};
use recado_pipeline::records::knowledge::{delete_knowledge, find_knowledge};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

/// A tenant with a second agent, which no instance needs, and a document in its knowledge.
async fn setup_with_spare_agent() -> (Setup, AgentId) {
    let setup = Setup::set(Fixture::new()).await;
    let spare = add_spare_agent(&setup).await;
    (setup, spare)
}

async fn add_spare_agent(setup: &Setup) -> AgentId {
    let spare = AgentId::parse("spare").unwrap();
    succeed(put_configuration(&setup.world.store, &entry(setup, &spare))).await;
    add_document(setup, &spare).await;
    spare
}

/// A document with an agent of this name.
fn entry(setup: &Setup, id: &AgentId) -> ConfigDocument {
    let agent = Agent {
        id: id.clone(),
        ..setup.fixture.bound.agent.clone()
    };
    ConfigDocument {
        agents: vec![agent],
        ..ConfigDocument::default()
    }
}

async fn add_document(setup: &Setup, agent: &AgentId) {
    let document = NewDocument {
        title: "prices.md".to_owned(),
        content_type: None,
        bytes: b"The vaccine costs 90 euros.".to_vec(),
    };
    add_source(&setup.world, &Caller::installation(), agent, document)
        .await
        .unwrap();
}

async fn find_record(setup: &Setup, agent: &AgentId) -> Option<AgentKnowledge> {
    let tenant = &setup.fixture.bound.tenant.id;
    let found = succeed(find_knowledge(&setup.world.store, tenant, agent)).await;
    found.map(|found| found.record)
}

async fn count_files(setup: &Setup, keys: &[String]) -> usize {
    let mut count = 0;
    for key in keys {
        count += usize::from(succeed(setup.world.queues.open_file(key)).await.is_some());
    }
    count
}

async fn remove_agent(setup: &Setup, agent: &AgentId) -> Result<(), ConfigureError> {
    let caller = Caller::installation();
    remove_entry::<Agent>(&setup.world, &caller, agent.as_str(), &EntryMatch::Any, false)
        .await
        .map(|_| ())
}

async fn count_removals_in_audit(setup: &Setup) -> usize {
    let filter = AuditFilter {
        action: Some(AuditAction::KnowledgeChanged),
        ..AuditFilter::default()
    };
    let page = PageRequest::first(50);
    let listed = succeed(list_audit(&setup.world.store, &filter, &page)).await;
    let is_removal = |after: Option<&str>| after == Some("removed with the agent: 1 source");
    listed
        .items
        .iter()
        .filter(|entry| is_removal(entry.after.as_deref()))
        .count()
}

#[tokio::test]
async fn the_knowledge_of_an_agent_is_removed_with_it() {
    let (setup, spare) = setup_with_spare_agent().await;
    let keys = find_record(&setup, &spare).await.unwrap().list_file_keys();
    assert_eq!(count_files(&setup, &keys).await, 1);
    remove_agent(&setup, &spare).await.unwrap();
    assert_eq!(find_record(&setup, &spare).await, None);
    assert_eq!(count_files(&setup, &keys).await, 0);
    assert_eq!(count_removals_in_audit(&setup).await, 1);
    assert!(matches!(
        remove_agent(&setup, &spare).await,
        Err(ConfigureError::NotFound(_))
    ));
}

#[tokio::test]
async fn a_removal_that_was_cut_off_is_finished_by_the_next_request() {
    let (setup, spare) = setup_with_spare_agent().await;
    let keys = find_record(&setup, &spare).await.unwrap().list_file_keys();
    // As after a crash between the files and the record.
    for key in &keys {
        succeed(setup.world.queues.delete_file(key)).await;
    }
    remove_agent(&setup, &spare).await.unwrap();
    assert_eq!(find_record(&setup, &spare).await, None);
}

#[tokio::test]
async fn an_agent_that_is_needed_keeps_its_knowledge_and_a_pruned_one_loses_it() {
    let (setup, spare) = setup_with_spare_agent().await;
    let needed = setup.fixture.bound.agent.id.clone();
    add_document(&setup, &needed).await;
    assert!(remove_agent(&setup, &needed).await.is_err());
    let options = ApplyOptions {
        prune: true,
        ..ApplyOptions::default()
    };
    let named = setup.fixture.document();
    apply_configuration(&setup.world, &Caller::installation(), named, options)
        .await
        .unwrap();
    assert_eq!(find_record(&setup, &spare).await, None);
    assert_eq!(
        find_record(&setup, &needed).await.map(|known| known.sources),
        Some(1)
    );
    assert_eq!(count_removals_in_audit(&setup).await, 1);
}

#[tokio::test]
async fn a_document_that_is_added_while_its_agent_is_made_again_does_not_come_into_the_new_one() {
    for had_knowledge in [true, false] {
        let (setup, spare) = setup_with_spare_agent().await;
        let (store, tenant) = (setup.world.store.clone(), setup.fixture.bound.tenant.id.clone());
        if !had_knowledge {
            succeed(delete_knowledge(&store, &tenant, &spare)).await;
        }
        let (entry, id) = (entry(&setup, &spare), spare.clone());
        let model = EmbeddingModel::named("m");
        model.meanwhile.set(async move {
            let removal: ConfigRemoval = [EntryRef::Agent(id.clone())].into_iter().collect();
            succeed(delete_knowledge(&store, &tenant, &id)).await;
            succeed(remove_configuration(&store, &removal)).await;
            succeed(put_configuration(&store, &entry)).await;
        });
        *setup.world.llm.embedding.lock().unwrap() = Some(model);
        let document = NewDocument {
            title: "hours.md".to_owned(),
            content_type: None,
            bytes: b"We open at nine.".to_vec(),
        };
        let added = add_source(&setup.world, &Caller::installation(), &spare, document).await;
        assert!(matches!(added, Err(KnowledgeError::NoAgent)), "{added:?}");
        assert_eq!(find_record(&setup, &spare).await, None);
    }
}

#[tokio::test]
async fn an_agent_whose_knowledge_cannot_be_read_can_be_removed_and_made_again() {
    let site = Site::open().await;
    let spare = add_spare_agent(&site.setup).await;
    let database = rusqlite::Connection::open(site.folder.join("recado.db")).unwrap();
    let sql = "UPDATE records SET body = '{' WHERE partition GLOB 'knowledge#*'";
    let spoiled = database.execute(sql, []);
    assert_eq!(spoiled.unwrap(), 1);
    remove_agent(&site.setup, &spare).await.unwrap();
    assert_eq!(find_record(&site.setup, &spare).await, None);
    add_spare_agent(&site.setup).await;
    let again = find_record(&site.setup, &spare).await;
    assert_eq!(again.map(|known| known.sources), Some(1));
}
