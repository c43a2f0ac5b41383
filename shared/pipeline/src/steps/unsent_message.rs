//! Ends messages that are not to leave any more: in the way of the feature that has one for them, else as any other.

use crate::Deps;
use crate::steps::give_up::{cancel_message, give_up_message};
use recado_domain::message::Outgoing;
use recado_domain::reason::Reason;
use recado_ports::ports::{PortResult, WriteOutcome};

/// Gives up an open message for `reason`, unless a feature ends it. `false`: another worker changed the message, or its state does not
/// allow this.
pub async fn give_up_unsent_message(
    deps: &Deps,
    message: Outgoing,
    reason: Reason,
    why: Option<String>,
) -> PortResult<bool> {
    let told = match &why {
        Some(why) => format!("{reason}: {why}"),
        None => reason.to_string(),
    };
    match end_by_feature(deps, &message, &told).await? {
        Some(ended) => Ok(ended == WriteOutcome::Written),
        None => Box::pin(give_up_message(deps, message, reason, why)).await,
    }
}

/// Cancels a queued message for `reason`, unless a feature ends it.
pub async fn cancel_unsent_message(
    deps: &Deps,
    message: &Outgoing,
    reason: Reason,
) -> PortResult<WriteOutcome> {
    match end_by_feature(deps, message, &reason.to_string()).await? {
        Some(ended) => Ok(ended),
        None => cancel_message(deps, message, reason).await,
    }
}

async fn end_by_feature(deps: &Deps, message: &Outgoing, why: &str) -> PortResult<Option<WriteOutcome>> {
    for feature in deps.features().after_commit {
        let ended = feature.end_unsent_message(deps, message, why).await?;
        if ended.is_some() {
            return Ok(ended);
        }
    }
    Ok(None)
}
