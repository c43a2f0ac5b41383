//! The `webhook` function: records the events of a webhook, enqueues them, and only then acknowledges the webhook.

use crate::Deps;
use crate::steps::give_up::dead_letter_poison;
pub use crate::steps::webhook_items::{IngestReport, ingest};
use recado_domain::config::{Instance, InstanceConfig};
use recado_domain::dead_letter::{QueueName, unreadable_letter_id};
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::SecretParts;
use recado_ports::ports::{PageRequest, PortResult};
use recado_ports::records::configuration::{find_config_by_external, list_entries};
use recado_ports::records::dead_letters::find_failure_time;
use std::sync::Arc;

/// Makes a dead letter of a webhook that came by a queue and cannot be read. Over HTTP the sender would get an error;
/// here nobody would be told. `why` is the reason and must not contain text of the body.
pub async fn keep_unreadable_webhook(deps: &Deps, body: &str, why: String) -> PortResult<()> {
    let id = unreadable_letter_id(QueueName::Inbound, body);
    if find_failure_time(deps.store(), &id).await?.is_some() {
        return Ok(());
    }
    dead_letter_poison(deps, QueueName::Inbound, body, why).await
}

/// Returns the instance that `provider` calls `external`, whose configuration says what proves its webhooks; `None` if it
/// is not configured.
pub async fn find_proving_instance(
    deps: &Deps,
    provider: Provider,
    external: &ExternalId,
) -> PortResult<Option<Arc<InstanceConfig>>> {
    find_config_by_external(deps.store(), provider, external).await
}

/// Returns `true` if one of the secrets that a request showed proves webhooks of the instance that `provider` calls `external`.
/// Where nobody has the name, a secret with a salt is one of an entry that is gone, and counts no more: what it brings would be
/// kept for a redrive, when the name may be another's. One without a salt counts: nothing of it is applied.
pub async fn is_secret_accepted(
    deps: &Deps,
    provider: Provider,
    external: &ExternalId,
    shown: &[SecretParts],
) -> PortResult<bool> {
    let bound = find_config_by_external(deps.store(), provider, external).await?;
    let now = deps.system().now();
    let counts = |shown: &SecretParts| match &bound {
        Some(bound) => bound.instance.accepts_secret(shown, now),
        None => shown.salt.is_none(),
    };
    Ok(shown.iter().any(counts))
}

/// Lists what `provider` calls its configured instances, among the first thousand instances of the installation. Strangers
/// can ask for it, so it reads no more.
pub async fn list_external_ids(deps: &Deps, provider: Provider) -> PortResult<Vec<ExternalId>> {
    const PAGES: usize = 2;
    let mut page = PageRequest::first(500);
    let mut names = Vec::new();
    for _ in 0..PAGES {
        let found = list_entries::<Instance>(deps.store(), None, &page).await?;
        let of_provider = found.items.iter().filter(|one| one.provider == provider);
        names.extend(of_provider.filter_map(Instance::resolve_external_id));
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    Ok(names)
}
