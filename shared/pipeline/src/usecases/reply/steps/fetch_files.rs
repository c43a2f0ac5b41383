//! The step [`recado_domain::turn::TurnStep::Files`]: fetches the files of the messages that the turn reads.

use crate::Deps;
use crate::steps::enabled_instance::find_instance_of;
use crate::steps::file_fetch::{
    fetch_again_within, fetch_files_within, list_failed_fetches, list_waiting_files,
};
use crate::steps::file_job::complete_files;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use jiff::{SignedDuration, Timestamp};
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
/// Time after which a fetch that failed is tried once more, before the agent answers without the file.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(2);

/// Fetches the files that are not here yet, for a bounded time, at most until `until`. A fetch that fails is tried once more. The turn
/// goes on without files that take longer.
pub(in crate::usecases::reply) async fn fetch_files(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    until: Timestamp,
) -> Result<(), TurnStop> {
    let now = deps.system().now();
    let waiting = list_waiting_files(turn.reading.chosen_messages(), now);
    if waiting.is_empty() {
        return Ok(());
    }
    let within = deps.settings().file_wait.min(until.duration_since(now));
    let changed = fetch_files_within(deps, &turn.bound, waiting, within).await;
    let failed = list_failed_fetches(deps, &turn.bound, &changed);
    turn.reading.replace_messages(changed);
    let left = add_duration(now, within).duration_since(deps.system().now());
    if !failed.is_empty() && left > AGAIN_AFTER {
        deps.system().sleep(AGAIN_AFTER.unsigned_abs()).await;
        let left = left.checked_sub(AGAIN_AFTER).unwrap_or_default();
        let changed = fetch_again_within(deps, &turn.bound, failed, left).await;
        turn.reading.replace_messages(changed);
    }
    Ok(())
}

/// The messages whose files would wait if the turn ends before it asks the model.
#[derive(Debug)]
pub(in crate::usecases::reply) struct UnreadFiles(Vec<Message>);

impl UnreadFiles {
    /// Collects the messages among `newest` whose files may be fetched now.
    pub(in crate::usecases::reply) fn from_messages(deps: &Deps, newest: &[Message]) -> Self {
        // What the business sent is fetched apart from turns.
        let of_contact = newest.iter().filter(|message| message.out.is_none());
        Self(list_waiting_files(of_contact, deps.system().now()))
    }

    /// Fetches the files and reads their texts after a turn that left the messages to people or for later. People see them,
    /// too.
    pub(in crate::usecases::reply) async fn fetch_after(
        self,
        deps: &Deps,
        stop: &TurnStop,
    ) -> Result<(), TurnStop> {
        let left = matches!(
            stop,
            TurnStop::Ended(TurnEnd::NothingOwed | TurnEnd::Closed { .. } | TurnEnd::NeverOpens)
        );
        let Some(first) = self.0.first().filter(|_| left) else {
            return Ok(());
        };
        if let Some(bound) = find_instance_of(deps, &first.instance, &first.tenant).await? {
            complete_files(deps, &bound, self.0).await;
        }
        Ok(())
    }
}
