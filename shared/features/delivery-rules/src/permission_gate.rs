//! Asks whether an invitation may still leave, and whether now. Its guest may have opted out since it was taken, quiet hours may have
//! begun, or its batch may be stopped.

use crate::invitation_permission::{AttemptPermission, judge_attempt};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::invitations::BATCH_PERMIT;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_pipeline::gates::permission::keep_sent;
use recado_pipeline::hooks::after_commit::{AfterCommit, SendTerms};
use recado_pipeline::hooks::send_gate::{GateAnswer, SendGate};
use recado_pipeline::steps::sending::{RETRY_SOON, SendContext, StepResult, Stop};
use recado_ports::ports::WriteOutcome;

/// Promise: who opts out gets no other attempt, quiet hours are quiet, and who stops a batch waits for [`BATCH_PERMIT`] at most.
///
/// Tests: `tests/kit/tests/use_cases/possible_sends.rs#who_opts_out_after_an_attempt_of_unknown_outcome_gets_no_other`,
/// `tests/kit/tests/use_cases/possible_sends.rs#quiet_hours_that_begin_after_an_attempt_of_unknown_outcome_are_quiet`.
#[derive(Debug)]
pub struct PermissionGate;

#[async_trait]
impl SendGate for PermissionGate {
    /// A message that may not leave now is held back, or passed over in a paused batch. One that is not to leave any more is cancelled, also
    /// if it may have been sent before.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        // The time before the reads: whoever stops a batch after that waits until the permit is over.
        let asked_at = deps.system().now();
        let out = &message.out;
        if out.batch.is_none() && out.invitation.is_none() {
            return Ok(None);
        }
        let invitation = out.invitation.as_deref();
        let tenant = &context.bound.tenant;
        let judged = judge_attempt(deps, tenant, out.batch.as_ref(), invitation).await?;
        if judged != AttemptPermission::Granted && out.is_identity_attempt() {
            return Err(keep_sent(deps, message, "it may not leave now").await?);
        }
        match judged {
            AttemptPermission::Granted => Ok(Some(add_duration(asked_at, BATCH_PERMIT))),
            AttemptPermission::NotBefore(at) => hold_back(deps, message, at).await,
            AttemptPermission::Paused => Err(Stop::Finished),
            AttemptPermission::Ended(reason) => Err(Stop::Cancel(reason)),
        }
    }
}

impl AfterCommit for PermissionGate {
    /// An invitation has waits of its own. The log of deliveries tells its status for as long as it has the invitation.
    fn set_terms<'a>(
        &self,
        deps: &'a Deps,
        bound: &InstanceConfig,
        message: &Outgoing,
        terms: &mut SendTerms<'a>,
    ) {
        if message.out.invitation.is_some() {
            terms.backoff = &deps.settings().delivery_backoff;
            terms.link_kept = terms.link_kept.max(bound.tenant.retention.messages);
        }
    }
}

/// Holds an invitation back. Always returns a [`Stop`].
async fn hold_back<T>(deps: &Deps, message: &Outgoing, at: Timestamp) -> StepResult<T> {
    let mut held = message.clone();
    held.out.hold_back(at)?;
    if deps.store().save_open_message(&held.to_record(), None).await? == WriteOutcome::Conflict {
        return Err(RETRY_SOON);
    }
    tracing::info!(
        ordinal = message.ordinal.0,
        "an invitation is held back by the rules for deliveries"
    );
    Err(Stop::Finished)
}
