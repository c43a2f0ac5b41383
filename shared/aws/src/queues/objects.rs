//! The objects of the bucket: large bodies, and the bytes of files.

use super::AwsQueues;
use crate::config::{require_setting, variable};
use crate::error::{none_if_missing, port_error};
use aws_sdk_s3::primitives::ByteStream;
use recado_ports::ports::{PortResult, System};

/// The code of the error for an object that does not exist.
pub(super) const NO_OBJECT: &str = "NoSuchKey";

impl<A: System> AwsQueues<A> {
    /// Returns the name of the bucket.
    pub(super) fn bucket(&self, what: &'static str) -> PortResult<&str> {
        require_setting(what, variable::BUCKET, self.config.bucket.as_ref())
    }

    /// Writes an object.
    pub(super) async fn put_object(
        &self,
        what: &'static str,
        key: String,
        content_type: &str,
        bytes: Vec<u8>,
    ) -> PortResult<()> {
        let request = self.clients.s3().put_object().bucket(self.bucket(what)?);
        let request = request.key(key).content_type(content_type);
        let sent = Box::pin(request.body(ByteStream::from(bytes)).send()).await;
        sent.map(drop).map_err(|error| port_error(what, &error))
    }

    /// Begins to read an object; `None` if there is none.
    pub(super) async fn open_object(
        &self,
        what: &'static str,
        key: String,
    ) -> PortResult<Option<ByteStream>> {
        let request = self.clients.s3().get_object().bucket(self.bucket(what)?);
        let sent = Box::pin(request.key(key).send()).await;
        Ok(none_if_missing(what, NO_OBJECT, sent)?.map(|output| output.body))
    }

    /// Deletes an object, if there is one.
    pub(super) async fn delete_object(&self, what: &'static str, key: String) -> PortResult<()> {
        let request = self.clients.s3().delete_object().bucket(self.bucket(what)?);
        let sent = request.key(key).send().await;
        sent.map(drop).map_err(|error| port_error(what, &error))
    }
}
