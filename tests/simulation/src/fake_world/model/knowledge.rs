//! Embeds texts and searches knowledge, as the model does.

use super::Model;
use crate::fault_injector::CALM_FUNCTION;
use async_trait::async_trait;
use recado_domain::knowledge::{FoundBlocks, SnapshotName, SplitDocument};
use recado_pipeline::ports::{
    DocumentReader, DocumentToRead, Embedder, EmbeddingError, Embeddings, KnowledgeLibrary, KnownVectors,
    LibraryError, ReadingFailure, SearchedQuestion,
};
use recado_testkit::text_library::make_vector;
use std::time::Duration;

/// The name of the embedding model, and the dimensions of its vectors.
const EMBEDDING: (&str, usize) = ("embedding", 16);

#[async_trait]
impl Embedder for Model {
    fn embedding_model(&self) -> Option<&str> {
        Some(EMBEDDING.0)
    }

    async fn embed_texts(&self, texts: &[String], _: Duration) -> Result<Embeddings, EmbeddingError> {
        self.fake_world.note_embedded(texts);
        // Whoever adds the document belongs to the story: nothing happens to them.
        if self.injector.function != CALM_FUNCTION {
            self.injector.step("embedding").await;
        }
        let takes_ms = self.fake_world.state().embedding_takes_ms.take();
        if let Some(takes_ms) = takes_ms {
            self.injector.common.simulation.sleep(takes_ms).await;
        }
        let (fails, hangs) = {
            let mut state = self.fake_world.state();
            let fails = take_one(&mut state.embeddings_fail);
            (fails, !fails && take_one(&mut state.embeddings_hang))
        };
        if hangs {
            std::future::pending::<()>().await;
        }
        if fails {
            return Err(EmbeddingError::Unavailable {
                why: "503".to_owned(),
                after: None,
            });
        }
        let vectors = texts.iter().map(|text| make_vector(text, EMBEDDING.1));
        Ok(Embeddings {
            vectors: vectors.collect(),
            model: EMBEDDING.0.to_owned(),
            dimensions: EMBEDDING.1,
        })
    }
}

/// Takes one of a count; `false` if none is left.
fn take_one(count: &mut u32) -> bool {
    let is_left = *count > 0;
    *count = count.saturating_sub(1);
    is_left
}

#[async_trait]
impl DocumentReader for Model {}

#[async_trait]
impl KnowledgeLibrary for Model {
    async fn split_document(
        &self,
        title: &str,
        document: DocumentToRead<'_>,
        block_characters: usize,
    ) -> Result<SplitDocument, ReadingFailure> {
        Ok(self.library.split(title, &document.bytes, block_characters)?)
    }

    fn has_snapshot(&self, name: &SnapshotName) -> bool {
        self.library.has(name)
    }

    async fn load_snapshot(&self, name: &SnapshotName, bytes: Vec<u8>) -> Result<(), LibraryError> {
        self.library.load(name, &bytes)
    }

    fn find_snapshot_vectors(&self, name: &SnapshotName) -> Option<KnownVectors> {
        self.library.find_known_vectors(name)
    }

    async fn search_snapshot(
        &self,
        name: &SnapshotName,
        question: SearchedQuestion<'_>,
        limit: usize,
    ) -> Option<FoundBlocks> {
        self.injector.step("search").await;
        let hangs = {
            let mut state = self.fake_world.state();
            let hangs = take_one(&mut state.searches_hang);
            state.search_hung |= hangs;
            hangs
        };
        if hangs {
            std::future::pending::<()>().await;
        }
        self.library.search(name, question, limit)
    }
}
