//! Forgets the webhook endpoints that leave the configuration.

use crate::Deps;
use recado_domain::config::{ConfigDocument, Tenant};
use recado_ports::ports::{PortResult, WebhookRecords};

/// Deletes what is stored of the endpoints that a change of the configuration removed: their places, secrets and failed events. One
/// that gets the name later is another endpoint. What a crash leaves here is found later, as long as nobody gives the name again.
pub(super) async fn forget_removed_endpoints(
    deps: &impl Deps,
    known: &ConfigDocument,
    change: &ConfigDocument,
) -> PortResult<()> {
    for after in &change.tenants {
        let before = known.tenants.iter().find(|before| before.id == after.id);
        for endpoint in before.into_iter().flat_map(Tenant::webhook_endpoints) {
            let mut left = after.webhook_endpoints().iter();
            if !left.any(|left| left.id == endpoint.id) {
                deps.store()
                    .delete_endpoint_records(&after.id, &endpoint.id)
                    .await?;
            }
        }
    }
    Ok(())
}
