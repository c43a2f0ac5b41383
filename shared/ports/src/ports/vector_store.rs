use super::{PortError, PortResult};
use recado_domain::knowledge::{NearVector, VectorIndexName, VectorKey};
use std::future::{Future, ready};

/// The largest number of vectors that one search returns.
pub const NEAREST_MAX: usize = 100;

/// A store of vectors outside of the process. It keeps those for which a snapshot has no room, each agent's in an index of its own. The
/// default is that there is none.
pub trait VectorStore: Send + Sync {
    /// Returns `true` if there is a store.
    fn has_vector_store(&self) -> bool {
        false
    }

    /// Puts vectors of equal dimensions into an index, which is made if it is not there. A key that is there is replaced. Where some
    /// could not be put, others may be there.
    fn put_vectors(
        &self,
        index: &VectorIndexName,
        vectors: &[(VectorKey, Vec<f32>)],
    ) -> impl Future<Output = PortResult<()>> + Send {
        let _ = (index, vectors);
        ready(Err(refuse_without_store()))
    }

    /// Finds the vectors of an index that are nearest to a question's, by their cosines, the nearest first: at most `limit`, and at most
    /// [`NEAREST_MAX`]. An index that does not exist is an error, since its vectors were lost.
    fn find_nearest(
        &self,
        index: &VectorIndexName,
        question: &[f32],
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<NearVector>>> + Send {
        let _ = (index, question, limit);
        ready(Err(refuse_without_store()))
    }

    /// Deletes vectors of an index. What does not exist is no error.
    fn delete_vectors(
        &self,
        index: &VectorIndexName,
        keys: &[VectorKey],
    ) -> impl Future<Output = PortResult<()>> + Send {
        let _ = (index, keys);
        ready(Err(refuse_without_store()))
    }

    /// Deletes an index with all its vectors. One that does not exist is no error.
    fn delete_vector_index(&self, index: &VectorIndexName) -> impl Future<Output = PortResult<()>> + Send {
        let _ = index;
        ready(Err(refuse_without_store()))
    }
}

fn refuse_without_store() -> PortError {
    PortError::invalid("vectors", "no store of vectors is set up")
}
