//! Tells whether a delivery to a person may leave: opt-outs of all its addresses, quiet hours, and how often it is written to.
//!
//! This is asked for deliveries and reminders alone, never for an answer to a contact's own message.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recado_domain::delivery_rules::{DeliveryRules, DeliveryTime};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::TenantId;
use recado_domain::opt_out::{RecipientAddress, RecipientKey};
use recado_pipeline::Deps;
use recado_pipeline::steps::identity::load_identity_key;
use recado_ports::ports::PortResult;
use recado_ports::records::opt_outs::find_opt_outs;
use std::collections::BTreeSet;

/// A person to whom something is to be delivered.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryRecipient<'a> {
    /// The tenant that delivers.
    pub tenant: &'a TenantId,
    /// All addresses of the person, of every channel, at most 10: an opt-out of one of them is one of the person.
    pub addresses: &'a [RecipientAddress<'a>],
    /// Times at which the person got deliveries before, by any channel, as far back as the tenant's cap counts.
    pub earlier: &'a [Timestamp],
    /// The person's time zone, or the tenant's.
    pub zone: &'a TimeZone,
}

/// The answer for a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryPermission {
    /// The delivery may leave now.
    Granted,
    /// The delivery may leave at this time, and is asked for again then.
    NotBefore(Timestamp),
    /// The person wants no such messages.
    OptedOut,
}

/// Returns the keys of a person's addresses.
fn derive_keys(key: &IdentityKey, recipient: &DeliveryRecipient<'_>) -> Vec<RecipientKey> {
    let derive = |address: &RecipientAddress<'_>| key.derive_recipient_key(recipient.tenant, *address);
    recipient.addresses.iter().map(derive).collect()
}

/// Tells whether deliveries to several persons of a tenant may leave now, in their order. Their opt-outs are read together.
pub async fn judge_deliveries(
    deps: &Deps,
    tenant: &TenantId,
    recipients: &[DeliveryRecipient<'_>],
    rules: &DeliveryRules,
) -> PortResult<Vec<DeliveryPermission>> {
    let key = load_identity_key(deps).await?;
    let keys: Vec<Vec<RecipientKey>> = recipients.iter().map(|one| derive_keys(&key, one)).collect();
    let preferences = find_opt_outs(deps.store(), tenant, &keys.concat()).await?;
    let stopped: BTreeSet<RecipientKey> = preferences
        .into_iter()
        .filter(|preference| preference.is_stopped)
        .map(|preference| preference.recipient)
        .collect();
    let now = deps.system().now();
    let judged = recipients.iter().zip(&keys).map(|(recipient, keys)| {
        if keys.iter().any(|key| stopped.contains(key)) {
            return DeliveryPermission::OptedOut;
        }
        match rules.find_delivery_time(recipient.earlier, now, recipient.zone) {
            DeliveryTime::Now => DeliveryPermission::Granted,
            DeliveryTime::NotBefore(at) => DeliveryPermission::NotBefore(at),
        }
    });
    Ok(judged.collect())
}

/// Tells whether a delivery to a person may leave now.
pub async fn judge_delivery(
    deps: &Deps,
    recipient: &DeliveryRecipient<'_>,
    rules: &DeliveryRules,
) -> PortResult<DeliveryPermission> {
    let one = std::slice::from_ref(recipient);
    let judged = judge_deliveries(deps, recipient.tenant, one, rules).await?;
    // One is judged for each that is asked for.
    Ok(judged.into_iter().next().unwrap_or(DeliveryPermission::OptedOut))
}
