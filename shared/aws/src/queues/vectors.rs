//! Vectors for which snapshots have no room, on S3 Vectors: one index for each agent and model in the installation's vector bucket.

use super::AwsQueues;
use crate::config::{require_setting, variable};
use crate::error::{error_code, invalid_request, port_error};
use async_trait::async_trait;
use aws_sdk_s3vectors::types::{DataType, DistanceMetric, PutInputVector, VectorData};
use recado_domain::knowledge::{NearVector, VectorIndexName, VectorKey};
use recado_ports::ports::{NEAREST_MAX, PortError, PortResult, System, VectorStore};

/// Maximum number of vectors that one request puts or deletes.
const TOGETHER: usize = 500;

/// Maximum size of the vectors of one request, in bytes. S3 Vectors takes 20 MiB; a smaller request is soon done.
const REQUEST_BYTES: usize = 8 * 1024 * 1024;

/// Size of one number in JSON at most, in bytes: the SDK writes it with the digits of a longer one.
const NUMBER_BYTES: usize = 25;

/// The code of an error about an index, a vector bucket or a vector that does not exist.
const NOT_FOUND: &str = "NotFoundException";

/// Returns the number of vectors of these dimensions that one request puts.
fn count_put_together(dimensions: usize) -> usize {
    let bytes = dimensions.saturating_mul(NUMBER_BYTES).max(1);
    (REQUEST_BYTES / bytes).clamp(1, TOGETHER)
}

/// Returns the cosine of two vectors from their distance.
fn to_cosine(distance: f32) -> f32 {
    1.0 - distance
}

impl<A: System> AwsQueues<A> {
    fn require_vector_bucket(&self, what: &'static str) -> PortResult<&str> {
        require_setting(what, variable::VECTOR_BUCKET, self.config.vector_bucket.as_ref())
    }

    /// Puts vectors in one request. Returns `false` if there is no such index.
    async fn put_together(
        &self,
        what: &'static str,
        bucket: &str,
        index: &VectorIndexName,
        vectors: &[(VectorKey, Vec<f32>)],
    ) -> PortResult<bool> {
        let vectors = write_input_vectors(what, vectors)?;
        let request = self.clients.open_s3_vectors().put_vectors();
        let request = request.vector_bucket_name(bucket).index_name(index.as_str());
        match request.set_vectors(Some(vectors)).send().await {
            Ok(_) => Ok(true),
            Err(error) if error_code(&error) == NOT_FOUND => Ok(false),
            Err(error) => Err(port_error(what, &error)),
        }
    }

    /// Creates an index. One that exists is left as it is.
    async fn create_index(
        &self,
        what: &'static str,
        bucket: &str,
        index: &VectorIndexName,
        dimensions: usize,
    ) -> PortResult<()> {
        let dimensions = i32::try_from(dimensions).map_err(|error| PortError::invalid(what, error))?;
        let request = self.clients.open_s3_vectors().create_index();
        let request = request
            .vector_bucket_name(bucket)
            .index_name(index.as_str())
            .data_type(DataType::Float32)
            .dimension(dimensions)
            .distance_metric(DistanceMetric::Cosine);
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) if error_code(&error) == "ConflictException" => Ok(()),
            Err(error) => Err(port_error(what, &error)),
        }
    }
}

/// Writes vectors as the SDK takes them.
fn write_input_vectors(
    what: &'static str,
    vectors: &[(VectorKey, Vec<f32>)],
) -> PortResult<Vec<PutInputVector>> {
    let written = vectors.iter().map(|(key, vector)| {
        let input = PutInputVector::builder()
            .key(key.to_key_text())
            .data(VectorData::Float32(vector.clone()));
        input.build().map_err(|error| invalid_request(what, error))
    });
    written.collect()
}

#[async_trait]
impl<A: System> VectorStore for AwsQueues<A> {
    fn has_vector_store(&self) -> bool {
        self.config.vector_bucket.is_some()
    }

    async fn put_vectors(
        &self,
        index: &VectorIndexName,
        vectors: &[(VectorKey, Vec<f32>)],
    ) -> PortResult<()> {
        const WHAT: &str = "keeping vectors";
        let bucket = self.require_vector_bucket(WHAT)?;
        let dimensions = vectors.first().map_or(0, |(_, vector)| vector.len());
        for together in vectors.chunks(count_put_together(dimensions)) {
            if self.put_together(WHAT, bucket, index, together).await? {
                continue;
            }
            self.create_index(WHAT, bucket, index, dimensions).await?;
            if !self.put_together(WHAT, bucket, index, together).await? {
                return Err(PortError::unavailable(WHAT, "a new index is not there yet"));
            }
        }
        Ok(())
    }

    async fn find_nearest(
        &self,
        index: &VectorIndexName,
        question: &[f32],
        limit: usize,
    ) -> PortResult<Vec<NearVector>> {
        const WHAT: &str = "searching vectors";
        let most = i32::try_from(limit.clamp(1, NEAREST_MAX)).unwrap_or(1);
        let request = self.clients.open_s3_vectors().query_vectors();
        let request = request
            .vector_bucket_name(self.require_vector_bucket(WHAT)?)
            .index_name(index.as_str())
            .top_k(most)
            .query_vector(VectorData::Float32(question.to_vec()))
            .return_distance(true);
        let found = request.send().await.map_err(|error| port_error(WHAT, &error))?;
        let near = found.vectors().iter().filter_map(|vector| {
            Some(NearVector {
                key: VectorKey::parse_key_text(vector.key())?,
                cosine: to_cosine(vector.distance()?),
            })
        });
        Ok(near.collect())
    }

    async fn delete_vectors(&self, index: &VectorIndexName, keys: &[VectorKey]) -> PortResult<()> {
        const WHAT: &str = "deleting vectors";
        let bucket = self.require_vector_bucket(WHAT)?;
        for together in keys.chunks(TOGETHER) {
            let keys = together.iter().map(|key| key.to_key_text()).collect();
            let request = self.clients.open_s3_vectors().delete_vectors();
            let request = request.vector_bucket_name(bucket).index_name(index.as_str());
            match request.set_keys(Some(keys)).send().await {
                Ok(_) => {}
                Err(error) if error_code(&error) == NOT_FOUND => return Ok(()),
                Err(error) => return Err(port_error(WHAT, &error)),
            }
        }
        Ok(())
    }

    async fn delete_vector_index(&self, index: &VectorIndexName) -> PortResult<()> {
        const WHAT: &str = "deleting an index of vectors";
        let request = self.clients.open_s3_vectors().delete_index();
        let request = request
            .vector_bucket_name(self.require_vector_bucket(WHAT)?)
            .index_name(index.as_str());
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) if error_code(&error) == NOT_FOUND => Ok(()),
            Err(error) => Err(port_error(WHAT, &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_takes_as_many_vectors_as_its_limits_allow() {
        assert_eq!(count_put_together(0), TOGETHER);
        assert_eq!(count_put_together(256), TOGETHER);
        for dimensions in [1_536, 3_072, 4_096] {
            let together = count_put_together(dimensions);
            assert!(
                together * dimensions * NUMBER_BYTES <= REQUEST_BYTES,
                "{dimensions}"
            );
            assert!(together > 50, "{dimensions}");
        }
    }
}
