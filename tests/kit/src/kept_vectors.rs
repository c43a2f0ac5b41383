//! A store of vectors in memory, which keeps what comes as S3 Vectors does.

use async_trait::async_trait;
use recado_domain::knowledge::{NearVector, VectorIndexName, VectorKey, normalize_length};
use recado_ports::ports::{NEAREST_MAX, PortError, PortResult, VectorStore};
use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The vectors of one index by their keys.
type KeptIndex = BTreeMap<VectorKey, Vec<f32>>;

/// The way in which a store of vectors answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VectorMood {
    /// There is none.
    #[default]
    NotSetUp,
    /// It works.
    Well,
    /// Every request fails.
    Down,
    /// No request ends.
    Hangs,
}

#[derive(Debug, Default)]
struct Kept {
    mood: VectorMood,
    indexes: BTreeMap<VectorIndexName, KeptIndex>,
    requests: usize,
}

/// The store. Clones are the same one. There is none until [`Self::set_mood`] says that it works.
#[derive(Debug, Clone, Default)]
pub struct KeptVectors(Arc<Mutex<Kept>>);

impl KeptVectors {
    /// Makes one that works.
    pub fn set_up() -> Self {
        let made = Self::default();
        made.set_mood(VectorMood::Well);
        made
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the way in which it answers.
    pub fn set_mood(&self, mood: VectorMood) {
        self.kept().mood = mood;
    }

    /// Returns the number of vectors in each index.
    pub fn count_vectors(&self) -> Vec<usize> {
        self.kept().indexes.values().map(BTreeMap::len).collect()
    }

    /// Returns the number of requests since the last call.
    pub fn take_requests(&self) -> usize {
        std::mem::take(&mut self.kept().requests)
    }

    async fn answer<T>(&self, work: impl FnOnce(&mut Kept) -> PortResult<T> + Send) -> PortResult<T> {
        let mood = {
            let mut kept = self.kept();
            kept.requests += 1;
            kept.mood
        };
        match mood {
            VectorMood::Well => work(&mut self.kept()),
            VectorMood::NotSetUp => Err(PortError::invalid("vectors", "no store is set up")),
            VectorMood::Down => Err(PortError::unavailable("vectors", "the store is down")),
            VectorMood::Hangs => pending().await,
        }
    }
}

fn measure_cosine(left: &[f32], right: &[f32]) -> f32 {
    let (left, right) = (normalize_length(left), normalize_length(right));
    left.iter().zip(&right).map(|(left, right)| left * right).sum()
}

fn refuse_other_dimension() -> PortError {
    PortError::invalid("vectors", "the index has other dimensions")
}

#[async_trait]
impl VectorStore for KeptVectors {
    fn has_vector_store(&self) -> bool {
        self.kept().mood != VectorMood::NotSetUp
    }

    async fn put_vectors(
        &self,
        index: &VectorIndexName,
        vectors: &[(VectorKey, Vec<f32>)],
    ) -> PortResult<()> {
        self.answer(|kept| {
            let known = kept.indexes.entry(index.clone()).or_default();
            let dimensions = known.values().chain(vectors.iter().map(|(_, vector)| vector));
            let mut dimensions = dimensions.map(Vec::len);
            let first = dimensions.next();
            if dimensions.any(|other| Some(other) != first) {
                return Err(refuse_other_dimension());
            }
            known.extend(vectors.iter().cloned());
            Ok(())
        })
        .await
    }

    async fn find_nearest(
        &self,
        index: &VectorIndexName,
        question: &[f32],
        limit: usize,
    ) -> PortResult<Vec<NearVector>> {
        self.answer(|kept| {
            let missing = || PortError::unavailable("vectors", "there is no such index");
            let known = kept.indexes.get(index).ok_or_else(missing)?;
            if known.values().any(|vector| vector.len() != question.len()) {
                return Err(refuse_other_dimension());
            }
            let near = known.iter().map(|(key, vector)| NearVector {
                key: *key,
                cosine: measure_cosine(vector, question),
            });
            let mut near: Vec<NearVector> = near.collect();
            near.sort_by(|one, other| other.cosine.total_cmp(&one.cosine));
            near.truncate(limit.min(NEAREST_MAX));
            Ok(near)
        })
        .await
    }

    async fn delete_vectors(&self, index: &VectorIndexName, keys: &[VectorKey]) -> PortResult<()> {
        self.answer(|kept| {
            if let Some(known) = kept.indexes.get_mut(index) {
                known.retain(|key, _| !keys.contains(key));
            }
            Ok(())
        })
        .await
    }

    async fn delete_vector_index(&self, index: &VectorIndexName) -> PortResult<()> {
        self.answer(|kept| {
            kept.indexes.remove(index);
            Ok(())
        })
        .await
    }
}
