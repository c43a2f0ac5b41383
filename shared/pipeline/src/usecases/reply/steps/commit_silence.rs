//! Commits that nothing is to be answered: an agent that the user runs said so, or the spelling was corrected and no more.

use super::commit_reply::{build_turn_for_rest, read_again};
use super::take_lease::release_lease;
use crate::Deps;
use crate::steps::save_conversation::save_conversation_with_use;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use recado_domain::reason::Reason;
use recado_ports::ports::WriteOutcome;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use std::time::Duration;

/// Commits that the messages of the turn get no answer, for this reason. Ends the turn as the commit of a reply does: if the
/// conversation was answered, taken over or resolved since the lease was taken, or if the contact wrote since and the draft is to
/// be dropped.
pub(in crate::usecases::reply) async fn commit_silence(
    deps: &Deps,
    turn: LeasedTurn<'_>,
    reason: Reason,
) -> Result<(), TurnStop> {
    let dropped_max = turn.dropped_drafts_max(deps);
    let unsent = turn.unsent_use();
    let LeasedTurn {
        job,
        conversation,
        draft,
        ..
    } = turn;
    let (draft, unsent) = (&draft, &unsent);
    retry_lost_write(
        TurnEnd::ChangedMeanwhile,
        conversation,
        |mut conversation| async move {
            let before = conversation.clone();
            let is_dropped = conversation.drop_outdated_draft(draft, dropped_max);
            if !is_dropped && let Err(refused) = conversation.commit_silence(draft, reason) {
                release_lease(deps, before, (draft, unsent), true).await?;
                return Err(TurnEnd::Discarded(refused).into());
            }
            let saves = save_conversation_with_use(deps, &mut conversation, unsent);
            if saves.await? == WriteOutcome::Conflict {
                return read_again(deps, &before.id).await.map(WriteAttempt::Lost);
            }
            if is_dropped {
                return Err(TurnEnd::DraftDropped.into());
            }
            tracing::info!(covers = draft.covers.0, %reason, "nothing is to be answered");
            if let Some(rest) = build_turn_for_rest(job, draft, &conversation) {
                deps.queues().enqueue_turns_job(&rest, Duration::ZERO).await?;
            }
            Ok(WriteAttempt::Done(()))
        },
    )
    .await
}
