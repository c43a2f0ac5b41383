//! Stores messages of contacts, and makes the records of all messages that come in.

use crate::Deps;
use crate::measure::{MessageStage, record_stage};
use crate::steps::inbound_arrival::InboundArrival;
use crate::steps::person_thread::FoundThread;
use crate::steps::{person_thread, wake_up};
use crate::usecases::process::{AppliedEvent, build_event_finish};
use jiff::SignedDuration;
use recado_domain::conversation::Conversation;
use recado_domain::event::{FollowUpJob, MessagePosition, ProcessingRecord};
use recado_domain::ids::{Ordinal, ThreadId};
use recado_domain::message::{Message, MessageChanges, MessageFile, Role};
use recado_domain::reason::Reason;
use recado_ports::ports::{InboundWrite, PortError, PortResult, StoreInboundOutcome};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::step_commit::{StepCommit, StepJob, StepOutcome, StepRecords};

/// Stores a message of the contact and, if an answer is owed, starts the timer of its turn. The timer starts in every
/// mode: the turn checks the mode, and the conversation may be given back before that.
pub(super) async fn store_contact_message(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
) -> PortResult<AppliedEvent> {
    note_arrival(deps, arrival).await?;
    let (place, silence) = match store_message(deps, arrival).await? {
        StoredMessage::WithFollowUp => return Ok(AppliedEvent::Finished),
        StoredMessage::Refused => return Ok(AppliedEvent::LeftOut(Reason::Blocked)),
        StoredMessage::At { place, silence } => (place, silence),
    };
    follow_message(deps, arrival, &place).await?;
    let mut enqueued = FollowUpJob::Nothing;
    if arrival.wants_answer {
        wake_up::enqueue_reply_turn(deps, arrival.job, arrival.bound, &place, silence).await?;
        enqueued = FollowUpJob::Turn(place.ordinal);
    }
    Ok(AppliedEvent::Followed(enqueued))
}

/// Has every rule note what a message tells before its conversation is known.
pub(super) async fn note_arrival(deps: &Deps, arrival: &InboundArrival<'_>) -> PortResult<()> {
    for rule in deps.features().inbound_rules {
        rule.note_arrival(deps, arrival).await?;
    }
    Ok(())
}

/// Has every rule change a message and its conversation before both are stored.
pub(super) async fn apply_message(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    conversation: &mut Conversation,
    message: &mut Message,
) -> PortResult<()> {
    for rule in deps.features().inbound_rules {
        rule.apply_message(deps, arrival, conversation, message).await?;
    }
    Ok(())
}

/// Has the rules that follow a message do so, which is stored at `place`.
pub(super) async fn follow_message(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    place: &MessagePosition,
) -> PortResult<()> {
    for rule in deps.features().inbound_rules {
        if rule.follows_message(&arrival.inbound.content) {
            rule.follow_message(deps, arrival, place).await?;
        }
    }
    Ok(())
}

/// Returns `true` if a rule refuses the message of a contact, whose thread was found.
async fn is_refused(deps: &Deps, arrival: &InboundArrival<'_>, found: &FoundThread<'_>) -> PortResult<bool> {
    for rule in deps.features().inbound_rules {
        if rule.refuses_message(deps, arrival, found).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A contact's message after it was stored.
enum StoredMessage {
    /// The message is stored. Its turn job and the end of its event are still to come.
    At {
        /// Place of the message.
        place: MessagePosition,
        /// The silence after it, for which its turn job waits.
        silence: SignedDuration,
    },
    /// The message is stored, its event is finished, and its turn job is enqueued.
    WithFollowUp,
    /// The message is not stored, because a rule refuses it.
    Refused,
}

async fn store_message(deps: &Deps, arrival: &InboundArrival<'_>) -> PortResult<StoredMessage> {
    let contended = PortError::contended("conversation");
    retry_lost_write(contended, (), |()| try_to_store_message(deps, arrival)).await
}

async fn try_to_store_message(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
) -> PortResult<WriteAttempt<StoredMessage>> {
    let InboundArrival {
        job, bound, inbound, ..
    } = *arrival;
    let found = person_thread::find_thread(deps, arrival).await?;
    if is_refused(deps, arrival, &found).await? {
        return Ok(WriteAttempt::Done(StoredMessage::Refused));
    }
    let joined = person_thread::join_thread(deps, arrival, found).await?;
    let mut conversation = open_conversation(deps, arrival, joined);
    let goes_on = conversation.owes_answer();
    let Ok(ordinal) = conversation.receive_message(arrival.wants_answer, job.received_at) else {
        return Ok(WriteAttempt::Lost(()));
    };
    if came_before_restore(deps, arrival) {
        conversation.doubt_restored();
    }
    person_thread::learn_identity(deps, arrival, &mut conversation).await?;
    conversation.set_reply_address(&inbound.address);
    conversation.apply_preference(&inbound.content, arrival.written_at());
    conversation.update_contact_details(inbound.name.as_deref(), inbound.phone.as_deref());
    let mut message = build_message(deps, arrival, &conversation, Role::User, ordinal);
    message.unanswered = inbound.not_owed.or(arrival.stale.then_some(Reason::Stale));
    apply_message(deps, arrival, &mut conversation, &mut message).await?;
    let silence = |goes_on| wake_up::silence_after(deps, bound, &conversation, &inbound.content, goes_on);
    let (silence, unknown) = (silence(goes_on), silence(true));
    let (outcome, stored) = save_arrival(deps, arrival, conversation, &message, silence).await?;
    Ok(match outcome {
        StepOutcome::Committed | StepOutcome::JobsLeft => {
            let now = deps.system().now();
            record_stage(&bound.instance.id, MessageStage::Inbound, job.received_at, now);
            WriteAttempt::Done(stored)
        }
        StepOutcome::AlreadyStored(place) => WriteAttempt::Done(StoredMessage::At {
            place,
            silence: unknown,
        }),
        StepOutcome::Conflict | StepOutcome::Recorded(_) => WriteAttempt::Lost(()),
    })
}

/// Returns the conversation that a message belongs to: the thread's latest, or a new one. It has what the message says about who holds
/// the thread.
pub(super) fn open_conversation(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    (thread, latest): (ThreadId, Option<Conversation>),
) -> Conversation {
    let InboundArrival { bound, inbound, .. } = *arrival;
    let (phone, now) = (inbound.phone.clone(), deps.system().now());
    let mut conversation =
        Conversation::continue_or_start(latest, &thread, bound, &inbound.address, phone, now);
    if let Some(control) = &inbound.thread {
        conversation.apply_thread_control(control, arrival.written_at(), now);
    }
    conversation
}

/// Stores the message of `arrival`, finishes its event and enqueues its turn job, which waits for `silence`. Returns also what the message
/// is once that is committed. The finished event names the turn job: whoever receives the event again enqueues it.
async fn save_arrival(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    mut conversation: Conversation,
    message: &Message,
    silence: SignedDuration,
) -> PortResult<(StepOutcome, StoredMessage)> {
    let InboundArrival {
        job,
        bound,
        started_at,
        wants_answer,
        ..
    } = *arrival;
    let place = MessagePosition {
        conversation: message.conversation.clone(),
        ordinal: message.ordinal,
    };
    let enqueued = if wants_answer {
        FollowUpJob::Turn(place.ordinal)
    } else {
        FollowUpJob::Nothing
    };
    let finish = build_event_finish(
        deps,
        job,
        Some(&bound.tenant),
        ProcessingRecord { started_at, enqueued },
    );
    conversation.raise_revision();
    // A rule that follows the message does so before its event is finished.
    let is_followed = deps
        .features()
        .inbound_rules
        .iter()
        .any(|rule| rule.follows_message(&message.content));
    let is_finished = !is_followed;
    let turn = (is_finished && wants_answer).then(|| {
        let turn = wake_up::build_reply_turn(job, bound, &place);
        StepJob::Turns(turn, silence.unsigned_abs())
    });
    let step = StepCommit {
        records: StepRecords::Inbound(InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message,
            finish: is_finished.then_some(&finish),
        }),
        jobs: turn.into_iter().collect(),
        acknowledges: is_finished,
        takes_jobs: false,
    };
    let outcome = deps.commit_step(&step).await?;
    let stored = if is_finished {
        StoredMessage::WithFollowUp
    } else {
        StoredMessage::At { place, silence }
    };
    Ok((outcome, stored))
}

/// Stores an inbound message with its conversation, which gets its next revision.
pub(super) async fn save_with_message(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    conversation: &mut Conversation,
    message: &Message,
) -> PortResult<StoreInboundOutcome> {
    conversation.raise_revision();
    let write = InboundWrite {
        event: &arrival.job.event,
        conversation,
        message,
        finish: None,
    };
    deps.store().store_inbound(write).await
}

/// Returns `true` if a message was written before the installation went on from a backup: nobody knows whether it was answered.
fn came_before_restore(deps: &Deps, arrival: &InboundArrival<'_>) -> bool {
    let restored_at = deps.settings().restored_at;
    // Providers tell whole seconds.
    restored_at.is_some_and(|restored_at| arrival.written_at().as_second() < restored_at.as_second())
}

/// Returns the record of the file of a message, which is fetched later; `None` if there is nothing to fetch.
fn expect_file(deps: &Deps, arrival: &InboundArrival<'_>) -> Option<MessageFile> {
    let expected = MessageFile::expect_from_content(&arrival.inbound.content, deps.system().now())?;
    Some(MessageFile {
        from_webhook: arrival.job.has_file,
        ..expected
    })
}

/// Builds the record of an inbound message.
pub(super) fn build_message(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    conversation: &Conversation,
    role: Role,
    ordinal: Ordinal,
) -> Message {
    let InboundArrival { job, inbound, .. } = *arrival;
    Message {
        conversation: conversation.id.clone(),
        ordinal,
        tenant: conversation.tenant.clone(),
        instance: conversation.instance.clone(),
        role,
        content: inbound.content.clone(),
        context: inbound.context.clone(),
        provider_message_id: inbound.provider_message_id.clone(),
        written_at: arrival.written_at(),
        told_at: inbound.sent_at.filter(|sent_at| *sent_at > job.received_at),
        stored_at: deps.system().now(),
        correlation: job.correlation.clone(),
        event: Some(job.event.clone()),
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        changes: MessageChanges::default(),
        file: expect_file(deps, arrival),
        rev: 0,
        out: None,
    }
}
