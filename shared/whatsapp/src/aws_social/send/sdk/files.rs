//! Files: AWS takes no bytes, but reads them from a bucket of ours.

use super::super::AwsSocialEndpoint;
use super::{classify_sdk_error, config_with_timeout, format_origin};
use crate::cloud::{InlineFile, unknown_as_retryable};
use crate::media_file::permanent_failure;
use crate::meta::body::with_media_id;
use aws_sdk_socialmessaging::types::S3File;
use futures::future::BoxFuture;
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use std::fmt::Debug;

/// With a file, each of the two calls has this share of the time; the rest is the bucket's.
pub(super) const TIMEOUT_SHARE: u32 = 4;

/// A bucket that AWS may read for who calls it.
pub trait MediaBucket: Debug + Send + Sync {
    /// Puts a file there under this name, or over what has it, within 9 seconds; where it is then. `None` if that cannot be
    /// done now. Nobody needs it after an hour.
    fn put_file<'a>(
        &'a self,
        name: &'a str,
        mime_type: &'a str,
        bytes: Vec<u8>,
    ) -> BoxFuture<'a, Option<S3Location>>;
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Location {
    /// The bucket's name.
    pub bucket: String,
    /// The object's key.
    pub key: String,
}

/// The message with the id that its file has there. Nothing of it has left when that fails.
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
        // May this role not read the object, or not make the call, then this file cannot go; other messages may.
        Err(error) => Err(
            match unknown_as_retryable(classify_sdk_error(&error, message.attempt)) {
                SendOutcome::Credentials { why } => retryable(&why),
                outcome => outcome,
            },
        ),
    }
}
