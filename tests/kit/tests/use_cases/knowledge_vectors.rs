//! Blocks of documents get vectors, once each, and questions are searched for by them; without them words alone serve, and it is said.

use crate::world::{EmbeddingModel, Setup, World, beside};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::ids::AgentId;
use recado_domain::knowledge::{FoundBlocks, SearchWay, TurnKnowledge, VectorGap};
use recado_domain::message::Message;
use recado_knowledge::{
    AddedSource, NewDocument, SourceOutcome, VectorState, add_source, embed_knowledge, list_sources,
    remove_source, search_knowledge,
};
use recado_pipeline::ports::{EmbeddingError, PageRequest};
use recado_pipeline::records::audit::{AuditFilter, list_audit};
use recado_pipeline::records::knowledge::find_knowledge;
use recado_pipeline::settings::RewriteWay;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

const PRICES: &str = "# Prices\nThe vaccine costs 90 euros.\n\n# Parking\nThere is a garage.";
const QUESTION: &str = "Jabs: jab jab jab?";

struct Case {
    setup: Setup,
    agent: AgentId,
}

impl Case {
    async fn open(model: Option<EmbeddingModel>) -> Self {
        let fixture = Fixture::new();
        let agent = fixture.bound.agent.id.clone();
        let mut setup = Setup::set(fixture).await;
        setup.world.deps_mut().settings_mut().rewriting.way = RewriteWay::Off;
        *setup.world.llm.says.lock().unwrap() = Some("Ok".to_owned());
        *setup.world.llm.embedding.lock().unwrap() = model;
        Self { setup, agent }
    }

    fn world(&self) -> &World {
        &self.setup.world
    }

    fn change(&self, change: impl FnOnce(&mut EmbeddingModel)) {
        change(self.world().llm.embedding.lock().unwrap().as_mut().unwrap());
    }

    /// Gives snapshots room for the vectors of so many blocks with 1,536 dimensions.
    fn set_room(&mut self, blocks: usize) {
        self.setup.world.deps_mut().settings_mut().knowledge.vectors = blocks;
    }

    /// Returns the texts that the embedding model was asked for since the last call.
    fn asked(&self) -> Vec<String> {
        let mut asked = Vec::new();
        self.change(|model| asked = model.asked.drain(..).flatten().collect());
        asked
    }

    async fn add(&self, title: &str, text: &str) -> AddedSource {
        let document = NewDocument {
            title: title.to_owned(),
            content_type: None,
            bytes: text.as_bytes().to_vec(),
        };
        add_source(self.world(), &Caller::installation(), &self.agent, document)
            .await
            .unwrap()
    }

    async fn count_audited(&self) -> usize {
        let filter = AuditFilter {
            action: Some(AuditAction::KnowledgeChanged),
            ..AuditFilter::default()
        };
        let page = PageRequest::first(50);
        succeed(list_audit(&self.world().store, &filter, &page))
            .await
            .items
            .len()
    }

    async fn embed(&self, again: bool) -> VectorState {
        embed_knowledge(self.world(), &Caller::installation(), &self.agent, again)
            .await
            .unwrap()
    }

    async fn search(&self, question: &str) -> FoundBlocks {
        search_knowledge(self.world(), &Caller::installation(), &self.agent, question, 5)
            .await
            .unwrap()
    }

    async fn listed(&self) -> VectorState {
        let listed = list_sources(self.world(), &Caller::installation(), &self.agent).await;
        listed.unwrap().vectors
    }

    async fn version(&self) -> u64 {
        let tenant = &self.setup.fixture.bound.tenant.id;
        let found = succeed(find_knowledge(&self.world().store, tenant, &self.agent)).await;
        found.unwrap().record.version
    }

    /// Asks in a turn, and returns the reply.
    async fn asks(&self, id: &str, question: &str) -> Message {
        let fixture = &self.setup.fixture;
        self.setup.message(fixture, id, question, false).await;
        self.setup.pass(10);
        self.setup.turn(fixture).await
    }
}

fn used(reply: &Message) -> TurnKnowledge {
    let turn = reply.out.as_ref().and_then(|out| out.turn.as_ref());
    turn.and_then(|turn| turn.knowledge.clone()).unwrap()
}

fn unreachable_model() -> EmbeddingError {
    EmbeddingError::Unavailable {
        why: "503".to_owned(),
        after: None,
    }
}

#[tokio::test]
async fn a_block_is_asked_for_once_also_in_another_document_and_in_the_next_snapshot() {
    let case = Case::open(Some(EmbeddingModel::named("m"))).await;
    let added = case.add("prices.md", PRICES).await;
    assert_eq!(
        case.asked(),
        [
            "Prices\nThe vaccine costs 90 euros.",
            "Parking\nThere is a garage."
        ]
    );
    assert_eq!(
        (added.vectors.blocks, added.vectors.missing, added.vectors.gap),
        (2, 0, None)
    );
    let changed = PRICES.replace("90", "95");
    case.add("prices.md", &changed).await;
    assert_eq!(case.asked(), ["Prices\nThe vaccine costs 95 euros."]);
    let copy = case.add("copy.md", &changed).await;
    assert_eq!((case.asked().len(), copy.vectors.blocks), (0, 2));
    let caller = Caller::installation();
    remove_source(case.world(), &caller, &case.agent, &copy.source.id)
        .await
        .unwrap();
    let before = case.version().await;
    assert_eq!(
        case.add("prices.md", &changed).await.outcome,
        SourceOutcome::Unchanged
    );
    assert_eq!(case.embed(false).await.missing, 0);
    assert_eq!((case.asked().len(), case.version().await), (0, before));
    let listed = case.listed().await;
    assert_eq!(
        (listed.model.as_deref(), listed.dimensions, listed.blocks),
        (Some("m"), Some(256), 2)
    );
}

#[tokio::test]
async fn a_turn_finds_by_meaning_what_words_do_not_and_says_so() {
    let case = Case::open(Some(EmbeddingModel::named("m"))).await;
    case.add("prices.md", PRICES).await;
    let reply = case.asks("Q1", QUESTION).await;
    let known = used(&reply);
    assert_eq!((known.search, known.vectors), (SearchWay::Hybrid, None));
    assert_eq!(known.blocks[0].place, "Prices");
    let knew = case.world().llm.knew.lock().unwrap().clone().unwrap();
    assert!(knew.contains("The vaccine costs 90 euros."), "{knew}");
    let found = case.search(QUESTION).await;
    assert!(found.blocks[0].cosine.is_some() && found.blocks[0].lexical.is_none());
    // The vectors are those of the file: another process that read it finds the same.
    let other = beside(case.world());
    *other.llm.embedding.lock().unwrap() = Some(EmbeddingModel::named("m"));
    let again = search_knowledge(&other, &Caller::installation(), &case.agent, QUESTION, 5).await;
    assert_eq!(again.unwrap(), found);
}

#[tokio::test]
async fn an_embedding_model_that_fails_leaves_a_turn_its_words_and_is_asked_once() {
    type Fault = fn(&mut EmbeddingModel);
    let faults: [(Fault, VectorGap); 5] = [
        (
            |model| model.fails_after = Some((0, unreachable_model())),
            VectorGap::Unreachable,
        ),
        (
            |model| model.fails_after = Some((0, EmbeddingError::Credentials("401".to_owned()))),
            VectorGap::NoKey,
        ),
        (|model| model.hangs = true, VectorGap::TooSlow),
        (|model| model.dimensions = 64, VectorGap::OtherDimension),
        (|model| model.name = "another", VectorGap::OtherModel),
    ];
    for (fault, gap) in faults {
        let case = Case::open(Some(EmbeddingModel::named("m"))).await;
        case.add("prices.md", PRICES).await;
        case.asked();
        case.change(fault);
        let reply = case.asks("Q1", "What does the vaccine cost?").await;
        let known = used(&reply);
        assert_eq!(
            (known.search, known.vectors, known.gap),
            (SearchWay::Lexical, Some(gap), None)
        );
        assert_eq!((known.blocks.len(), reply.unanswered), (1, None), "{gap:?}");
        assert!(case.asked().len() <= 1, "{gap:?}");
    }
}

#[tokio::test]
async fn a_document_goes_in_with_words_alone_and_gets_its_vectors_later() {
    for failure in [unreachable_model(), EmbeddingError::TooSlow] {
        let case = Case::open(Some(EmbeddingModel::named("m"))).await;
        case.change(|model| model.fails_after = Some((0, failure.clone())));
        let added = case.add("prices.md", PRICES).await;
        assert_eq!(
            (added.outcome, added.vectors.gap, added.vectors.missing),
            (SourceOutcome::Added, Some(failure.explain_vector_gap()), 2)
        );
        assert_eq!(case.listed().await.gap, Some(VectorGap::NoVectors));
        let found = case.search("vaccine").await;
        assert_eq!(
            (found.search, found.gap, found.blocks.len()),
            (SearchWay::Lexical, Some(VectorGap::NoVectors), 1)
        );
        case.change(|model| model.fails_after = None);
        let again = case.add("prices.md", PRICES).await;
        assert_eq!(
            (again.outcome, again.vectors.gap, again.vectors.missing),
            (SourceOutcome::Unchanged, None, 0)
        );
        assert_eq!(case.search(QUESTION).await.search, SearchWay::Hybrid);
    }
}

#[tokio::test]
async fn what_was_made_before_a_failure_is_kept_and_the_rest_is_made_on_demand() {
    let case = Case::open(Some(EmbeddingModel::named("m"))).await;
    case.change(|model| model.fails_after = Some((1, unreachable_model())));
    let parts: Vec<String> = (0..100)
        .map(|number| format!("# Part {number}\nIt costs {number} euros."))
        .collect();
    let added = case.add("long.md", &parts.join("\n")).await;
    assert_eq!(
        (added.vectors.blocks, added.vectors.missing, added.vectors.gap),
        (64, 36, Some(VectorGap::Unreachable))
    );
    case.asked();
    case.change(|model| model.fails_after = None);
    let state = case.embed(false).await;
    assert_eq!((state.blocks, state.missing, state.gap), (100, 0, None));
    assert_eq!(case.asked().len(), 36);
}

#[tokio::test]
async fn another_model_takes_over_only_when_it_is_asked_to() {
    let case = Case::open(Some(EmbeddingModel::named("m"))).await;
    case.add("prices.md", PRICES).await;
    case.asked();
    case.change(|model| model.name = "n");
    let added = case.add("more.md", "We open at 9.").await;
    assert_eq!(added.vectors.gap, Some(VectorGap::OtherModel));
    assert_eq!(
        (case.asked().len(), case.listed().await.model.as_deref()),
        (0, Some("m"))
    );
    case.change(|model| model.fails_after = Some((0, unreachable_model())));
    let audited = case.count_audited().await;
    assert_eq!(
        case.embed(false).await.model.as_deref(),
        Some("m"),
        "nothing is dropped before"
    );
    assert_eq!(
        case.count_audited().await,
        audited,
        "nothing was written, and so nothing stands in the audit"
    );
    case.change(|model| model.fails_after = None);
    let state = case.embed(false).await;
    assert_eq!(
        (state.model.as_deref(), state.blocks, state.gap),
        (Some("n"), 3, None)
    );
    assert_eq!(case.count_audited().await, audited + 1);
    // The server behind the name changed.
    case.change(|model| model.dimensions = 64);
    let added = case.add("last.md", "We close at 5.").await;
    assert_eq!(added.vectors.gap, Some(VectorGap::OtherDimension));
    let state = case.embed(true).await;
    assert_eq!((state.dimensions, state.blocks, state.gap), (Some(64), 4, None));
    assert_eq!(case.search(QUESTION).await.search, SearchWay::Hybrid);
}

#[tokio::test]
async fn a_block_for_whose_vector_there_is_no_room_is_found_by_its_words_and_the_answer_says_so() {
    let mut case = Case::open(Some(EmbeddingModel::named("m"))).await;
    case.set_room(0);
    let added = case.add("prices.md", PRICES).await;
    let vectors = added.vectors;
    assert_eq!(
        (vectors.blocks, vectors.missing, vectors.gap),
        (0, 2, Some(VectorGap::TooLarge))
    );
    let found = case.search("vaccine").await;
    assert_eq!(
        (found.search, found.gap, found.blocks.len()),
        (SearchWay::Lexical, Some(VectorGap::NoVectors), 1)
    );
    case.set_room(2);
    let state = case.embed(false).await;
    assert_eq!((state.blocks, state.missing, state.gap), (2, 0, None));
    assert_eq!(case.search(QUESTION).await.search, SearchWay::Hybrid);
}

#[tokio::test]
async fn without_an_embedding_model_words_serve_and_it_is_said() {
    let case = Case::open(None).await;
    let added = case.add("prices.md", PRICES).await;
    assert_eq!(added.vectors.gap, Some(VectorGap::NotSetUp));
    let listed = case.listed().await;
    assert_eq!(
        (listed.find_search_way(), listed.gap),
        (SearchWay::Lexical, Some(VectorGap::NotSetUp))
    );
    assert_eq!(case.search("vaccine").await.gap, Some(VectorGap::NotSetUp));
    let known = used(&case.asks("Q1", "What does the vaccine cost?").await);
    assert_eq!(
        (known.search, known.vectors, known.blocks.len()),
        (SearchWay::Lexical, None, 1)
    );
    let state = case.embed(true).await;
    assert_eq!((state.gap, case.version().await), (Some(VectorGap::NotSetUp), 1));
}
