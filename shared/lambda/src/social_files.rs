//! Files for AWS End User Messaging Social, which reads them from the functions' bucket and writes them there. They lie beside the
//! large webhook bodies and expire with them.

use futures::FutureExt;
use futures::future::BoxFuture;
use recado_aws::Clients;
use recado_domain::message::FileLoss;
use recado_pipeline::ports::{FileBytes, FileError};
use recado_whatsapp::aws_social::{AwsSocialClient, MediaBucket, S3Location};
use std::fmt;
use std::sync::Arc;

/// Builds the client that sends through AWS End User Messaging Social, with the bucket for files if there is one.
pub(crate) fn build_social_client(clients: &Clients, bucket: Option<&str>) -> AwsSocialClient {
    let client = AwsSocialClient::new(&clients.shared);
    let Some(bucket) = bucket else {
        return client;
    };
    client.with_bucket(Arc::new(SocialMediaBucket {
        clients: clients.clone(),
        bucket: bucket.to_owned(),
    }))
}

/// The bucket from which AWS End User Messaging Social reads files.
struct SocialMediaBucket {
    clients: Clients,
    bucket: String,
}

impl fmt::Debug for SocialMediaBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payloads")
            .field("bucket", &self.bucket)
            .finish_non_exhaustive()
    }
}

impl MediaBucket for SocialMediaBucket {
    fn put_file<'a>(
        &'a self,
        name: &'a str,
        mime_type: &'a str,
        bytes: Vec<u8>,
    ) -> BoxFuture<'a, Option<S3Location>> {
        async move {
            let key = format!("payloads/social.{name}");
            let put = self.clients.s3().put_object().bucket(&self.bucket).key(&key);
            if put
                .content_type(mime_type)
                .body(bytes.into())
                .send()
                .await
                .is_err()
            {
                tracing::warn!("a file could not be put into the bucket");
                return None;
            }
            Some(S3Location {
                bucket: self.bucket.clone(),
                key,
            })
        }
        .boxed()
    }

    fn incoming_place(&self) -> S3Location {
        S3Location {
            bucket: self.bucket.clone(),
            key: INCOMING.to_owned(),
        }
    }

    fn take_file<'a>(
        &'a self,
        key: &'a str,
        bytes_max: u64,
    ) -> BoxFuture<'a, Result<Option<FileBytes>, FileError>> {
        async move {
            let Some((found, bytes)) = self.find_object(key).await? else {
                return Ok(None);
            };
            let too_large = u64::try_from(bytes).is_ok_and(|bytes| bytes > bytes_max);
            let read = if too_large {
                Err(FileError::Lost(FileLoss::TooLarge))
            } else {
                self.read_object(&found).await
            };
            let s3 = self.clients.s3();
            if matches!(read, Ok(_) | Err(FileError::Lost(_)))
                && s3
                    .delete_object()
                    .bucket(&self.bucket)
                    .key(&found)
                    .send()
                    .await
                    .is_err()
            {
                tracing::warn!("a file that AWS wrote into the bucket was not deleted: it expires");
            }
            read.map(Some)
        }
        .boxed()
    }
}

/// Beginning of the keys under which AWS writes files.
const INCOMING: &str = "payloads/social.in.";

const UNREADABLE: FileError = FileError::Unavailable {
    why: "the bucket into which AWS wrote it could not be read",
};

impl SocialMediaBucket {
    /// Finds the object whose key is `key`, with or without an ending. Returns its key and its size.
    async fn find_object(&self, key: &str) -> Result<Option<(String, i64)>, FileError> {
        let lists = self
            .clients
            .s3()
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(key);
        let listed = lists.send().await.map_err(|_| UNREADABLE)?;
        let is_named = |name: &str| {
            let ending = name.strip_prefix(key);
            ending.is_some_and(|ending| ending.is_empty() || ending.starts_with('.'))
        };
        let found = listed.contents().iter().find_map(|object| {
            let name = object.key().filter(|name| is_named(name))?;
            Some((name.to_owned(), object.size().unwrap_or_default()))
        });
        Ok(found)
    }

    async fn read_object(&self, key: &str) -> Result<FileBytes, FileError> {
        let gets = self.clients.s3().get_object().bucket(&self.bucket).key(key);
        let object = gets.send().await.map_err(|_| UNREADABLE)?;
        let bytes = object.body.collect().await.map_err(|_| UNREADABLE)?;
        Ok(FileBytes::from_bytes(bytes.to_vec()))
    }
}
