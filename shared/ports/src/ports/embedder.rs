use async_trait::async_trait;
use recado_domain::knowledge::VectorGap;
use std::time::Duration;

/// Vectors of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// One vector for each text, in their order. All have the same number of dimensions, and every number is finite.
    pub vectors: Vec<Vec<f32>>,
    /// Name of the model that made them. Vectors of different models cannot be compared.
    pub model: String,
    /// Number of dimensions of each vector; 0 if there are no vectors.
    pub dimensions: usize,
}

/// The reason why texts have no vectors. No variant contains words of the texts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingError {
    /// The installation has no embedding model.
    #[error("no embedding model is set up")]
    NotConfigured,
    /// The key is missing or was refused.
    #[error("the key of the embedding model was refused: {0}")]
    Credentials(String),
    /// The server was throttled, overloaded or unreachable.
    #[error("the embedding model is unavailable: {why}")]
    Unavailable {
        /// Description of the failure.
        why: String,
        /// Time that the server asks to wait.
        after: Option<Duration>,
    },
    /// The server did not answer in time.
    #[error("the embedding model did not answer in time")]
    TooSlow,
    /// The texts were refused, and would be refused again.
    #[error("the embedding model refused the texts: {0}")]
    Refused(String),
}

impl EmbeddingError {
    /// Returns the reason as records name it.
    pub fn explain_vector_gap(&self) -> VectorGap {
        match self {
            Self::NotConfigured => VectorGap::NotSetUp,
            Self::Credentials(_) => VectorGap::NoKey,
            Self::Unavailable { .. } => VectorGap::Unreachable,
            Self::TooSlow => VectorGap::TooSlow,
            Self::Refused(_) => VectorGap::Refused,
        }
    }

    /// Returns `true` if the same texts may get vectors later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Credentials(_) | Self::Unavailable { .. } | Self::TooSlow
        )
    }

    /// Returns the time that the server asks to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { after, .. } => *after,
            _ => None,
        }
    }
}

/// An embedding model, which makes vectors of texts.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns the name of the embedding model; `None` if there is none.
    fn embedding_model(&self) -> Option<&str> {
        None
    }

    /// Makes a vector of each text, in one attempt within this time: the caller repeats what may pass. A failure is one of all
    /// texts.
    async fn embed_texts(&self, texts: &[String], within: Duration) -> Result<Embeddings, EmbeddingError> {
        let _ = (texts, within);
        Err(EmbeddingError::NotConfigured)
    }
}
