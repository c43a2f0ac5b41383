//! Files: AWS takes no bytes, but reads them from a bucket of ours.

use super::super::Endpoint;
use super::{failure, origin, within};
use crate::cloud::{File, nothing_left};
use crate::file::permanent;
use crate::meta::body::with_media_id;
use aws_sdk_socialmessaging::types::S3File;
use futures::future::BoxFuture;
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use std::fmt::Debug;

/// With a file, each of the two calls has this share of the time; the rest is the bucket's.
pub(super) const SHARE: u32 = 4;

/// A bucket that AWS may read for who calls it.
pub trait Bucket: Debug + Send + Sync {
    /// Puts a file there under this name, or over what has it, within 9 seconds; where it is then. `None` if that cannot be
    /// done now. Nobody needs it after an hour.
    fn put<'a>(&'a self, name: &'a str, mime_type: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Option<Place>>;
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The bucket's name.
    pub bucket: String,
    /// The object's key.
    pub key: String,
}

/// The message with the id that its file has there. Nothing of it has left when that fails.
pub(super) async fn uploaded(
    at: &Endpoint<'_>,
    message: &OutgoingMessage,
    file: &File<'_>,
) -> Result<OutgoingMessage, SendOutcome> {
    let Some(bucket) = &at.client.bucket else {
        return Err(permanent(
            "no bucket was set up from which AWS could read the file",
        ));
    };
    let retryable = |why: &str| SendOutcome::Retryable {
        why: why.to_owned(),
        after: None,
    };
    let put = bucket
        .put(message.id.as_str(), file.mime_type, file.bytes()?)
        .await;
    let place = put.ok_or_else(|| retryable("the file could not be put where AWS reads it"))?;
    let source = S3File::builder().bucket_name(place.bucket).key(place.key).build();
    let posted = at
        .client
        .calls
        .post_whats_app_message_media()
        .origination_phone_number_id(origin(at))
        .source_s3_file(source.map_err(|_| permanent("the file has no place"))?)
        .customize()
        .config_override(within(at.timeout / SHARE))
        .send()
        .await;
    match posted {
        Ok(output) => match output.media_id {
            Some(id) => Ok(with_media_id(message, file.media, &id)),
            None => Err(retryable("an upload's answer without an id")),
        },
        // May this role not read the object, or not make the call, then this file cannot go; other messages may.
        Err(error) => Err(match nothing_left(failure(&error, message.attempt)) {
            SendOutcome::Credentials { why } => retryable(&why),
            outcome => outcome,
        }),
    }
}
