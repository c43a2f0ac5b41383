//! Stores a batch of invitations with its recipients, as earlier requests left it.

use crate::ports::succeed;
use jiff::{SignedDuration, Timestamp};
use recado_domain::ids::{
    BatchId, CorrelationId, GuestId, InvitationTemplateName, OccasionId, TenantId, TokenName,
};
use recado_domain::invitations::{Batch, BatchState, InvitationChannel, TemplateValues, split_recipients};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_ports::ports::{Store, WriteOutcome};
use recado_ports::records::batches::{BatchOutcome, begin_batch};
use recado_ports::table::{Versioned, write_record};
use serde_json::json;

/// Time for which the batch is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Makes a batch that runs and whose invitations to so many guests were made. `said` stands in its metadata.
pub fn make_batch(
    id: BatchId,
    (tenant, occasion): (&TenantId, &OccasionId),
    guests: usize,
    said: &str,
    now: Timestamp,
) -> Batch {
    let metadata = json!({"for": said});
    Batch {
        tenant: tenant.clone(),
        id,
        occasion: occasion.clone(),
        channel: InvitationChannel::Whatsapp,
        template: InvitationTemplateName::parse("invite").unwrap(),
        variables: TemplateValues::new(),
        metadata: metadata
            .as_object()
            .map(|names| Metadata::from_object(names).unwrap()),
        by: TokenName::installation(),
        correlation: CorrelationId::parse("batch").unwrap(),
        request_hash: "0".repeat(64),
        state: BatchState::Running,
        recipients: guests,
        expanded: guests,
        due_at: None,
        send_at: None,
        reminder: None,
        restored_from: None,
        end: None,
        created_at: now,
        keep_until: add_duration(now, KEPT),
    }
}

/// Stores such a batch with a chunk of its recipients.
pub async fn store_batch<S: Store>(
    store: &S,
    id: BatchId,
    of: (&TenantId, &OccasionId),
    guests: &[GuestId],
    said: &str,
    now: Timestamp,
) -> Batch {
    let batch = make_batch(id, of, guests.len(), said, now);
    let mut new = Versioned::new(batch.clone());
    let begun = succeed(begin_batch(store, &mut new, None, now)).await;
    assert_eq!(begun, BatchOutcome::Begun);
    for chunk in split_recipients(&batch, guests) {
        let written = succeed(write_record(store, &mut Versioned::new(chunk))).await;
        assert_eq!(written, WriteOutcome::Written);
    }
    batch
}
