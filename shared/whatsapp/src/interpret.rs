use crate::{evolution, meta};
use recado_domain::event::{InboundJob, Provider};
use recado_domain::inbound::Inbound;
use serde_json::Value;

/// Reads the payload of an event that [`crate::split`] made. Never fails: what it cannot read is `Ignored` or
/// `Unsupported`.
pub fn interpret(job: &InboundJob, payload: &Value) -> Inbound {
    match job.provider {
        Provider::Evolution => evolution::interpret(job, payload),
        Provider::Meta | Provider::Dialog360 | Provider::AwsSocial => meta::interpret(job, payload),
    }
}
