use recado_domain::access::Caller;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::ids::InstanceId;
use recado_ports::Deps;
use recado_ports::ports::{Page, PageRequest, PortResult, UnacknowledgedFilter};

/// Lists the messages that their provider accepted and WhatsApp did not acknowledge in time. They are those of one instance, or
/// of all within the caller's scope.
pub async fn list_unacknowledged(
    deps: &Deps,
    caller: &Caller,
    instance: Option<InstanceId>,
    page: &PageRequest,
) -> PortResult<Page<UnacknowledgedMessage>> {
    let filter = UnacknowledgedFilter {
        tenant: caller.scope.tenant().cloned(),
        instance,
        due_from: None,
    };
    let now = deps.system().now();
    deps.store().list_unacknowledged(&filter, now, page).await
}
