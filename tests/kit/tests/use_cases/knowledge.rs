//! Documents go into the knowledge of an agent, change and leave it; two writers at once lose nothing.

use crate::world::{Setup, World, beside};
use futures::future::join_all;
use recado_domain::access::{Caller, Scope};
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{AgentKnowledge, KnowledgeSnapshot, SnapshotName, SourceId};
use recado_knowledge::{
    AddedSource, KnowledgeError, NewDocument, SourceOutcome, add_source, list_sources, remove_source,
    search_knowledge, show_source,
};
use recado_pipeline::ports::{FileBytes, Files};
use recado_pipeline::records::knowledge::find_knowledge;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

async fn setup() -> (Setup, AgentId) {
    let fixture = Fixture::new();
    let agent = fixture.bound.agent.id.clone();
    (Setup::set(fixture).await, agent)
}

async fn add(world: &World, agent: &AgentId, title: &str, text: &str) -> Result<AddedSource, KnowledgeError> {
    let document = NewDocument {
        title: title.to_owned(),
        content_type: None,
        bytes: text.as_bytes().to_vec(),
    };
    add_source(world, &Caller::installation(), agent, document).await
}

async fn found(world: &World, agent: &AgentId, question: &str) -> Vec<String> {
    let found = search_knowledge(world, &Caller::installation(), agent, question, 5).await;
    let found = found.unwrap().blocks.into_iter();
    found.map(|block| block.text).collect()
}

async fn record(setup: &Setup, agent: &AgentId) -> AgentKnowledge {
    let tenant = &setup.fixture.bound.tenant.id;
    let found = succeed(find_knowledge(&setup.world.store, tenant, agent)).await;
    found.unwrap().record
}

async fn has_file(setup: &Setup, name: &SnapshotName) -> bool {
    succeed(setup.world.queues.open_file(&name.file_key()))
        .await
        .is_some()
}

#[tokio::test]
async fn a_document_is_found_until_it_changes_and_then_the_new_one_until_it_is_removed() {
    let (setup, agent) = setup().await;
    let world = &setup.world;
    assert!(found(world, &agent, "vaccine").await.is_empty());
    let added = add(
        world,
        &agent,
        "prices.md",
        "# Prices\nThe vaccine costs 90 euros.",
    )
    .await
    .unwrap();
    assert_eq!((added.outcome, added.source.blocks), (SourceOutcome::Added, 1));
    assert_eq!(
        found(world, &agent, "What does the vaccine cost?").await,
        ["The vaccine costs 90 euros."]
    );
    let changed = add(
        world,
        &agent,
        "prices.md",
        "# Prices\nThe vaccine costs 95 euros.",
    )
    .await
    .unwrap();
    assert_eq!(
        (changed.outcome, &changed.source.id),
        (SourceOutcome::Replaced, &added.source.id)
    );
    // Another process has the old snapshot in memory, or none.
    for world in [world, &beside(world)] {
        assert_eq!(
            found(world, &agent, "vaccine").await,
            ["The vaccine costs 95 euros."]
        );
    }
    let caller = Caller::installation();
    let (source, blocks) = show_source(world, &caller, &agent, &added.source.id)
        .await
        .unwrap();
    assert_eq!(
        (source.title.as_str(), blocks[0].place.as_str()),
        ("prices.md", "Prices")
    );
    remove_source(world, &caller, &agent, &added.source.id)
        .await
        .unwrap();
    assert!(found(world, &agent, "vaccine").await.is_empty());
    let again = remove_source(world, &caller, &agent, &added.source.id).await;
    assert!(matches!(again, Err(KnowledgeError::NoSource)));
}

#[tokio::test]
async fn the_same_document_once_more_writes_nothing_and_an_old_snapshot_is_deleted() {
    let (setup, agent) = setup().await;
    add(&setup.world, &agent, "a.md", "one").await.unwrap();
    let first = record(&setup, &agent).await;
    let same = add(&setup.world, &agent, "a.md", "one").await.unwrap();
    assert_eq!(same.outcome, SourceOutcome::Unchanged);
    assert_eq!(record(&setup, &agent).await, first);
    add(&setup.world, &agent, "b.md", "two").await.unwrap();
    let second = record(&setup, &agent).await;
    assert_eq!((second.version, second.sources), (2, 2));
    assert!(!has_file(&setup, first.snapshot.as_ref().unwrap()).await);
    assert!(has_file(&setup, second.snapshot.as_ref().unwrap()).await);
}

#[tokio::test]
async fn words_that_an_earlier_version_found_in_another_way_are_found_anew_with_the_next_change() {
    let (setup, agent) = setup().await;
    let world = &setup.world;
    let text = "A recepção abre às nove\nObturação custa cento e dez";
    add(world, &agent, "precos.txt", text).await.unwrap();
    let name = record(&setup, &agent).await.snapshot.unwrap();
    let file = read_snapshot(&setup, &name).await;
    let mut old = file.clone();
    old.sources[0].analysis = 0;
    old.blocks[0].stems = "noveobtur".to_owned();
    let bytes = FileBytes::from_bytes(old.to_bytes().unwrap());
    let key = name.file_key();
    let put = world.queues.put_file(&key, "application/octet-stream", bytes);
    put.await.unwrap();
    add(world, &agent, "other.md", "Parking is free.").await.unwrap();
    let next = record(&setup, &agent).await.snapshot.unwrap();
    let next = read_snapshot(&setup, &next).await;
    let renewed = next
        .sources
        .iter()
        .find(|source| source.title == "precos.txt")
        .unwrap();
    assert_eq!(renewed, &file.sources[0]);
    assert!(next.blocks.contains(&file.blocks[0]), "{:?}", next.blocks);
    assert_eq!(found(world, &agent, "obturação").await.len(), 1);
}

async fn read_snapshot(setup: &Setup, name: &SnapshotName) -> KnowledgeSnapshot {
    let opened = succeed(setup.world.queues.open_file(&name.file_key())).await;
    let bytes = opened.unwrap().read_all().await.unwrap();
    KnowledgeSnapshot::from_bytes(&bytes).unwrap()
}

#[tokio::test]
async fn six_writers_at_once_lose_nothing_and_leave_one_file() {
    let (setup, agent) = setup().await;
    let titles: Vec<String> = (0..6).map(|number| format!("{number}.md")).collect();
    let adds = titles.iter().map(|title| add(&setup.world, &agent, title, title));
    for added in join_all(adds).await {
        added.unwrap();
    }
    let listed = list_sources(&setup.world, &Caller::installation(), &agent)
        .await
        .unwrap();
    let stored: Vec<&str> = listed
        .sources
        .iter()
        .map(|source| source.title.as_str())
        .collect();
    assert_eq!(
        (listed.version, stored),
        (6, titles.iter().map(String::as_str).collect())
    );
    let known = record(&setup, &agent).await;
    for spare in &known.spare {
        assert!(!has_file(&setup, &spare.name).await, "{spare:?}");
    }
}

#[tokio::test]
async fn a_bad_document_is_refused_by_its_name_and_the_rest_stays() {
    let (setup, agent) = setup().await;
    add(&setup.world, &agent, "good.md", "good").await.unwrap();
    for (title, bytes) in [
        ("empty.md", ""),
        ("blank.md", " \n "),
        ("bytes.bin", "\0\u{1}\u{2}\0"),
    ] {
        let refused = add(&setup.world, &agent, title, bytes)
            .await
            .unwrap_err()
            .to_string();
        assert!(refused.starts_with(&format!("{title}: ")), "{refused}");
    }
    for title in ["", "  ", "a\nb", &"x".repeat(301)] {
        assert!(matches!(
            add(&setup.world, &agent, title, "x").await,
            Err(KnowledgeError::Title)
        ));
    }
    assert_eq!(record(&setup, &agent).await.sources, 1);
}

#[tokio::test]
async fn the_agent_of_another_tenant_is_unknown() {
    let (setup, agent) = setup().await;
    let added = add(&setup.world, &agent, "a.md", "one").await.unwrap();
    let other = Caller {
        scope: Scope::Tenant(TenantId::parse("another").unwrap()),
        ..Caller::installation()
    };
    let world = &setup.world;
    let document = || NewDocument {
        title: "b.md".to_owned(),
        content_type: None,
        bytes: b"two".to_vec(),
    };
    let id: &SourceId = &added.source.id;
    let refused = [
        list_sources(world, &other, &agent).await.err(),
        show_source(world, &other, &agent, id).await.err(),
        search_knowledge(world, &other, &agent, "one", 5).await.err(),
        remove_source(world, &other, &agent, id).await.err(),
        add_source(world, &other, &agent, document()).await.err(),
        add(world, &AgentId::parse("nobody").unwrap(), "a.md", "one")
            .await
            .err(),
    ];
    for refused in refused {
        assert!(matches!(refused, Some(KnowledgeError::NoAgent)), "{refused:?}");
    }
    assert_eq!(record(&setup, &agent).await.sources, 1);
}

#[tokio::test]
async fn a_snapshot_whose_file_is_lost_is_an_error_and_not_an_empty_one() {
    let (setup, agent) = setup().await;
    add(&setup.world, &agent, "a.md", "one").await.unwrap();
    let name = record(&setup, &agent).await.snapshot.unwrap();
    succeed(setup.world.queues.delete_file(&name.file_key())).await;
    let listed = list_sources(&setup.world, &Caller::installation(), &agent).await;
    assert!(matches!(listed, Err(KnowledgeError::Port(_))), "{listed:?}");
    let refused = add(&setup.world, &agent, "b.md", "two").await;
    assert!(matches!(refused, Err(KnowledgeError::Port(_))));
    assert!(matches!(
        recado_knowledge::search_knowledge(&setup.world, &Caller::installation(), &agent, "one", 5).await,
        Err(KnowledgeError::Port(_))
    ));
}

#[tokio::test]
async fn blocks_are_as_long_as_the_setting_says() {
    let (mut setup, agent) = setup().await;
    let text = "The vaccine costs 90 euros and is given on Mondays. ".repeat(30);
    let usual = add(&setup.world, &agent, "a.md", &text).await.unwrap();
    setup.world.deps_mut().settings_mut().knowledge_block_characters = 200;
    let short = add(&setup.world, &agent, "b.md", &text).await.unwrap();
    assert!(
        short.source.blocks > 3 * usual.source.blocks,
        "{} and {}",
        short.source.blocks,
        usual.source.blocks
    );
}

#[tokio::test]
async fn an_agent_has_no_more_blocks_than_the_setting_says() {
    let (mut setup, agent) = setup().await;
    let first = add(&setup.world, &agent, "a.md", "# One\none\n# Two\ntwo")
        .await
        .unwrap();
    assert_eq!(first.source.blocks, 2);
    setup.world.deps_mut().settings_mut().knowledge.blocks = 2;
    let refused = add(&setup.world, &agent, "b.md", "three").await.unwrap_err();
    assert!(refused.to_string().contains("2 blocks at most"), "{refused}");
    add(&setup.world, &agent, "a.md", "# One\none").await.unwrap();
    add(&setup.world, &agent, "b.md", "three").await.unwrap();
}
