//! Files for AWS End User Messaging Social: it reads them from the bucket, where they lie beside the large bodies and expire
//! with them.

use futures::FutureExt;
use futures::future::BoxFuture;
use recado_aws::Clients;
use recado_whatsapp::aws_social::{Bucket, Client, Place};
use std::fmt;
use std::sync::Arc;

/// The client that sends, with the bucket if there is one.
pub(crate) fn client(clients: &Clients, bucket: Option<&str>) -> Client {
    let client = Client::new(&clients.shared);
    let Some(bucket) = bucket else {
        return client;
    };
    client.with_bucket(Arc::new(Payloads {
        clients: clients.clone(),
        bucket: bucket.to_owned(),
    }))
}

/// The functions' bucket.
struct Payloads {
    clients: Clients,
    bucket: String,
}

impl fmt::Debug for Payloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payloads")
            .field("bucket", &self.bucket)
            .finish_non_exhaustive()
    }
}

impl Bucket for Payloads {
    fn put<'a>(&'a self, name: &'a str, mime_type: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Option<Place>> {
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
            Some(Place {
                bucket: self.bucket.clone(),
                key,
            })
        }
        .boxed()
    }
}
