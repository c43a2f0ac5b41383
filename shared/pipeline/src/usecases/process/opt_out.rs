//! Notes a contact's preference to get no more unsolicited messages, or to get them again.

use super::identity;
use crate::Deps;
use crate::steps::identity::load_identity_key;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::event::InboundJob;
use recado_domain::inbound::InboundMessage;
use recado_domain::opt_out::{OptOut, RecipientAddress, recognize_preference};
use recado_ports::ports::PortResult;
use recado_ports::records::opt_outs::apply_opt_out;

/// Stores the preference that a message, written at `written_at`, tells, if it tells one. It is stored before the message, whose event may be finished with it: an
/// event that comes again stores the same preference once more, which changes nothing.
pub(super) async fn note_opt_out(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
    written_at: Timestamp,
) -> PortResult<()> {
    let Some((word, source)) = recognize_preference(&inbound.content) else {
        return Ok(());
    };
    let mut number = inbound.phone.clone().or_else(|| inbound.address.phone_number());
    if number.is_none() {
        let (_, latest) = Box::pin(identity::find_person_thread(deps, job, bound, inbound)).await?;
        number = latest.and_then(|conversation| conversation.phone);
    }
    // Somebody without a number cannot be written to by one, and opts out under the identity.
    let address = number.unwrap_or_else(|| inbound.address.as_str().to_owned());
    let key = load_identity_key(deps).await?;
    let tenant = bound.tenant.id.clone();
    let preference = OptOut {
        recipient: key.derive_recipient_key(&tenant, RecipientAddress::WhatsApp(&address)),
        tenant,
        address: Some(address),
        is_stopped: word.wants_no_messages(),
        at: written_at,
        source,
    };
    let is_changed = apply_opt_out(deps.store(), &preference).await?;
    tracing::info!(instance = %bound.instance.id, stops = preference.is_stopped, is_changed, "a contact told a preference about messages");
    Ok(())
}
