//! Files: AWS takes and gives no bytes, but reads them from a bucket of the installation and writes them there.

use super::super::AwsSocialEndpoint;
use super::{classify_sdk_error, config_with_timeout, format_origin};
use crate::meta::body::with_media_id;
use crate::meta::upload::{InlineFile, unknown_as_retryable};
use crate::wire::file_download::{file_unavailable, read_file_id};
use crate::wire::media_file::permanent_failure;
use aws_sdk_socialmessaging::types::S3File;
use futures::future::BoxFuture;
use recado_domain::message::FileLoss;
use recado_ports::ports::{FetchedFile, FileBytes, FileError, FileRequest, OutgoingMessage, SendOutcome};
use std::fmt::Debug;

/// Divisor of the time limit for a message with a file: each of the two AWS calls gets a quarter of the time, the bucket
/// gets the rest.
pub(super) const TIMEOUT_SHARE: u32 = 4;

/// A bucket that AWS may read with the permissions of the sending role.
pub trait MediaBucket: Debug + Send + Sync {
    /// Stores a file under this name, replacing a file of the same name, and returns its location. The call may take 9
    /// seconds at most. `None` if the file cannot be stored now. The file may be deleted after an hour.
    fn put_file<'a>(
        &'a self,
        name: &'a str,
        mime_type: &'a str,
        bytes: Vec<u8>,
    ) -> BoxFuture<'a, Option<S3Location>>;

    /// Returns where AWS writes the files that come in: the bucket, and the beginning of their keys.
    fn incoming_place(&self) -> S3Location;

    /// Reads the file whose key is `key`, with or without an ending, and deletes it there. `None`: there is none. A file of more than
    /// `bytes_max` bytes is not read, but lost. One that is not deleted may expire after an hour.
    fn take_file<'a>(
        &'a self,
        key: &'a str,
        bytes_max: u64,
    ) -> BoxFuture<'a, Result<Option<FileBytes>, FileError>>;
}

/// The location of a file in S3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Location {
    /// Name of the bucket.
    pub bucket: String,
    /// Key of the object.
    pub key: String,
}

/// Uploads the file and returns the message with AWS's id of the file in its place. On failure nothing of the message
/// was sent.
pub(super) async fn upload_from_bucket(
    at: &AwsSocialEndpoint<'_>,
    message: &OutgoingMessage,
    file: &InlineFile<'_>,
) -> Result<OutgoingMessage, SendOutcome> {
    let Some(bucket) = &at.client.bucket else {
        return Err(permanent_failure(
            "no bucket was set up from which AWS could read the file",
        ));
    };
    let retryable = |why: &str| SendOutcome::Retryable {
        why: why.to_owned(),
        after: None,
    };
    let put = bucket
        .put_file(message.id.as_str(), file.mime_type, file.decode_bytes()?)
        .await;
    let place = put.ok_or_else(|| retryable("the file could not be put where AWS reads it"))?;
    let source = S3File::builder().bucket_name(place.bucket).key(place.key).build();
    let posted = at
        .client
        .calls
        .post_whats_app_message_media()
        .origination_phone_number_id(format_origin(at))
        .source_s3_file(source.map_err(|_| permanent_failure("the file has no place"))?)
        .customize()
        .config_override(config_with_timeout(at.timeout / TIMEOUT_SHARE))
        .send()
        .await;
    match posted {
        Ok(output) => match output.media_id {
            Some(id) => Ok(with_media_id(message, file.media, &id)),
            None => Err(retryable("an upload's answer without an id")),
        },
        // If the role may not read the object, or may not make the call, only this file cannot be sent. Other messages
        // still can.
        Err(error) => Err(
            match unknown_as_retryable(classify_sdk_error(&error, message.attempt)) {
                SendOutcome::Credentials { why } => retryable(&why),
                outcome => outcome,
            },
        ),
    }
}

/// Fetches a file: AWS writes it into the bucket, under a key that ends with the file's id and AWS's own ending.
pub(crate) async fn fetch_file(
    at: &AwsSocialEndpoint<'_>,
    file: &FileRequest<'_>,
) -> Result<FetchedFile, FileError> {
    let id = read_file_id(file)?;
    if !id
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    {
        return Err(FileError::Lost(FileLoss::Gone));
    }
    let bucket = at.client.bucket.as_ref();
    let bucket = bucket.ok_or(file_unavailable(
        "no bucket was set up into which AWS could write it",
    ))?;
    let place = bucket.incoming_place();
    let destination = S3File::builder()
        .bucket_name(place.bucket)
        .key(&place.key)
        .build();
    let destination = destination.map_err(|_| file_unavailable("it has no place"))?;
    let written = at
        .client
        .calls
        .get_whats_app_message_media()
        .media_id(id)
        .origination_phone_number_id(format_origin(at))
        .destination_s3_file(destination)
        .customize()
        .config_override(config_with_timeout(file.within))
        .send()
        .await;
    let written = written.map_err(|error| match classify_sdk_error(&error, 1) {
        SendOutcome::Credentials { .. } => FileError::Credentials,
        SendOutcome::Permanent { .. } | SendOutcome::Refused { .. } => FileError::Lost(FileLoss::Gone),
        _ => file_unavailable("AWS did not give it"),
    })?;
    let taken = bucket
        .take_file(&format!("{}{id}", place.key), file.bytes_max)
        .await?;
    Ok(FetchedFile {
        bytes: taken.ok_or(file_unavailable("AWS did not write it into the bucket"))?,
        mime_type: written.mime_type,
        sha256: None,
    })
}
