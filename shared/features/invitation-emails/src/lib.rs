//! The sender of e-mails, the only code that gives them to carriers. A job names the invitation whose e-mail is to be sent.
//!
//! The attempt is stored before the carrier is asked, and its outcome after it. So a crash in between leaves an attempt of unknown
//! outcome, which is repeated only where the carrier recognizes the repeat.
//!
//! Its types and rules are in [`recado_domain::email`].

pub mod email_outbox;
pub mod overdue_emails;

use crate::email_outbox::{move_email_to_dead_letters, outbox_of, requeue_dead_email, save_outbox};
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use recado_delivery_rules::invitation_permission::{AttemptPermission, judge_attempt};
use recado_domain::config::{EmailSender, Tenant};
use recado_domain::email::{
    EMAIL_JOB_WAIT_MAX, Email, EmailLimits, EmailOutbox, EmailState, FailedAttempt, InvalidEmailTransition,
};
use recado_domain::ids::EmailSenderId;
use recado_domain::invitations::{BATCH_PERMIT, Invitation};
use recado_domain::millis::add_duration;
use recado_domain::reason::Reason;
use recado_domain::wake_up::{EmailJob, OutboundJob};
use recado_pipeline::Deps;
use recado_pipeline::hooks::job_handler::JobHandler;
use recado_pipeline::steps::invited_tenant::find_tenant;
use recado_pipeline::steps::queue_message::{REQUEUE_AFTER_RECEIVES, decide_verdict};
use recado_pipeline::steps::trace_span::{JOB_TARGET, continue_trace};
use recado_pipeline::steps::verdict::Verdict;
use recado_pipeline::steps::wake_up::enqueue_outbound;
use recado_ports::ports::{EmailError, EmailSenders, PortResult, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::invitations::find_invitation;
use recado_ports::table::{Versioned, write_record};
use tracing::Instrument;

/// Time that an attempt needs: the longest request to a carrier, and the write after it.
const ATTEMPT_TIME: SignedDuration = SignedDuration::from_secs(25);

/// Pause of an e-mail whose sender has no key, or is no longer configured.
const CREDENTIAL_PAUSE: SignedDuration = SignedDuration::from_mins(10);

/// Pause of an e-mail whose sender waits for a person.
const SENDER_PAUSE: SignedDuration = SignedDuration::from_mins(30);

/// Longest pause that a carrier may ask for.
const LATER_MAX: SignedDuration = SignedDuration::from_hours(12);

/// Pause of an e-mail whose batch is paused.
const BATCH_PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// Pause of an e-mail whose carrier was not reached.
const UNREACHABLE_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// Number of tries to store an outcome. An outcome that is not stored becomes an unknown one.
const OUTCOME_TRIES: usize = 3;

/// The jobs of e-mails.
#[derive(Debug)]
pub struct EmailJobs;

impl JobHandler for EmailJobs {
    fn handle_outbound_job<'a>(
        &self,
        deps: &'a Deps,
        carriers: &'a dyn EmailSenders,
        job: &'a OutboundJob,
        receives: u32,
        deadline: Option<Timestamp>,
    ) -> Option<BoxFuture<'a, Verdict>> {
        match job {
            OutboundJob::Email(job) => Some(Box::pin(handle_email_job(
                deps, carriers, job, receives, deadline,
            ))),
            OutboundJob::Send(_) => None,
        }
    }
}

/// Handles the job of an e-mail. `receives` is how often the queue has delivered it. No attempt begins that may not end before
/// `deadline`.
async fn handle_email_job(
    deps: &Deps,
    senders: &dyn EmailSenders,
    job: &EmailJob,
    receives: u32,
    deadline: Option<Timestamp>,
) -> Verdict {
    let span = tracing::info_span!(
        target: JOB_TARGET, "send_email", invitation_id = %job.invitation, correlation_id = %job.correlation, receives
    );
    continue_trace(&span, &job.correlation, job.parent);
    async {
        let worked = Box::pin(work_on_job(deps, senders, job, receives, deadline)).await;
        decide_verdict(deps, worked, &deps.settings().outbound_backoff, receives)
    }
    .instrument(span)
    .await
}

async fn work_on_job(
    deps: &Deps,
    senders: &dyn EmailSenders,
    job: &EmailJob,
    receives: u32,
    deadline: Option<Timestamp>,
) -> PortResult<Verdict> {
    if receives >= REQUEUE_AFTER_RECEIVES {
        enqueue_outbound(deps, job.clone().into()).await?;
        return Ok(Verdict::Done);
    }
    let id = (&job.tenant, &job.invitation);
    if let Some(failed_at) = job.redrive {
        requeue_dead_email(deps, id, failed_at).await?;
    }
    let found = find_invitation(deps.store(), id.0, id.1).await?;
    let Some(mut invitation) = found else {
        return Ok(Verdict::Done);
    };
    let now = deps.system().now();
    let Some(outbox) = outbox_of(&mut invitation) else {
        return Ok(Verdict::Done);
    };
    match outbox.state {
        EmailState::Sent { .. } | EmailState::Dead { copied: true, .. } => Ok(Verdict::Done),
        EmailState::Dead { copied: false, .. } => Ok(require_written(
            move_email_to_dead_letters(deps, invitation).await?,
        )),
        EmailState::Sending { lease_until, .. } if lease_until > now => {
            Ok(Verdict::retry_at(lease_until, now))
        }
        EmailState::Sending { .. } => settle_crashed_attempt(deps, invitation).await,
        EmailState::Queued { not_before } if not_before > now => Ok(wait_until(not_before, now)),
        EmailState::Queued { .. } => attempt_email(deps, senders, invitation, deadline).await,
    }
}

/// Returns the verdict after a conditional write: what another worker stored is read again.
fn require_written(written: WriteOutcome) -> Verdict {
    match written {
        WriteOutcome::Written => Verdict::Done,
        WriteOutcome::Conflict => Verdict::RETRY_SOON,
    }
}

/// Waits for a near time on the queue. After a later one `reconcile` enqueues another job.
fn wait_until(at: Timestamp, now: Timestamp) -> Verdict {
    if at > add_duration(now, EMAIL_JOB_WAIT_MAX) {
        Verdict::Done
    } else {
        Verdict::retry_at(at, now)
    }
}

fn find_sender<'a>(tenant: &'a Tenant, id: &EmailSenderId) -> Option<&'a EmailSender> {
    tenant.email_senders.iter().find(|sender| sender.id == *id)
}

fn limits(deps: &Deps) -> EmailLimits {
    EmailLimits {
        attempts: deps.settings().attempts.outbound,
        patience: deps.settings().parked_max,
    }
}

/// Returns the time of the attempt after this one.
fn next_attempt(deps: &Deps, attempts: u32, now: Timestamp) -> Timestamp {
    let backoff = &deps.settings().delivery_backoff;
    add_duration(
        now,
        backoff.delay_for_attempt(attempts, deps.system().random_u64()),
    )
}

/// Settles an attempt whose worker ended without storing its outcome: nobody knows it.
async fn settle_crashed_attempt(deps: &Deps, mut invitation: Versioned<Invitation>) -> PortResult<Verdict> {
    let tenant = find_tenant(deps, &invitation.record.tenant).await?;
    let now = deps.system().now();
    let Some(outbox) = outbox_of(&mut invitation) else {
        return Ok(Verdict::Done);
    };
    let sender = tenant
        .as_ref()
        .and_then(|tenant| find_sender(tenant, &outbox.sender));
    let failed = FailedAttempt::Unknown {
        why: "the attempt did not end".to_owned(),
        next: next_attempt(deps, outbox.attempts, now),
    };
    if outbox.record_failure(failed, sender, limits(deps), now).is_err() {
        return Ok(Verdict::RETRY_SOON);
    }
    store_and_follow(deps, invitation).await
}

/// Writes a changed e-mail, and decides when its job comes back. The dead letter of one that was given up is made at once.
async fn store_and_follow(deps: &Deps, mut invitation: Versioned<Invitation>) -> PortResult<Verdict> {
    if save_outbox(deps, &mut invitation).await? == WriteOutcome::Conflict {
        return Ok(Verdict::RETRY_SOON);
    }
    let now = deps.system().now();
    let state = outbox_of(&mut invitation).map(|outbox| outbox.state.clone());
    match state {
        Some(EmailState::Queued { not_before }) => Ok(wait_until(not_before, now)),
        Some(EmailState::Dead {
            reason,
            copied: false,
            ..
        }) => {
            tracing::warn!(reason = reason.as_str(), "e-mail given up");
            Ok(require_written(
                move_email_to_dead_letters(deps, invitation).await?,
            ))
        }
        _ => Ok(Verdict::Done),
    }
}

/// Gives an e-mail to its carrier, once.
async fn attempt_email(
    deps: &Deps,
    senders: &dyn EmailSenders,
    mut invitation: Versioned<Invitation>,
    deadline: Option<Timestamp>,
) -> PortResult<Verdict> {
    let Some(tenant) = find_tenant(deps, &invitation.record.tenant).await? else {
        // The tenant is being removed, with its invitations.
        return Ok(Verdict::Done);
    };
    // The time before the reads: whoever stops a batch after that waits until the permit is over.
    let permit = add_duration(deps.system().now(), BATCH_PERMIT);
    if let Some(verdict) = check_permission(deps, &tenant, &mut invitation).await? {
        return Ok(verdict);
    }
    let now = deps.system().now();
    let Some(outbox) = outbox_of(&mut invitation) else {
        return Ok(Verdict::Done);
    };
    let Some(sender) = find_sender(&tenant, &outbox.sender).cloned() else {
        let until = add_duration(now, CREDENTIAL_PAUSE);
        let put_off = outbox.put_off(until, "its sender is no longer configured", now);
        return store_change(deps, invitation, put_off).await;
    };
    if !outbox.may_attempt(&sender, now) {
        let why = "an earlier attempt may have arrived, and the carrier does not recognize a repeat";
        let ended = outbox.give_up(Reason::UnknownOutcome, why.to_owned(), now);
        return store_change(deps, invitation, ended).await;
    }
    if deadline.is_some_and(|deadline| add_duration(now, ATTEMPT_TIME) > deadline) {
        return Ok(Verdict::RETRY_SOON);
    }
    let begun = outbox.begin_attempt(generate_nonce(deps.system()), now);
    let email = outbox.email.clone();
    let (Ok(()), Some(email)) = (begun, email) else {
        return Ok(Verdict::RETRY_SOON);
    };
    if save_outbox(deps, &mut invitation).await? == WriteOutcome::Conflict {
        return Ok(Verdict::RETRY_SOON);
    }
    let now = deps.system().now();
    if let Some(outbox) = outbox_of(&mut invitation)
        && let Some(why) = find_lateness(outbox, permit, now)
    {
        let why = why.to_owned();
        let failed = FailedAttempt::Waits { why, next: now };
        let back = outbox.record_failure(failed, Some(&sender), limits(deps), now);
        return store_change(deps, invitation, back).await;
    }
    make_attempt(deps, senders, invitation, (&sender, &email)).await
}

/// Returns why it is too late to ask the carrier, after an attempt was stored. `None`: it is not. Where the lease is over,
/// another worker may have taken the attempt for one that crashed.
fn find_lateness(outbox: &EmailOutbox, permit: Timestamp, now: Timestamp) -> Option<&'static str> {
    if now >= permit {
        return Some("whether it may leave was asked too long ago");
    }
    (!outbox.is_leased_for(ATTEMPT_TIME, now)).then_some("its lease was nearly over")
}

/// Writes the result of a transition, if it was allowed.
async fn store_change(
    deps: &Deps,
    invitation: Versioned<Invitation>,
    changed: Result<(), InvalidEmailTransition>,
) -> PortResult<Verdict> {
    match changed {
        Ok(()) => store_and_follow(deps, invitation).await,
        Err(_) => Ok(Verdict::RETRY_SOON),
    }
}

/// Asks whether the e-mail may leave now. `Some`: it may not, and this is the verdict on its job. One that is not to leave any more and
/// may have been sent before keeps its outbox, which says so.
async fn check_permission(
    deps: &Deps,
    tenant: &Tenant,
    invitation: &mut Versioned<Invitation>,
) -> PortResult<Option<Verdict>> {
    let now = deps.system().now();
    let Some(batch) = outbox_of(invitation).map(|outbox| outbox.batch.clone()) else {
        return Ok(Some(Verdict::Done));
    };
    let described = invitation.record.describe_sent(batch.clone(), None, None);
    let permission = judge_attempt(deps, tenant, batch.as_ref(), Some(&described)).await?;
    if let AttemptPermission::NotBefore(at) = permission {
        invitation.record.not_before = Some(at);
    }
    let Some(outbox) = outbox_of(invitation) else {
        return Ok(Some(Verdict::Done));
    };
    let changed = match permission {
        AttemptPermission::Granted => return Ok(None),
        AttemptPermission::NotBefore(at) => outbox.put_off(at, "put off by the rules for deliveries", now),
        AttemptPermission::Paused => {
            outbox.put_off(add_duration(now, BATCH_PAUSE), "its batch is paused", now)
        }
        AttemptPermission::Ended(Reason::OptedOut) if outbox.is_certainly_unsent() => {
            tracing::info!("an e-mail to somebody who opted out is not sent");
            invitation.record.refuse(Reason::OptedOut.to_string());
            let written = write_record(deps.store(), invitation).await?;
            return Ok(Some(require_written(written)));
        }
        AttemptPermission::Ended(reason) => {
            tracing::info!(%reason, maybe_sent = outbox.maybe_sent, "an e-mail is cancelled");
            outbox.cancel(reason, now)
        }
    };
    store_change(deps, invitation.clone(), changed).await.map(Some)
}

/// Asks the carrier, and stores the outcome.
async fn make_attempt(
    deps: &Deps,
    senders: &dyn EmailSenders,
    mut invitation: Versioned<Invitation>,
    (sender, email): (&EmailSender, &Email),
) -> PortResult<Verdict> {
    let outcome = senders.send_email(sender, email).await;
    let now = deps.system().now();
    let Some(outbox) = outbox_of(&mut invitation) else {
        return Ok(Verdict::Done);
    };
    let recorded = match outcome {
        Ok(accepted) => {
            tracing::info!(sender = %sender.id, simulated = accepted.is_simulated, "e-mail sent");
            outbox.record_accepted(accepted.carrier_id, accepted.is_simulated, now)
        }
        Err(EmailError::Refused(why)) => outbox.give_up(Reason::EmailRefused, why, now),
        Err(error) => {
            tracing::warn!(sender = %sender.id, %error, "e-mail not sent");
            let failed = judge_failure(deps, outbox, &error, now);
            outbox.record_failure(failed, Some(sender), limits(deps), now)
        }
    };
    if recorded.is_err() {
        return Ok(Verdict::RETRY_SOON);
    }
    let mut tries = 1;
    loop {
        match store_and_follow(deps, invitation.clone()).await {
            Err(error) if error.is_retryable() && tries < OUTCOME_TRIES => tries += 1,
            stored => return stored,
        }
    }
}

/// Returns what an error of a carrier means for the e-mail, and when it is asked again.
fn judge_failure(deps: &Deps, outbox: &EmailOutbox, error: &EmailError, now: Timestamp) -> FailedAttempt {
    let why = match error {
        EmailError::NeedsCredentials(_) => format!("needs_credentials: {error}"),
        _ => error.to_string(),
    };
    let next = next_attempt(deps, outbox.attempts, now);
    let pause = match error {
        EmailError::Unknown(_) => return FailedAttempt::Unknown { why, next },
        EmailError::Later { after: None, .. } | EmailError::Refused(_) => {
            return FailedAttempt::Refused { why, next };
        }
        EmailError::Later {
            after: Some(pause), ..
        }
        | EmailError::Throttled {
            after: Some(pause), ..
        } => {
            let pause = SignedDuration::try_from(*pause).unwrap_or(LATER_MAX);
            pause.clamp(SignedDuration::from_secs(1), LATER_MAX)
        }
        EmailError::Throttled { after: None, .. } => {
            outbox.choose_throttle_pause(now, deps.system().random_u64())
        }
        EmailError::NeedsCredentials(_) => CREDENTIAL_PAUSE,
        EmailError::SenderNotReady(_) => SENDER_PAUSE,
        EmailError::Unreachable(_) => UNREACHABLE_PAUSE,
    };
    FailedAttempt::Waits {
        why,
        next: add_duration(now, pause),
    }
}
