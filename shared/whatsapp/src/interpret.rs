use crate::catalogue::Module;
use crate::{evolution, meta};
use recado_domain::event::InboundJob;
use recado_domain::inbound::Inbound;
use serde_json::Value;

/// Reads the payload of an event that [`crate::split`] made. Never fails: what it cannot read is `Ignored` or
/// `Unsupported`.
pub fn interpret(job: &InboundJob, payload: &Value) -> Inbound {
    match Module::of(job.provider) {
        Some(Module::Evolution) => evolution::interpret(job, payload),
        Some(Module::Meta | Module::Dialog360 | Module::AwsSocial) => meta::interpret(job, payload),
        None => Inbound::Ignored {
            what: "a provider that there is no more".to_owned(),
        },
    }
}
