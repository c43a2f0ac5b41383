use super::PortResult;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::event::EventRecord;
use recado_domain::ids::TenantId;
use std::future::Future;

/// A store whose records of a tenant can be found and deleted.
pub trait TenantRecords: Send + Sync {
    /// Lists the pending events of these instances, at most `limit`. The index may be some seconds old.
    fn list_pending_events_of(
        &self,
        instances: &[Instance],
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<EventRecord>>> + Send;

    /// Lists conversations of a tenant that nobody sees, at most `limit`: tombstones, and those in which nobody wrote and that
    /// only lead elsewhere. The index may be some seconds old.
    fn list_unlisted_conversations(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<Conversation>>> + Send;

    /// Deletes records of a tenant that belong to no conversation, at most `limit` of each kind, and returns how many: of its
    /// instances the states, parked conversations and notes of in-flight sends; its samples, alerts,
    /// notifications. Entries of its audit stay, but what its configuration held is
    /// taken out of them (`recado_domain::audit::NOT_KEPT`). A store that can find
    /// them deletes its events and queue messages, too. Fewer than `limit`: nothing was left. An index may
    /// be some seconds old.
    fn delete_tenant_records(
        &self,
        tenant: &TenantId,
        instances: &[Instance],
        limit: usize,
    ) -> impl Future<Output = PortResult<usize>> + Send;
}
