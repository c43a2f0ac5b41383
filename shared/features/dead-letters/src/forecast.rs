use crate::SIDE_BY_SIDE;
use crate::redrive::{find_open_batch, is_still_dead};
use crate::selection::{DeadLetterSelection, OrderedLetters, select_letters};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::ids::{EventId, MessageId};
use recado_domain::outbox::{Author, Outbox};
use recado_domain::service_window::{bypasses_window, is_window_open};
use recado_domain::wake_up::{BatchJob, TurnJob, TurnsJob};
use recado_operators::OperateError;
use recado_pipeline::Deps;
use recado_pipeline::deps::capabilities;
use recado_pipeline::steps::outgoing::find_outgoing;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::records::dead_letters::find_dead_letter;

/// The expected result of a redrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RedriveForecast {
    /// Number of dead letters that the redrive would handle.
    pub selected: usize,
    /// Number of outgoing messages on Meta that are no templates and whose service window is closed. They would not be
    /// sent as they are.
    pub out_of_window: usize,
    /// Number of dead letters whose messages were answered in another way meanwhile.
    pub answered_meanwhile: usize,
    /// Number of recipients of batches whose invitations the redriven jobs go on to make.
    pub recipients_left: usize,
    /// Number of dead letters that would only be removed. Their record is no longer dead, or failed again later, or their job has
    /// nothing left to do.
    pub no_longer_dead: usize,
    /// `true` if more dead letters match than the limit allows.
    pub more: bool,
}

/// The forecast for one dead letter.
#[derive(Debug, Clone, Copy, Default)]
struct LetterForecast {
    out_of_window: bool,
    answered: bool,
    alive: bool,
    recipients_left: usize,
}

/// Predicts the result of redriving `selection`. Nothing is changed.
pub async fn forecast_redrive(
    deps: &Deps,
    caller: &Caller,
    selection: &DeadLetterSelection,
) -> Result<RedriveForecast, OperateError> {
    let selected = select_letters(deps, caller, selection).await?;
    let ids = selected
        .lines
        .into_iter()
        .flat_map(OrderedLetters::into_letter_ids);
    // What cannot be read is none of what is counted.
    let looks = stream::iter(ids)
        .map(|id| async move { pass_over_unreadable(forecast_letter(deps, id).await.map(Some)) });
    let found: Vec<Option<LetterForecast>> = looks.buffer_unordered(SIDE_BY_SIDE).try_collect().await?;
    let found: Vec<LetterForecast> = found.into_iter().flatten().collect();
    let count = |is: fn(&LetterForecast) -> bool| found.iter().filter(|found| is(found)).count();
    Ok(RedriveForecast {
        selected: selected.count,
        out_of_window: count(|found| found.out_of_window),
        answered_meanwhile: count(|found| found.answered),
        recipients_left: found.iter().map(|found| found.recipients_left).sum(),
        no_longer_dead: count(|found| found.alive),
        more: selected.more,
    })
}

const ALREADY_ALIVE: LetterForecast = LetterForecast {
    out_of_window: false,
    answered: false,
    alive: true,
    recipients_left: 0,
};

async fn forecast_letter(deps: &Deps, id: String) -> PortResult<LetterForecast> {
    let Some(dead_letter) = find_dead_letter(deps.store(), &id).await? else {
        return Ok(ALREADY_ALIVE);
    };
    match &dead_letter.what {
        DeadLetterContent::Event(job) => forecast_event(deps, &job.event, dead_letter.at).await,
        DeadLetterContent::Message { message } => forecast_message(deps, message, dead_letter.at).await,
        DeadLetterContent::Turns(job) => match &**job {
            TurnsJob::Turn(job) => forecast_turn(deps, job).await,
            TurnsJob::Batch(job) => forecast_batch(deps, job).await,
            TurnsJob::AgentReturn(_) | TurnsJob::File(_) => forecast_other(deps, &dead_letter).await,
        },
        DeadLetterContent::Email { .. } => forecast_other(deps, &dead_letter).await,
        DeadLetterContent::Unreadable { .. } | DeadLetterContent::Damaged { .. } => {
            Ok(LetterForecast::default())
        }
    }
}

/// Predicts only whether the dead letter is still dead.
async fn forecast_other(deps: &Deps, dead_letter: &DeadLetter) -> PortResult<LetterForecast> {
    Ok(LetterForecast {
        alive: !is_still_dead(deps, dead_letter).await?,
        ..LetterForecast::default()
    })
}

async fn forecast_turn(deps: &Deps, job: &TurnJob) -> PortResult<LetterForecast> {
    let conversation = deps.store().find_conversation(&job.conversation).await?;
    Ok(LetterForecast {
        answered: conversation.is_some_and(|conversation| conversation.answered >= job.ordinal),
        ..LetterForecast::default()
    })
}

async fn forecast_batch(deps: &Deps, job: &BatchJob) -> PortResult<LetterForecast> {
    let batch = find_open_batch(deps, job).await?;
    Ok(batch.map_or(ALREADY_ALIVE, |batch| LetterForecast {
        recipients_left: batch.recipients.saturating_sub(batch.expanded),
        ..LetterForecast::default()
    }))
}

async fn forecast_event(deps: &Deps, id: &EventId, failed_at: Timestamp) -> PortResult<LetterForecast> {
    let record = deps.store().find_event(id).await?;
    let Some(record) = record.filter(|record| record.failed_at() == Some(failed_at)) else {
        return Ok(ALREADY_ALIVE);
    };
    let Some(stored) = record.stored else {
        return Ok(LetterForecast::default());
    };
    let conversation = deps.store().find_conversation(&stored.conversation).await?;
    Ok(LetterForecast {
        answered: conversation.is_some_and(|conversation| conversation.answered >= stored.ordinal),
        ..LetterForecast::default()
    })
}

async fn forecast_message(deps: &Deps, id: &MessageId, failed_at: Timestamp) -> PortResult<LetterForecast> {
    let message = find_outgoing(deps, id).await?;
    let Some(message) = message.filter(|message| message.out.failed_at() == Some(failed_at)) else {
        return Ok(ALREADY_ALIVE);
    };
    let Some(conversation) = deps.store().find_conversation(&message.conversation).await? else {
        return Ok(LetterForecast::default());
    };
    let bound = find_config_by_id(deps.store(), &message.instance).await?;
    let has_window = bound.is_some_and(|bound| capabilities(deps, &bound).has_service_window);
    Ok(LetterForecast {
        out_of_window: has_window
            && !bypasses_window(&message.content)
            && is_window_closed(deps, &conversation).await?,
        answered: was_answered_meanwhile(&conversation, &message.out),
        ..LetterForecast::default()
    })
}

/// Returns `true` if the contact's service window is closed, by the rule that the sender uses. The contact's last
/// message counts, in this conversation or a later one of the same thread.
async fn is_window_closed(deps: &Deps, conversation: &Conversation) -> PortResult<bool> {
    let latest = deps
        .store()
        .find_latest_conversation(conversation.id.thread_id())
        .await?;
    let last_inbound_at = latest
        .and_then(|latest| latest.contact.last_inbound_at)
        .max(conversation.contact.last_inbound_at);
    Ok(!is_window_open(last_inbound_at, deps.system().now()))
}

/// Returns `true` if the messages that this message answers were answered since its commit, by another reply or a
/// person.
fn was_answered_meanwhile(conversation: &Conversation, out: &Outbox) -> bool {
    let by_a_person = out.author == Author::Ai && conversation.human >= out.covers;
    conversation.answered > out.covers || by_a_person
}
