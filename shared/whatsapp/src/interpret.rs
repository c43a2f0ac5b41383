use crate::registry::ProviderModule;
use crate::{evolution, meta};
use recado_domain::event::InboundJob;
use recado_domain::inbound::InboundEvent;
use serde_json::Value;

/// Interprets the payload of an event that [`crate::split_webhook`] built. Never fails: unreadable content becomes
/// `Ignored` or `Unsupported`.
pub fn interpret_event(job: &InboundJob, payload: &Value) -> InboundEvent {
    match ProviderModule::from_provider(job.provider) {
        Some(ProviderModule::Evolution) => evolution::interpret_event(job, payload),
        Some(ProviderModule::Meta | ProviderModule::Dialog360 | ProviderModule::AwsSocial) => {
            meta::interpret_payload(job, payload)
        }
        None => InboundEvent::Ignored {
            what: "a provider that there is no more".to_owned(),
        },
    }
}
