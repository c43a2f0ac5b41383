//! Sends that are refused before the provider is asked.

use super::ProviderAccess;
use recado_domain::message::ModelKind;
use recado_domain::reason::Reason;
use recado_ports::ports::SendOutcome;

/// Refuses a reply whose model and provider are not both real, or both simulated. That happens if an instance stopped
/// being simulated, or began to be, while the reply waited.
pub(super) fn refuse_other_end(access: &ProviderAccess, model: Option<ModelKind>) -> Option<SendOutcome> {
    let simulated = matches!(access, ProviderAccess::Simulated(_));
    match model? {
        ModelKind::Real if simulated => Some(SendOutcome::Credentials {
            why: "a real model wrote it, and the provider is simulated".to_owned(),
        }),
        ModelKind::Simulated if !simulated => Some(SendOutcome::Permanent {
            reason: Reason::SimulatedReply,
            why: "the simulated model wrote it".to_owned(),
        }),
        ModelKind::Real | ModelKind::Simulated => None,
    }
}

/// Returns a permanent failure. With a valid configuration it does not occur: every instance then has a valid name at
/// its provider.
pub(super) fn unknown_instance_outcome() -> SendOutcome {
    SendOutcome::Permanent {
        reason: Reason::UnknownInstance,
        why: "the instance has no name at the provider".to_owned(),
    }
}
