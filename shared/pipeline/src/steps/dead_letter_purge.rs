//! Purges what a dead letter names: its event or message is given up for good, and nobody can redrive it any more.

use crate::steps::email_outbox::purge_dead_email;
use crate::steps::outgoing::find_outgoing;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::ids::{EventId, MessageId, TokenName};
use recado_domain::millis::add_duration;
use recado_ports::Deps;
use recado_ports::ports::{EventChange, PortError, PortResult};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Purges the event or message of a dead letter. It is done before the dead letter is removed, so that no remaining copy
/// revives it and no new dead letter is made of it. `by`: the token with which that is ordered, if a person does.
pub(crate) async fn purge_named_record(
    deps: &Deps,
    dead_letter: &DeadLetter,
    by: Option<&TokenName>,
) -> PortResult<()> {
    match &dead_letter.what {
        DeadLetterContent::Event(job) => purge_event(deps, &job.event, dead_letter.at).await,
        DeadLetterContent::Unreadable { .. } => match dead_letter.unread_event() {
            Some(event) => purge_event(deps, &event, dead_letter.at).await,
            None => Ok(()),
        },
        DeadLetterContent::Message { message } => purge_message(deps, by, message, dead_letter).await,
        DeadLetterContent::Email { tenant, invitation } => {
            purge_dead_email(deps, (tenant, invitation), dead_letter.at).await
        }
        DeadLetterContent::Turns(_) | DeadLetterContent::Damaged { .. } => Ok(()),
    }
}

/// Purges an event that failed at `failed_at`.
async fn purge_event(deps: &Deps, event: &EventId, failed_at: Timestamp) -> PortResult<()> {
    let now = deps.system().now();
    let expires = add_duration(now, deps.settings().event_ttl);
    deps.store()
        .change_event(
            event,
            EventChange::Purge {
                failed_at,
                at: now,
                expires,
            },
        )
        .await
        .map(drop)
}

/// Marks a dead message as purged. A message that is no longer dead, or failed again later, is left unchanged: only its
/// old dead letter is removed.
async fn purge_message(
    deps: &Deps,
    by: Option<&TokenName>,
    id: &MessageId,
    dead_letter: &DeadLetter,
) -> PortResult<()> {
    retry_lost_write(PortError::contended("message"), (), |()| async {
        let Some(mut message) = find_outgoing(deps, id).await? else {
            return Ok(WriteAttempt::Done(()));
        };
        let copied = message.out.copied;
        if message
            .out
            .purge_dead(deps.system().now(), dead_letter.at)
            .is_err()
        {
            return Ok(WriteAttempt::Done(()));
        }
        message.out.sign_last_step(by);
        // A dead message stays on the open list until its dead letter exists.
        let written = if copied {
            deps.store()
                .update_closed_message(&message.to_record(), None)
                .await?
        } else {
            deps.store()
                .settle_message(&message.to_record(), None, None, None)
                .await?
        };
        Ok(WriteAttempt::after_write(written, ()))
    })
    .await
}
