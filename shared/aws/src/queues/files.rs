//! The bytes of files, on S3.

use super::AwsQueues;
use crate::error::port_error;
use async_trait::async_trait;
use aws_sdk_s3::presigning::PresigningConfig;
use futures::stream;
use recado_ports::ports::{FileBytes, FileError, Files, PortError, PortResult, System};
use std::time::Duration;

/// Time for which a URL of a file can be used.
const URL_LIFETIME: Duration = Duration::from_secs(900);

/// Returns the key of a file's object in the bucket.
fn file_object_key(key: &str) -> String {
    format!("files/{key}")
}

#[async_trait]
impl<A: System> Files for AwsQueues<A> {
    async fn put_file(&self, key: &str, mime_type: &str, bytes: FileBytes) -> Result<(), FileError> {
        let bytes = bytes.read_all().await?;
        let key = file_object_key(key);
        Ok(self.put_object("keeping a file", key, mime_type, bytes).await?)
    }

    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        const WHAT: &str = "reading a file";
        let Some(body) = self.open_object(WHAT, file_object_key(key)).await? else {
            return Ok(None);
        };
        let pieces = stream::try_unfold(body, |mut body| async move {
            let piece = body.next().await.transpose();
            let piece = piece.map_err(|error| PortError::unavailable(WHAT, error))?;
            Ok(piece.map(|piece| (piece.to_vec(), body)))
        });
        Ok(Some(FileBytes::from_stream(pieces)))
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        self.delete_object("deleting a file", file_object_key(key)).await
    }

    async fn sign_file_url(&self, key: &str, disposition: &str) -> PortResult<Option<String>> {
        const WHAT: &str = "signing the URL of a file";
        let bucket = self.bucket(WHAT)?;
        let lifetime =
            PresigningConfig::expires_in(URL_LIFETIME).map_err(|error| PortError::invalid(WHAT, error))?;
        let request = self.clients.s3().get_object().bucket(bucket);
        let request = request
            .key(file_object_key(key))
            .response_content_disposition(disposition);
        let signed = request.presigned(lifetime).await;
        let signed = signed.map_err(|error| port_error(WHAT, &error))?;
        Ok(Some(signed.uri().to_owned()))
    }
}
