use super::PortResult;
use recado_domain::ids::InstanceId;
use recado_domain::instance::ParkedConversation;
use std::future::Future;

/// A store of the conversations whose messages wait for their instance.
pub trait ParkedConversations: Send + Sync {
    /// Parks a conversation: writes its entry with a new version and keeps the `since` of the first parking.
    fn put_parked(&self, parked: &ParkedConversation) -> impl Future<Output = PortResult<()>> + Send;

    /// Lists an instance's parked conversations, the longest parked first, at most `limit`.
    fn list_parked(
        &self,
        id: &InstanceId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<ParkedConversation>>> + Send;

    /// Removes a parked conversation's entry if its version is still that of `parked`. `false`: it was parked again
    /// meanwhile.
    fn remove_parked(&self, parked: &ParkedConversation) -> impl Future<Output = PortResult<bool>> + Send;
}
