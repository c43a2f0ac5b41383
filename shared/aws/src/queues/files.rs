//! The bytes of files, on S3.

use super::AwsQueues;
use crate::config::{require_setting, variable};
use crate::error::{error_code, port_error};
use async_trait::async_trait;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
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
        const WHAT: &str = "keeping a file";
        let bucket = require_setting(WHAT, variable::BUCKET, self.config.bucket.as_ref())?;
        let bytes = bytes.read_all().await?;
        let request = self.clients.s3.put_object().bucket(bucket);
        let request = request.key(file_object_key(key)).content_type(mime_type);
        let sent = request.body(ByteStream::from(bytes)).send().await;
        sent.map_err(|error| port_error(WHAT, &error))?;
        Ok(())
    }

    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        const WHAT: &str = "reading a file";
        let bucket = require_setting(WHAT, variable::BUCKET, self.config.bucket.as_ref())?;
        let request = self.clients.s3.get_object().bucket(bucket);
        let body = match request.key(file_object_key(key)).send().await {
            Ok(output) => output.body,
            Err(error) if error_code(&error) == "NoSuchKey" => return Ok(None),
            Err(error) => return Err(port_error(WHAT, &error)),
        };
        let pieces = stream::try_unfold(body, |mut body| async move {
            let piece = body.next().await.transpose();
            let piece = piece.map_err(|error| PortError::unavailable(WHAT, error))?;
            Ok(piece.map(|piece| (piece.to_vec(), body)))
        });
        Ok(Some(FileBytes::from_stream(pieces)))
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        const WHAT: &str = "deleting a file";
        let bucket = require_setting(WHAT, variable::BUCKET, self.config.bucket.as_ref())?;
        let request = self.clients.s3.delete_object().bucket(bucket);
        let sent = request.key(file_object_key(key)).send().await;
        sent.map(|_| ()).map_err(|error| port_error(WHAT, &error))
    }

    async fn sign_file_url(&self, key: &str, disposition: &str) -> PortResult<Option<String>> {
        const WHAT: &str = "signing the URL of a file";
        let bucket = require_setting(WHAT, variable::BUCKET, self.config.bucket.as_ref())?;
        let lifetime =
            PresigningConfig::expires_in(URL_LIFETIME).map_err(|error| PortError::invalid(WHAT, error))?;
        let request = self.clients.s3.get_object().bucket(bucket);
        let request = request
            .key(file_object_key(key))
            .response_content_disposition(disposition);
        let signed = request.presigned(lifetime).await;
        let signed = signed.map_err(|error| port_error(WHAT, &error))?;
        Ok(Some(signed.uri().to_owned()))
    }
}
