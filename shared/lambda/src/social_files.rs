//! Files for AWS End User Messaging Social, which reads them from the functions' bucket. They are stored beside the large
//! webhook bodies and expire with them.

use futures::FutureExt;
use futures::future::BoxFuture;
use recado_aws::Clients;
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
            let put = self.clients.s3.put_object().bucket(&self.bucket).key(&key);
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
}
