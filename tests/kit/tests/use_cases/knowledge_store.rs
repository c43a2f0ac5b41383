//! Vectors for which a snapshot has no room stand in a store of vectors: they find their blocks as those in memory do, and where the
//! store fails, words alone serve.

use crate::world::{EmbeddingModel, Model, Provider, Setup, Time};
use recado_domain::access::Caller;
use recado_domain::config::{Agent, ConfigDocument};
use recado_domain::ids::AgentId;
use recado_domain::knowledge::{FoundBlocks, KnowledgeLimits, SearchWay, SourceId, TurnKnowledge, VectorGap};
use recado_domain::wake_up::{TurnJob, TurnsJob};
use recado_embedded::Embedded;
use recado_pipeline::configure::{ConfigureError, EntryMatch, remove_entry};
use recado_pipeline::knowledge::{
    AddedSource, NewDocument, SourceOutcome, VectorState, add_source, embed_knowledge, list_sources,
    remove_source, search_knowledge,
};
use recado_pipeline::ports::OutboxStore;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::settings::RewriteWay;
use recado_pipeline::{Components, Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::kept_queues::{KeptQueues, KillPoint};
use recado_testkit::kept_vectors::{KeptVectors, VectorMood};
use recado_testkit::ports::succeed;

const PRICES: &str = "# Prices\nThe vaccine costs 90 euros.\n\n# Parking\nThere is a garage.";
const HOURS: &str = "# Hours\nWe open at nine.";
const QUESTION: &str = "Jabs: jab jab jab?";

type World = Components<Embedded, KeptQueues<Time>, Provider, Model, Time>;

/// Makes the world of another process, whose snapshots have room for the vectors of so many blocks with 1,536 dimensions. Those of the
/// tests have 256.
fn open_world(setup: &Setup, queues: KeptQueues<Time>, vectors: usize) -> World {
    let llm = Model::default();
    *llm.says.lock().unwrap() = Some("Ok".to_owned());
    *llm.embedding.lock().unwrap() = Some(EmbeddingModel::named("m"));
    let mut settings = setup.world.settings().clone();
    settings.rewriting.way = RewriteWay::Off;
    settings.knowledge = KnowledgeLimits { blocks: 50, vectors };
    Components::new(
        setup.world.store.clone(),
        queues,
        setup.world.providers.clone(),
        llm,
        setup.world.system.clone(),
        settings,
    )
}

struct Desk {
    setup: Setup,
    world: World,
    store: KeptVectors,
    /// The step before which a process ends: a call of the queues or of the files.
    before: KillPoint,
    agent: AgentId,
}

impl Desk {
    /// Opens one whose snapshots have no room, so that all vectors stand in the store.
    async fn open() -> Self {
        let fixture = Fixture::new();
        let agent = fixture.bound.agent.id.clone();
        let setup = Setup::set(fixture).await;
        let clock = setup.world.system.clone();
        let before = KillPoint::default();
        let queues = KeptQueues::new(clock, before.clone(), KillPoint::default());
        let store = queues.vectors.clone();
        store.set_mood(VectorMood::Well);
        let world = open_world(&setup, queues, 0);
        Self {
            setup,
            world,
            store,
            before,
            agent,
        }
    }

    fn set_room(&mut self, vectors: usize) {
        self.world.deps_mut().settings_mut().knowledge.vectors = vectors;
    }

    async fn add_to(&self, agent: &AgentId, title: &str, text: &str) -> AddedSource {
        let document = NewDocument {
            title: title.to_owned(),
            content_type: None,
            bytes: text.as_bytes().to_vec(),
        };
        let added = add_source(&self.world, &Caller::installation(), agent, document).await;
        added.unwrap()
    }

    async fn add(&self, title: &str, text: &str) -> AddedSource {
        self.add_to(&self.agent, title, text).await
    }

    async fn remove(&self, source: &SourceId) {
        let removed = remove_source(&self.world, &Caller::installation(), &self.agent, source).await;
        removed.unwrap();
    }

    /// Adds an agent that no instance needs.
    async fn add_spare_agent(&self) -> AgentId {
        let spare = AgentId::parse("spare").unwrap();
        let agent = Agent {
            id: spare.clone(),
            ..self.setup.fixture.bound.agent.clone()
        };
        let document = ConfigDocument {
            agents: vec![agent],
            ..ConfigDocument::default()
        };
        succeed(put_configuration(&self.world.store, &document)).await;
        spare
    }

    async fn remove_agent(&self, agent: &AgentId) -> Result<(), ConfigureError> {
        let caller = Caller::installation();
        remove_entry::<Agent>(&self.world, &caller, agent.as_str(), &EntryMatch::Any, false)
            .await
            .map(|_| ())
    }

    async fn search_in(&self, world: &World, question: &str) -> FoundBlocks {
        let found = search_knowledge(world, &Caller::installation(), &self.agent, question, 5).await;
        found.unwrap()
    }

    async fn search(&self, question: &str) -> FoundBlocks {
        self.search_in(&self.world, question).await
    }

    async fn embed(&self) -> VectorState {
        let state = embed_knowledge(&self.world, &Caller::installation(), &self.agent, false).await;
        state.unwrap()
    }

    async fn listed(&self) -> VectorState {
        let listed = list_sources(&self.world, &Caller::installation(), &self.agent).await;
        listed.unwrap().vectors
    }

    /// Asks in a turn, and returns what the reply says of the documents.
    async fn asks(&self, id: &str, question: &str) -> TurnKnowledge {
        let fixture = &self.setup.fixture;
        self.setup.message(fixture, id, question, false).await;
        self.setup.pass(10);
        let conversation = self.setup.latest_conversation().await.unwrap();
        let job = TurnsJob::Turn(TurnJob {
            conversation: conversation.id.clone(),
            tenant: conversation.tenant.clone(),
            ordinal: conversation.turn_upto,
            correlation: correlation(),
            parent: None,
            due: None,
        });
        let body = serde_json::to_string(&job).unwrap();
        let verdict = handle_turns_message(&self.world, &body, 1, None).await;
        assert_eq!(verdict, Verdict::Done);
        let open = succeed(self.world.store.list_open_messages(conversation.id.thread_id())).await;
        let reply = open.into_iter().next_back().unwrap();
        let turn = reply.out.as_ref().and_then(|out| out.turn.as_ref());
        turn.and_then(|turn| turn.knowledge.clone()).unwrap()
    }
}

/// Returns the places of the blocks that were found.
fn places(found: &FoundBlocks) -> Vec<&str> {
    found.blocks.iter().map(|block| block.place.as_str()).collect()
}

#[tokio::test]
async fn an_agent_without_room_for_vectors_is_found_by_those_in_the_store() {
    let desk = Desk::open().await;
    let added = desk.add("prices.md", PRICES).await;
    assert_eq!(
        (added.vectors.blocks, added.vectors.missing, added.vectors.gap),
        (2, 0, None)
    );
    assert_eq!(desk.store.count_vectors(), [2]);
    desk.store.take_requests();
    let found = desk.search(QUESTION).await;
    assert_eq!((found.search, found.gap), (SearchWay::Hybrid, None));
    assert_eq!(found.blocks[0].place, "Prices");
    assert!(found.blocks[0].cosine.is_some() && found.blocks[0].lexical.is_none());
    assert_eq!(desk.store.take_requests(), 1, "a search asks the store once");
    let known = desk.asks("Q1", QUESTION).await;
    assert_eq!((known.search, known.vectors), (SearchWay::Hybrid, None));
    assert_eq!(known.blocks[0].place, "Prices");
    // Another process reads the same from the snapshot.
    let other = open_world(&desk.setup, desk.world.queues.clone(), 0);
    assert_eq!(desk.search_in(&other, QUESTION).await, found);
}

#[tokio::test]
async fn an_agent_with_room_never_asks_the_store() {
    let mut desk = Desk::open().await;
    desk.set_room(50);
    let added = desk.add("prices.md", PRICES).await;
    desk.search(QUESTION).await;
    desk.remove(&added.source.id).await;
    assert_eq!(desk.store.take_requests(), 0);
}

#[tokio::test]
async fn vectors_in_memory_and_in_the_store_find_their_blocks_together() {
    let mut desk = Desk::open().await;
    desk.set_room(50);
    desk.add("prices.md", PRICES).await;
    let alone = desk.search(QUESTION).await;
    desk.set_room(0);
    desk.add("hours.md", HOURS).await;
    assert_eq!(desk.store.count_vectors(), [1], "what is in memory stays there");
    let found = desk.search("Jabs: we open jab").await;
    assert_eq!(found.search, SearchWay::Hybrid);
    assert!(
        found.blocks.iter().all(|block| block.cosine.is_some()),
        "{found:?}"
    );
    assert!(places(&found).contains(&"Hours") && places(&found).contains(&"Prices"));
    assert_eq!(alone.blocks[0], desk.search(QUESTION).await.blocks[0]);
}

#[tokio::test]
async fn a_store_that_fails_leaves_a_turn_its_words_and_says_so() {
    let moods = [
        (VectorMood::Down, VectorGap::StoreFailed),
        (VectorMood::Hangs, VectorGap::StoreFailed),
        (VectorMood::NotSetUp, VectorGap::NoStore),
    ];
    for (mood, gap) in moods {
        let desk = Desk::open().await;
        desk.add("prices.md", PRICES).await;
        desk.store.set_mood(mood);
        let known = desk.asks("Q1", "What does the vaccine cost?").await;
        assert_eq!(
            (known.search, known.vectors, known.gap),
            (SearchWay::Lexical, Some(gap), None)
        );
        assert_eq!(known.blocks.len(), 1, "{gap:?}");
    }
}

#[tokio::test]
async fn a_document_goes_in_with_words_alone_while_the_store_fails_and_gets_its_vectors_later() {
    for mood in [VectorMood::Down, VectorMood::Hangs] {
        let desk = Desk::open().await;
        desk.store.set_mood(mood);
        let added = desk.add("prices.md", PRICES).await;
        assert_eq!(
            (added.outcome, added.vectors.gap, added.vectors.missing),
            (SourceOutcome::Added, Some(VectorGap::StoreFailed), 2)
        );
        assert_eq!(desk.search("vaccine").await.blocks.len(), 1);
        desk.store.set_mood(VectorMood::Well);
        let again = desk.add("prices.md", PRICES).await;
        assert_eq!((again.vectors.gap, again.vectors.missing), (None, 0));
        assert_eq!(desk.search(QUESTION).await.blocks[0].place, "Prices");
    }
}

#[tokio::test]
async fn a_source_that_is_removed_leaves_no_vector_and_is_not_found_even_where_one_stayed() {
    let desk = Desk::open().await;
    let prices = desk.add("prices.md", PRICES).await;
    let hours = desk.add("hours.md", HOURS).await;
    assert_eq!(desk.store.count_vectors(), [3]);
    desk.remove(&hours.source.id).await;
    assert_eq!(desk.store.count_vectors(), [2]);
    let copy = desk.add("copy.md", PRICES).await;
    desk.store.set_mood(VectorMood::Down);
    desk.remove(&prices.source.id).await;
    desk.store.set_mood(VectorMood::Well);
    assert_eq!(desk.store.count_vectors(), [2], "the copy has the same blocks");
    assert_eq!(desk.search(QUESTION).await.blocks[0].title, "copy.md");
    desk.add("hours.md", HOURS).await;
    desk.store.set_mood(VectorMood::Down);
    desk.remove(&copy.source.id).await;
    desk.store.set_mood(VectorMood::Well);
    assert_eq!(desk.store.count_vectors(), [3], "two could not be deleted");
    let found = desk.search(QUESTION).await;
    assert_eq!((places(&found), found.search), (vec!["Hours"], SearchWay::Hybrid));
}

#[tokio::test]
async fn vectors_in_a_store_that_is_not_set_up_any_more_are_made_again_on_demand() {
    let mut desk = Desk::open().await;
    desk.add("prices.md", PRICES).await;
    desk.store.set_mood(VectorMood::NotSetUp);
    desk.set_room(50);
    let listed = desk.listed().await;
    assert_eq!(
        (listed.gap, listed.find_search_way()),
        (Some(VectorGap::NoStore), SearchWay::Lexical)
    );
    let state = desk.embed().await;
    assert_eq!((state.blocks, state.missing, state.gap), (2, 0, None));
    let found = desk.search(QUESTION).await;
    assert_eq!((found.search, places(&found)[0]), (SearchWay::Hybrid, "Prices"));
}

#[tokio::test]
async fn another_model_has_an_index_of_its_own_and_the_one_before_goes() {
    let desk = Desk::open().await;
    desk.add("prices.md", PRICES).await;
    let rename = |name| desk.world.llm.embedding.lock().unwrap().as_mut().unwrap().name = name;
    rename("n");
    let state = desk.embed().await;
    assert_eq!((state.model.as_deref(), state.blocks), (Some("n"), 2));
    assert_eq!(desk.store.count_vectors(), [2]);
    assert_eq!(desk.search(QUESTION).await.blocks[0].place, "Prices");
}

#[tokio::test]
async fn an_agent_is_removed_with_its_index_and_no_other_agent_loses_one() {
    let desk = Desk::open().await;
    let spare = desk.add_spare_agent().await;
    desk.add("prices.md", PRICES).await;
    desk.add_to(&spare, "hours.md", HOURS).await;
    assert_eq!(desk.store.count_vectors().len(), 2);
    desk.store.set_mood(VectorMood::Down);
    let refused = desk.remove_agent(&spare).await;
    assert!(refused.is_err(), "nothing of it may be forgotten");
    desk.store.set_mood(VectorMood::Well);
    desk.remove_agent(&spare).await.unwrap();
    assert_eq!(desk.store.count_vectors(), [2]);
}

#[tokio::test]
async fn vectors_of_a_change_that_was_cut_off_are_not_found_and_go_with_the_agent() {
    let desk = Desk::open().await;
    let spare = desk.add_spare_agent().await;
    for agent in [&desk.agent, &spare] {
        let cut_off = desk.before.kill_at(1, desk.add_to(agent, "prices.md", PRICES));
        assert!(!cut_off.await, "it ends before the file of the snapshot is put");
    }
    assert_eq!(desk.store.count_vectors(), [2, 2]);
    desk.add("prices.md", PRICES).await;
    let found = desk.search(QUESTION).await;
    assert_eq!(places(&found)[0], "Prices");
    assert_eq!(
        found
            .blocks
            .iter()
            .filter(|block| block.place == "Prices")
            .count(),
        1
    );
    desk.remove_agent(&spare).await.unwrap();
    assert_eq!(
        desk.store.count_vectors(),
        [4],
        "those of the first change stay unseen"
    );
}
