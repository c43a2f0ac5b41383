//! Notes a contact's preference to get no more unsolicited messages, or to get them again.

use async_trait::async_trait;
use recado_domain::opt_out::{OptOut, RecipientAddress, recognize_preference};
use recado_pipeline::Deps;
use recado_pipeline::hooks::inbound_rule::InboundRule;
use recado_pipeline::steps::identity::load_identity_key;
use recado_pipeline::steps::inbound_arrival::InboundArrival;
use recado_pipeline::steps::person_thread::find_person_thread;
use recado_ports::ports::PortResult;
use recado_ports::records::opt_outs::apply_opt_out;

/// Stores for the tenant that a contact wants no unsolicited messages, or wants them again. The message is answered all the same.
///
/// Test: `tests/kit/tests/use_cases/opt_outs.rs#a_contact_that_says_stop_is_noted_once_and_still_answered`.
#[derive(Debug)]
pub struct OptOutRule;

#[async_trait]
impl InboundRule for OptOutRule {
    /// Stores the preference that a message tells, if it tells one. It is stored before the message, whose event may be finished with it:
    /// an event that comes again stores the same preference once more, which changes nothing.
    async fn note_arrival(&self, deps: &Deps, arrival: &InboundArrival<'_>) -> PortResult<()> {
        if !arrival.is_of_contact() {
            return Ok(());
        }
        let InboundArrival { bound, inbound, .. } = *arrival;
        let Some((word, source)) = recognize_preference(&inbound.content) else {
            return Ok(());
        };
        let mut number = inbound.phone.clone().or_else(|| inbound.address.phone_number());
        if number.is_none() {
            let (_, latest) = Box::pin(find_person_thread(deps, arrival)).await?;
            number = latest.and_then(|conversation| conversation.contact.phone);
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
            at: arrival.written_at(),
            source,
        };
        let is_changed = apply_opt_out(deps.store(), &preference).await?;
        tracing::info!(instance = %bound.instance.id, stops = preference.is_stopped, is_changed, "a contact told a preference about messages");
        Ok(())
    }
}
