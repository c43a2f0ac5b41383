//! Finds a message by its id at the provider, which people read in the provider's own tools.

use super::TraceTarget;
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::access::Caller;
use recado_domain::config::Instance;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{EventKind, derive_event_id};
use recado_domain::ids::InstanceId;
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::load_configuration;

/// Greatest number of instances that are looked through for one id.
const INSTANCES_MAX: usize = 100;

/// Number of instances that are looked through at the same time.
const READS_AT_ONCE: usize = 16;

/// The result of looking for a message by its id at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderLookup {
    /// The event that brought the message, or the message that was sent.
    Found(TraceTarget),
    /// No instance within the caller's scope knows the id.
    Unknown,
    /// There are too many instances to look through: the request must name one.
    TooManyInstances,
}

/// Looks for the message with this id at the provider, on one instance or on all within the caller's scope. A message that
/// came in is found by its event, one that was sent by the link of its delivery.
pub async fn find_provider_message(
    deps: &Deps,
    caller: &Caller,
    id: &str,
    instance: Option<&InstanceId>,
) -> PortResult<ProviderLookup> {
    let configured = load_configuration(deps.store(), caller.scope.tenant()).await?;
    let is_asked = |one: &Instance| instance.is_none_or(|id| *id == one.id);
    let asked: Vec<Instance> = configured.instances.into_iter().filter(is_asked).collect();
    if asked.len() > INSTANCES_MAX {
        return Ok(ProviderLookup::TooManyInstances);
    }
    let found: Vec<Option<TraceTarget>> = stream::iter(asked)
        .map(|instance| find_on_instance(deps, instance, id))
        .buffered(READS_AT_ONCE)
        .try_collect()
        .await?;
    let found = found.into_iter().flatten().next();
    Ok(found.map_or(ProviderLookup::Unknown, ProviderLookup::Found))
}

async fn find_on_instance(deps: &Deps, instance: Instance, id: &str) -> PortResult<Option<TraceTarget>> {
    let Some(external) = instance.resolve_external_id() else {
        return Ok(None);
    };
    let event = derive_event_id(instance.provider, &external, EventKind::Message, id);
    if deps.store().find_event(&event).await?.is_some() {
        return Ok(Some(TraceTarget::Event(event)));
    }
    let key = DeliveryKey::from_provider_id(instance.provider, &external, id);
    let delivery = deps.store().find_delivery(&key).await?;
    let sent = delivery.and_then(|delivery| delivery.message);
    Ok(sent.map(TraceTarget::Message))
}
