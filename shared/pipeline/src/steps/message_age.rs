//! Judges a message by its age.

use recado_domain::event::InboundJob;
use recado_domain::inbound::InboundMessage;
use recado_domain::millis::add_duration;
use recado_ports::Deps;

/// Returns `true` if the message was too old when it arrived. Old messages come with history syncs and late retries;
/// they are stored and not answered.
pub(crate) fn is_stale(deps: &Deps, job: &InboundJob, inbound: &InboundMessage) -> bool {
    inbound
        .sent_at
        .is_some_and(|sent_at| add_duration(sent_at, deps.settings().stale_after) < job.received_at)
}
