use super::{PortError, PortResult};
use async_trait::async_trait;
use recado_domain::knowledge::{NearVector, VectorIndexName, VectorKey};

/// The largest number of vectors that one search returns.
pub const NEAREST_MAX: usize = 100;

/// A store of vectors outside of the process. It keeps those for which a snapshot has no room, each agent's in an index of its own. The
/// default is that there is none.
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// Returns `true` if there is a store.
    fn has_vector_store(&self) -> bool {
        false
    }

    /// Puts vectors of equal dimensions into an index, which is made if it is not there. A key that is there is replaced. Where some
    /// could not be put, others may be there.
    async fn put_vectors(
        &self,
        index: &VectorIndexName,
        vectors: &[(VectorKey, Vec<f32>)],
    ) -> PortResult<()> {
        let _ = (index, vectors);
        Err(refuse_without_store())
    }

    /// Finds the vectors of an index that are nearest to a question's, by their cosines, the nearest first: at most `limit`, and at most
    /// [`NEAREST_MAX`]. An index that does not exist is an error, since its vectors were lost.
    async fn find_nearest(
        &self,
        index: &VectorIndexName,
        question: &[f32],
        limit: usize,
    ) -> PortResult<Vec<NearVector>> {
        let _ = (index, question, limit);
        Err(refuse_without_store())
    }

    /// Deletes vectors of an index. What does not exist is no error.
    async fn delete_vectors(&self, index: &VectorIndexName, keys: &[VectorKey]) -> PortResult<()> {
        let _ = (index, keys);
        Err(refuse_without_store())
    }

    /// Deletes an index with all its vectors. One that does not exist is no error.
    async fn delete_vector_index(&self, index: &VectorIndexName) -> PortResult<()> {
        let _ = index;
        Err(refuse_without_store())
    }
}

fn refuse_without_store() -> PortError {
    PortError::invalid("vectors", "no store of vectors is set up")
}
