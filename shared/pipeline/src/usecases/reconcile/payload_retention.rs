//! Keeps the payloads that dead letters name until the dead letters are gone. Payloads are bodies too large for a
//! queue, and uploads of messages.

use crate::Deps;
use crate::ports::{Conversations, DeadLetterFilter, DeadLetters, PageRequest, PortResult, Queues};
use crate::steps::upload;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::event::EventPayload;

/// Number of dead letters that one read returns, and number that are handled at the same time.
const PAGE: usize = 100;
const SIDE_BY_SIDE: usize = 16;

/// Returns `true` in the first minute of each day (UTC). Once a day is enough: no stored payload expires in less than
/// two weeks.
pub(super) fn is_renewal_time(now: Timestamp) -> bool {
    now.as_second().rem_euclid(86_400) < 60
}

/// Renews the payloads that dead letters name. Returns how many dead letters name a payload that exists.
pub(super) async fn renew_payloads(deps: &impl Deps) -> PortResult<usize> {
    let mut page = PageRequest {
        limit: PAGE,
        cursor: None,
    };
    let mut renewed = 0;
    loop {
        let found = deps
            .store()
            .list_dead_letters(&DeadLetterFilter::default(), &page)
            .await?;
        let named: Vec<bool> = stream::iter(found.items)
            .map(|dead_letter| async move { renew_letter_payload(deps, &dead_letter).await })
            .buffer_unordered(SIDE_BY_SIDE)
            .try_collect()
            .await?;
        renewed += named.into_iter().filter(|named| *named).count();
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return Ok(renewed),
        }
    }
}

async fn renew_letter_payload(deps: &impl Deps, dead_letter: &DeadLetter) -> PortResult<bool> {
    match &dead_letter.what {
        DeadLetterContent::Event(job) => match &job.payload {
            EventPayload::Stored(key) => deps.queues().renew_payload(key).await,
            EventPayload::Inline(_) => Ok(false),
        },
        DeadLetterContent::Message { message } => match deps.store().find_message(message).await? {
            Some(message) => upload::renew_upload(deps, &message).await,
            None => Ok(false),
        },
        DeadLetterContent::Turn(_) | DeadLetterContent::Unreadable { .. } => Ok(false),
    }
}
