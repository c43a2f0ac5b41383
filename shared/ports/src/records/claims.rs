//! The keys that invitations and batches claim for a time, so that nothing goes to somebody twice.

use crate::ports::{PortError, PortResult, WRITE_TRIES};
use crate::table::{Change, Record, SaveOutcome, Table, Versioned, Write, find_or_new, save_record_with};
use jiff::{SignedDuration, Timestamp};
use recado_domain::ids::{InvitationId, TenantId};
use recado_domain::moving::MovedClaim;

impl Record for MovedClaim {
    const KIND: &'static str = "invitation-claims";
    // So that nothing is sent twice.
    const KEPT_EXPIRED: SignedDuration = SignedDuration::from_hours(7 * 24);

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.key.clone()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.until)
    }
}

/// A key that an invitation or a batch claims for a time, so that no other goes out under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationClaim {
    /// The key, which holds nothing of a person.
    pub key: String,
    /// Time until which the key is claimed.
    pub until: Timestamp,
    /// The invitation whose claim may be replaced, since it was never sent.
    pub replaces: Option<InvitationId>,
}

/// A claim that another one keeps.
pub(super) struct HeldClaim {
    /// Place of the claim in the list.
    pub(super) claim: usize,
    /// The id of the other invitation or batch.
    pub(super) by: String,
}

/// The claims that are to be stored, each with what is known of the stored one.
pub(super) type WantedClaims = Vec<Versioned<MovedClaim>>;

fn make_claim((tenant, claimant): (&TenantId, &str), claim: &InvitationClaim) -> MovedClaim {
    MovedClaim {
        tenant: tenant.clone(),
        key: claim.key.clone(),
        claimant: claimant.to_owned(),
        until: claim.until,
    }
}

/// Makes the claims of an invitation or a batch, as if nobody had one of them. Most are free, and then nothing need be read.
pub(super) fn expect_free_claims(claimant: (&TenantId, &str), claims: &[InvitationClaim]) -> WantedClaims {
    let new = claims.iter().map(|claim| make_claim(claimant, claim));
    new.map(Versioned::new).collect()
}

/// Reads the claims under these keys. Those that nobody holds at `now`, or whose holder is replaced, are returned as they are to be stored.
pub(super) async fn read_free_claims(
    table: &dyn Table,
    claimant: (&TenantId, &str),
    claims: &[InvitationClaim],
    now: Timestamp,
) -> PortResult<Result<WantedClaims, HeldClaim>> {
    let mut free = Vec::new();
    for (place, claim) in claims.iter().enumerate() {
        let wanted = make_claim(claimant, claim);
        let mut stored = find_or_new(table, wanted.clone()).await?;
        let held = &stored.record;
        let is_replaced = claim
            .replaces
            .as_ref()
            .is_some_and(|replaced| replaced.as_str() == held.claimant);
        if stored.is_stored() && held.until > now && !is_replaced {
            return Ok(Err(HeldClaim {
                claim: place,
                by: held.claimant.clone(),
            }));
        }
        stored.record = wanted;
        free.push(stored);
    }
    Ok(Ok(free))
}

/// Returns the writes of claims, one of each.
pub(super) fn write_claims(claims: &[Versioned<MovedClaim>]) -> PortResult<Vec<Write>> {
    let mut writes = Vec::new();
    for claim in claims {
        writes.extend(Change::save(claim)?.writes);
    }
    Ok(writes)
}

/// Stores a new record of `claimant` with its claims in one transaction. Returns the claim that another one has; then nothing is stored.
/// A record that is there already is an error.
pub(super) async fn save_with_claims<T: Record>(
    table: &dyn Table,
    new: &mut Versioned<T>,
    claimant: (&TenantId, &str),
    claims: &[InvitationClaim],
    now: Timestamp,
) -> PortResult<Option<HeldClaim>> {
    let mut wanted = expect_free_claims(claimant, claims);
    for _ in 0..WRITE_TRIES {
        if save_record_with(table, new, write_claims(&wanted)?).await? == SaveOutcome::Saved {
            return Ok(None);
        }
        if claims.is_empty() {
            break;
        }
        match read_free_claims(table, claimant, claims, now).await? {
            Ok(free) => wanted = free,
            Err(held) => return Ok(Some(held)),
        }
    }
    Err(PortError::contended(T::KIND))
}
