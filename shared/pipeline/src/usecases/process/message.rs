use super::choice::note_chosen_option;
use super::opt_out::note_opt_out;
use super::quoted_message::note_quoted_message;
use super::target_change::apply_to_target;
use super::{AppliedEvent, access, build_event_finish, identity};
use crate::Deps;
use crate::measure::{MessageStage, record_stage};
use crate::steps::guest_reply::apply_guest_reply;
use crate::steps::message_age::is_stale;
use crate::steps::wake_up;
use jiff::{SignedDuration, Timestamp};
use recado_domain::answer_loop::says_something_new;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::event::{FollowUpJob, InboundJob, MessagePosition, ProcessingRecord};
use recado_domain::ids::{Ordinal, ThreadId};
use recado_domain::inbound::InboundMessage;
use recado_domain::instance::{InstanceChange, InstanceState};
use recado_domain::message::{Message, MessageChanges, MessageFile, Role};
use recado_domain::reason::Reason;
use recado_domain::thread_hold::ThreadControl;
use recado_ports::ports::{InboundWrite, PortError, PortResult, StoreInboundOutcome};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::step_commit::{StepCommit, StepJob, StepOutcome, StepRecords};

/// Stores a message of the contact and, if an answer is owed, starts the timer of its turn. The timer starts in every
/// mode: the turn checks the mode, and the conversation may be given back before that.
pub(super) async fn store_contact_message(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
    started_at: Timestamp,
) -> PortResult<AppliedEvent> {
    note_opt_out(deps, job, bound, inbound, written_at(job, inbound)).await?;
    note_other_agent(deps, bound, inbound).await?;
    let stale = is_stale(deps, job, inbound);
    let arrival = Arrival {
        job,
        bound,
        inbound,
        stale,
        wants: wants_answer(inbound) && !stale,
        started_at,
    };
    let (place, silence) = match store_message(deps, arrival).await? {
        StoredMessage::WithFollowUp => return Ok(AppliedEvent::Finished),
        StoredMessage::Blocked => return Ok(AppliedEvent::LeftOut(Reason::Blocked)),
        StoredMessage::At { place, silence } => (place, silence),
    };
    Box::pin(apply_to_target(deps, bound, &inbound.content, &place)).await?;
    let mut enqueued = FollowUpJob::Nothing;
    if arrival.wants {
        wake_up::enqueue_reply_turn(deps, job, bound, &place, silence).await?;
        enqueued = FollowUpJob::Turn(place.ordinal);
    }
    Ok(AppliedEvent::Followed(enqueued))
}

/// Returns `true` if an answer to the message is owed: it asks for one and is ours to answer, or it says that the thread was passed to
/// us, so that what the contact wrote elsewhere waits for us.
fn wants_answer(inbound: &InboundMessage) -> bool {
    let is_passed = inbound.thread == Some(ThreadControl::PassedToUs);
    is_passed || (inbound.content.expects_answer() && inbound.not_owed.is_none())
}

/// Notes with the instance that another program holds a thread of its contacts, at most once a day.
pub(super) async fn note_other_agent(
    deps: &Deps,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
) -> PortResult<()> {
    if !matches!(inbound.thread, Some(ThreadControl::Held(_))) {
        return Ok(());
    }
    let (before, seen) = (
        InstanceState::default(),
        InstanceChange::OtherAgentSeen(deps.system().now()),
    );
    let store = deps.store();
    let noted = store
        .change_instance_state(&bound.instance.id, &before, &seen)
        .await?;
    if noted.done {
        tracing::warn!(instance_id = %bound.instance.id, "another program answers contacts of this number");
    }
    Ok(())
}

/// A contact's message as it came.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    job: &'a InboundJob,
    bound: &'a InstanceConfig,
    inbound: &'a InboundMessage,
    stale: bool,
    /// An answer is owed.
    wants: bool,
    /// Time at which the worker began.
    started_at: Timestamp,
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
    /// The message is not stored, because the access list refuses its author.
    Blocked,
}

async fn store_message(deps: &Deps, arrival: Arrival<'_>) -> PortResult<StoredMessage> {
    let contended = PortError::contended("conversation");
    retry_lost_write(contended, (), |()| try_to_store_message(deps, arrival)).await
}

async fn try_to_store_message(deps: &Deps, arrival: Arrival<'_>) -> PortResult<WriteAttempt<StoredMessage>> {
    let Arrival {
        job,
        bound,
        inbound,
        stale,
        wants,
        ..
    } = arrival;
    let found = identity::find_thread(deps, job, bound, inbound).await?;
    if access::is_refused(deps, job, bound, inbound, &found).await? {
        return Ok(WriteAttempt::Done(StoredMessage::Blocked));
    }
    let joined = identity::join_thread(deps, bound, inbound, found).await?;
    let mut conversation = open_conversation(deps, job, bound, inbound, joined);
    let goes_on = conversation.owes_answer();
    let Ok(ordinal) = conversation.receive_message(wants, job.received_at) else {
        return Ok(WriteAttempt::Lost(()));
    };
    if came_before_restore(deps, job, inbound) {
        conversation.doubt_restored();
    }
    identity::learn_identity(deps, job, &mut conversation, inbound).await?;
    conversation.set_reply_address(&inbound.address);
    conversation.apply_preference(&inbound.content, written_at(job, inbound));
    conversation.update_contact_details(inbound.name.as_deref(), inbound.phone.as_deref());
    let mut message = build_message(deps, job, &conversation, inbound, Role::User, ordinal);
    remove_quoted_signature(bound, &mut message);
    note_quoted_message(deps, job, bound, inbound, &mut message).await?;
    message.unanswered = inbound.not_owed.or(stale.then_some(Reason::Stale));
    if wants {
        end_pause_for_new_words(deps, &mut conversation, &message).await?;
    }
    note_chosen_option(deps, job, bound, &mut conversation, inbound, &mut message).await?;
    if let Some(text) = answer_text(&message.content) {
        let people = (&bound.tenant, &conversation);
        apply_guest_reply(deps, people, ordinal, (text, message.written_at)).await?;
    }
    let silence = |goes_on| wake_up::silence_after(deps, bound, &conversation, &inbound.content, goes_on);
    let (silence, unknown) = (silence(goes_on), silence(true));
    let (outcome, stored) = save_arrival(deps, arrival, conversation, &message, silence).await?;
    Ok(match outcome {
        StepOutcome::Committed => {
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
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
    (thread, latest): (ThreadId, Option<Conversation>),
) -> Conversation {
    let (phone, now) = (inbound.phone.clone(), deps.system().now());
    let mut conversation =
        Conversation::continue_or_start(latest, &thread, bound, &inbound.address, phone, now);
    if let Some(control) = &inbound.thread {
        conversation.apply_thread_control(control, written_at(job, inbound), now);
    }
    conversation
}

/// Ends the agent's pause for a loop if the message says something else than the contact's last one. Only in such a pause is anything
/// read.
async fn end_pause_for_new_words(
    deps: &Deps,
    conversation: &mut Conversation,
    message: &Message,
) -> PortResult<()> {
    if !conversation.pauses_for_loop() {
        return Ok(());
    }
    let limit = deps.settings().turn_reads.messages;
    let found = deps.store().find_with_history(&conversation.id, limit).await?;
    let known = found.map(|(_, known)| known).unwrap_or_default();
    if says_something_new(message, &known) {
        tracing::info!("the contact says something new: the agent's pause for a loop is over");
        conversation.end_loop_pause(message.stored_at);
    }
    Ok(())
}

/// Returns the words by which a message may answer an invitation: its text, or the button that was chosen.
fn answer_text(content: &Content) -> Option<&str> {
    match content {
        Content::Text { text } => Some(text),
        Content::Choice { title, .. } => Some(title),
        _ => None,
    }
}

/// Stores the message of `arrival`, finishes its event and enqueues its turn job, which waits for `silence`. Returns also what the message
/// is once that is committed. The finished event names the turn job: whoever receives the event again enqueues it.
async fn save_arrival(
    deps: &Deps,
    arrival: Arrival<'_>,
    mut conversation: Conversation,
    message: &Message,
    silence: SignedDuration,
) -> PortResult<(StepOutcome, StoredMessage)> {
    let Arrival { job, bound, .. } = arrival;
    let place = MessagePosition {
        conversation: message.conversation.clone(),
        ordinal: message.ordinal,
    };
    let enqueued = if arrival.wants {
        FollowUpJob::Turn(place.ordinal)
    } else {
        FollowUpJob::Nothing
    };
    let started_at = arrival.started_at;
    let finish = build_event_finish(
        deps,
        job,
        Some(&bound.tenant),
        ProcessingRecord { started_at, enqueued },
    );
    conversation.raise_revision();
    // Before the event of a reaction, an edit or a deletion is finished, the message that it is about is changed.
    let is_finished = !message.content.changes_target();
    let turn = (is_finished && arrival.wants).then(|| {
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
    job: &InboundJob,
    conversation: &mut Conversation,
    message: &Message,
) -> PortResult<StoreInboundOutcome> {
    conversation.raise_revision();
    let write = InboundWrite {
        event: &job.event,
        conversation,
        message,
        finish: None,
    };
    deps.store().store_inbound(write).await
}

/// Removes our signature from the text that the message quotes: the model reads what was written, not who signed it.
fn remove_quoted_signature(bound: &InstanceConfig, message: &mut Message) {
    let quoted = message.context.reply_to.as_mut();
    let Some(text) = quoted.and_then(|quoted| quoted.text.as_mut()) else {
        return;
    };
    let signatures = [&bound.agent.signature, &bound.instance.people_signature];
    for signature in signatures.into_iter().flatten() {
        *text = signature.remove_signature(text).to_owned();
    }
}

/// Returns the time when a message was written, by the provider's clock, but not after its arrival. A provider's clock
/// that is ahead must not place messages after the answers to them.
pub(super) fn written_at(job: &InboundJob, inbound: &InboundMessage) -> jiff::Timestamp {
    inbound
        .sent_at
        .map_or(job.received_at, |sent_at| sent_at.min(job.received_at))
}

/// Returns `true` if a message was written before the installation went on from a backup: nobody knows whether it was answered.
fn came_before_restore(deps: &Deps, job: &InboundJob, inbound: &InboundMessage) -> bool {
    let restored_at = deps.settings().restored_at;
    // Providers tell whole seconds.
    restored_at.is_some_and(|restored_at| written_at(job, inbound).as_second() < restored_at.as_second())
}

/// Returns the record of the file of a message, which is fetched later; `None` if there is nothing to fetch.
fn expect_file(deps: &Deps, job: &InboundJob, inbound: &InboundMessage) -> Option<MessageFile> {
    let expected = MessageFile::expect_from_content(&inbound.content, deps.system().now())?;
    Some(MessageFile {
        from_webhook: job.has_file,
        ..expected
    })
}

/// Builds the record of an inbound message.
pub(super) fn build_message(
    deps: &Deps,
    job: &InboundJob,
    conversation: &Conversation,
    inbound: &InboundMessage,
    role: Role,
    ordinal: Ordinal,
) -> Message {
    Message {
        conversation: conversation.id.clone(),
        ordinal,
        tenant: conversation.tenant.clone(),
        instance: conversation.instance.clone(),
        role,
        content: inbound.content.clone(),
        context: inbound.context.clone(),
        provider_message_id: inbound.provider_message_id.clone(),
        written_at: written_at(job, inbound),
        told_at: inbound.sent_at.filter(|sent_at| *sent_at > job.received_at),
        stored_at: deps.system().now(),
        correlation: job.correlation.clone(),
        event: Some(job.event.clone()),
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        changes: MessageChanges::default(),
        file: expect_file(deps, job, inbound),
        rev: 0,
        out: None,
    }
}
