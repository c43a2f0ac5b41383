//! An effect of a tool happens once, whatever is lost, late or cut off: the real steps and store, and a calendar that forgets
//! to answer.

use crate::answers::first_answer;
use crate::interruptions::{Asks, interrupt};
use crate::world::Setup;
use async_trait::async_trait;
use jiff::SignedDuration;
use recado_actions::effects::{
    DraftedJournal, EffectEnd, EffectStop, SettlingEnd, perform_effect, remove_fence_left, settle_effect,
};
use recado_domain::access::Caller;
use recado_domain::answer::AnswerReason;
use recado_domain::conversation::Conversation;
use recado_domain::effects::{
    BeginRefusal, CellSpan, EffectAction, EffectEntry, EffectId, EffectRequest, EffectState, EntryEnd,
    Journal, JournalChange, SETTLING_TRIES, ToolName,
};
use recado_domain::ids::{AgentId, Ordinal};
use recado_domain::millis::add_millis;
use recado_message_views::trace::{TimelineStage, load_timeline};
use recado_pipeline::ports::{
    AskAnswer, CallAnswer, Conversations, EffectGuard, EffectTool, FenceAnswer, OutboxStore, SettlingAbility,
    WriteOutcome,
};
use recado_pipeline::records::effects::find_journal;
use recado_pipeline::table::Versioned;
use recado_pipeline::{Verdict, reconcile};
use recado_testkit::builders::{Fixture, far_ahead, nonce};
use recado_testkit::ports::succeed;
use recado_testkit::stored_effect::{count_held_cells, read_journal, replace_journal, store_booking};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What becomes of a request to the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallBehaviour {
    /// It is carried out and answered.
    Answered,
    /// It is lost.
    Lost,
    /// It is carried out, and the answer is lost.
    Mute,
    /// It is carried out when the test says so, and never answered.
    Late,
    /// It is refused.
    Refused,
}

/// An event as the calendar keeps it. A deleted one keeps its id.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Event {
    version: u64,
    by: EffectId,
    span: Option<CellSpan>,
    deleted: bool,
    fence: bool,
}

/// A calendar that other people change, and whose answers get lost.
struct Calendar {
    ability: SettlingAbility,
    events: Mutex<BTreeMap<EffectId, Event>>,
    calls: Mutex<VecDeque<CallBehaviour>>,
    looks: Mutex<VecDeque<CallBehaviour>>,
    late: Mutex<Vec<EffectEntry>>,
    called: Mutex<usize>,
}

impl Calendar {
    fn with_ability(ability: SettlingAbility) -> Self {
        Self {
            ability,
            events: Mutex::default(),
            calls: Mutex::default(),
            looks: Mutex::default(),
            late: Mutex::default(),
            called: Mutex::default(),
        }
    }

    fn fenced(calls: &[CallBehaviour]) -> Self {
        let calendar = Self::with_ability(SettlingAbility::Fenced);
        calendar.calls.lock().unwrap().extend(calls);
        calendar
    }

    fn is_silent_for(&self, looks: usize) {
        self.looks
            .lock()
            .unwrap()
            .extend([CallBehaviour::Lost].repeat(looks));
    }

    fn event(&self, id: &EffectId) -> Option<Event> {
        self.events.lock().unwrap().get(id).cloned()
    }

    fn live_events(&self) -> usize {
        let events = self.events.lock().unwrap();
        events
            .values()
            .filter(|event| !event.deleted && !event.fence)
            .count()
    }

    fn standing_fences(&self) -> usize {
        let events = self.events.lock().unwrap();
        events
            .values()
            .filter(|event| !event.deleted && event.fence)
            .count()
    }

    /// Carries the effect out as Google does: an id is taken once, a change names the version.
    fn carry_out(&self, entry: &EffectEntry) -> bool {
        let mut events = self.events.lock().unwrap();
        match &entry.action {
            EffectAction::Book { span } => {
                if events.contains_key(&entry.id) {
                    return false;
                }
                let event = Event {
                    version: 1,
                    by: entry.id.clone(),
                    span: Some(span.clone()),
                    deleted: false,
                    fence: false,
                };
                events.insert(entry.id.clone(), event);
                true
            }
            EffectAction::Move { event, version, .. } | EffectAction::Cancel { event, version } => {
                let Some(found) = events.get_mut(event) else {
                    return false;
                };
                if found.deleted || found.version.to_string() != *version {
                    return false;
                }
                found.version += 1;
                found.by = entry.id.clone();
                found.deleted = matches!(entry.action, EffectAction::Cancel { .. });
                found.span = entry.resulting_span().cloned();
                true
            }
            EffectAction::Other => true,
        }
    }

    fn deliver_late_requests(&self) -> usize {
        let late: Vec<EffectEntry> = self.late.lock().unwrap().drain(..).collect();
        late.iter().filter(|entry| self.carry_out(entry)).count()
    }

    /// Lets a look or a fence be answered, or not for ever.
    async fn look(&self) {
        let behaviour = self.looks.lock().unwrap().pop_front();
        if behaviour == Some(CallBehaviour::Lost) {
            pending::<()>().await;
        }
    }
}

#[async_trait]
impl EffectTool for Calendar {
    fn settling_ability(&self) -> SettlingAbility {
        self.ability
    }

    async fn call_effect(&self, entry: &EffectEntry) -> CallAnswer {
        *self.called.lock().unwrap() += 1;
        let behaviour = self
            .calls
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or(CallBehaviour::Answered);
        match behaviour {
            CallBehaviour::Answered if self.carry_out(entry) => CallAnswer::Done(Some("ok".to_owned())),
            CallBehaviour::Answered => CallAnswer::Unclear,
            CallBehaviour::Refused => CallAnswer::Refused(Some("closed on mondays".to_owned())),
            CallBehaviour::Mute => {
                self.carry_out(entry);
                pending().await
            }
            CallBehaviour::Late => {
                self.late.lock().unwrap().push(entry.clone());
                pending().await
            }
            CallBehaviour::Lost => pending().await,
        }
    }

    async fn ask_for_effect(&self, entry: &EffectEntry) -> AskAnswer {
        self.look().await;
        let found = entry.event().and_then(|event| self.event(event));
        match (&entry.action, found) {
            (EffectAction::Book { .. }, Some(event)) if event.fence && !event.deleted => {
                AskAnswer::CannotHappen
            }
            (EffectAction::Book { .. }, Some(_)) => AskAnswer::Happened(None),
            (EffectAction::Book { .. } | EffectAction::Other, None) => AskAnswer::NotYet,
            (EffectAction::Cancel { .. }, Some(event)) if event.deleted => AskAnswer::Happened(None),
            (_, Some(event)) if event.deleted => AskAnswer::Gone,
            (_, Some(event)) if event.by == entry.id => AskAnswer::Happened(None),
            (EffectAction::Move { version, .. } | EffectAction::Cancel { version, .. }, Some(event)) => {
                if event.version.to_string() == *version {
                    AskAnswer::NotYet
                } else {
                    AskAnswer::CannotHappen
                }
            }
            (_, found) => panic!("{found:?}"),
        }
    }

    async fn put_event_fence(&self, entry: &EffectEntry) -> FenceAnswer {
        self.look().await;
        let mut events = self.events.lock().unwrap();
        let id = entry.event().unwrap().clone();
        match (events.get_mut(&id), &entry.action) {
            (None, _) => {
                let by = entry.id.clone();
                let fence = Event {
                    version: 1,
                    by,
                    span: None,
                    deleted: false,
                    fence: true,
                };
                events.insert(id, fence);
                FenceAnswer::Done
            }
            (Some(event), EffectAction::Move { version, .. } | EffectAction::Cancel { version, .. })
                if event.version.to_string() == *version && !event.deleted =>
            {
                event.version += 1;
                FenceAnswer::Done
            }
            _ => FenceAnswer::Changed,
        }
    }

    async fn remove_fence(&self, entry: &EffectEntry) -> FenceAnswer {
        self.look().await;
        let mut events = self.events.lock().unwrap();
        if let Some(event) = events.get_mut(&entry.id).filter(|event| event.fence) {
            event.deleted = true;
        }
        FenceAnswer::Done
    }
}

fn span(first: i64, quarters: i64) -> CellSpan {
    let quarter = 900_000;
    CellSpan {
        calendar: "agenda".to_owned(),
        start: add_millis(far_ahead(), quarter * first),
        end: add_millis(far_ahead(), quarter * (first + quarters)),
    }
}

/// A conversation whose contact waits for an answer, with the draft of it.
struct Draft<'a> {
    setup: &'a Setup,
    conversation: Conversation,
    guard: EffectGuard,
    drafted: DraftedJournal,
}

impl<'a> Draft<'a> {
    async fn begin(setup: &'a Setup, fixture: &Fixture) -> Self {
        let store = &setup.world.store;
        let conversation = succeed(store.find_latest_conversation(&fixture.thread())).await;
        let conversation = conversation.unwrap();
        let guard = EffectGuard {
            conversation: conversation.id.clone(),
            epoch: conversation.epoch,
            answered: conversation.answered,
            turn_upto: conversation.turn_upto,
        };
        let (tenant, thread) = (conversation.tenant.clone(), conversation.id.thread_id().clone());
        let found = succeed(find_journal(store, &tenant, &thread)).await;
        let instance = conversation.instance.clone();
        let new = || Versioned::new(Journal::start_new(thread, tenant, instance, setup.now()));
        let drafted = DraftedJournal::from_read(found.unwrap_or_else(new));
        Self {
            setup,
            conversation,
            guard,
            drafted,
        }
    }

    fn request(&self, tool: &str, action: EffectAction) -> EffectRequest {
        EffectRequest {
            id: EffectId::from_random_bits(self.drafted.journal.record.last, bits(&self.conversation)),
            tool: ToolName {
                agent: AgentId::parse("ana").unwrap(),
                name: tool.to_owned(),
            },
            action,
            arguments: json!({"name": "Bia"}),
            recorded: json!({"name": "Bia"}),
            conversation: self.conversation.id.clone(),
            epoch: self.guard.epoch,
            base: self.guard.answered,
            nonce: nonce(),
            limit: SignedDuration::from_secs(15),
            once_per_turn: true,
        }
    }

    async fn perform(
        &mut self,
        tool: &dyn EffectTool,
        name: &str,
        action: EffectAction,
    ) -> Result<EffectEnd, EffectStop> {
        let (request, deadline) = (self.request(name, action), add_millis(self.setup.now(), 60_000));
        let world = &self.setup.world;
        perform_effect(world, tool, &self.guard, &mut self.drafted, request, deadline).await
    }

    async fn book(&mut self, tool: &dyn EffectTool, span: CellSpan) -> Result<EffectEnd, EffectStop> {
        self.perform(tool, "book", EffectAction::Book { span }).await
    }

    async fn stored(&self) -> Journal {
        let (store, thread) = (&self.setup.world.store, self.conversation.id.thread_id());
        let found = read_journal(store, &self.conversation.tenant, thread).await;
        found.unwrap()
    }

    /// One attempt of another worker to settle the newest entry.
    async fn settle(&self, tool: &dyn EffectTool) -> SettlingEnd {
        let journal = self.stored().await;
        let entry = journal.entries.last().unwrap();
        let place = (journal.tenant_and_thread(), entry.number);
        succeed(settle_effect(
            &self.setup.world,
            tool,
            place,
            &entry.nonce,
            nonce(),
        ))
        .await
    }

    async fn held_cells(&self) -> usize {
        let (store, tenant) = (&self.setup.world.store, &self.conversation.tenant);
        count_held_cells(store, tenant, &span(0, 40)).await
    }
}

/// Marks the contact's conversation as one that may have a journal, and stores what an earlier turn did.
pub(crate) async fn with_effect(setup: &Setup, end: Option<EntryEnd>) -> Journal {
    let store = &setup.world.store;
    let found = succeed(store.find_latest_conversation(&setup.fixture.thread())).await;
    let mut conversation = found.unwrap();
    conversation.features.has_journal = true;
    conversation.rev += 1;
    let written = succeed(store.update_conversation(&conversation, &[])).await;
    assert_eq!(written, WriteOutcome::Written);
    store_booking(store, &conversation, ("agenda", "Bia"), end, setup.now()).await
}

/// Runs the turn that is owed.
async fn run_turn(setup: &Setup) -> Verdict {
    setup.run_turn_job(&setup.fixture, None).await.1
}

fn bits(conversation: &Conversation) -> u64 {
    u64::from_str_radix(&conversation.id.thread_id().as_str()[..16], 16).unwrap()
}

fn state(end: &Result<EffectEnd, EffectStop>) -> EffectState {
    match end {
        Ok(EffectEnd::Entered(entry)) => entry.state,
        other => panic!("{other:?}"),
    }
}

async fn asked(setup: &Setup) -> Draft<'_> {
    setup.message(&setup.fixture, "A1", "Quero marcar", false).await;
    Draft::begin(setup, &setup.fixture).await
}

#[tokio::test]
async fn a_booking_with_a_clear_answer_is_done_and_known() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (asked(&setup).await, Calendar::fenced(&[]));
    let end = draft.book(&calendar, span(0, 2)).await;
    assert_eq!(state(&end), EffectState::Done);
    assert_eq!((calendar.live_events(), draft.held_cells().await), (1, 2));
    assert_eq!(draft.stored().await, draft.drafted.journal.record);
    assert_eq!(draft.drafted.rev, draft.drafted.journal.record.rev);
    let told = draft.drafted.journal.record.describe_entries().unwrap();
    assert!(
        told.contains("is done")
            && told.contains("The tool answered:\n<tool_result tool=\"book\">\nok\n</tool_result>"),
        "{told}"
    );
    // The model asks again, in this draft and in the next one.
    let again = draft.book(&calendar, span(4, 2)).await;
    assert!(
        matches!(again, Ok(EffectEnd::Refused(BeginRefusal::OncePerTurn(1)))),
        "{again:?}"
    );
    let mut next = Draft::begin(&setup, &setup.fixture).await;
    let again = next.book(&calendar, span(4, 2)).await;
    assert!(
        matches!(again, Ok(EffectEnd::Refused(BeginRefusal::OncePerTurn(1)))),
        "{again:?}"
    );
    assert_eq!(*calendar.called.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_clear_no_frees_the_time_and_the_tool_may_be_used_again() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (asked(&setup).await, Calendar::fenced(&[CallBehaviour::Refused]));
    assert_eq!(
        state(&draft.book(&calendar, span(0, 2)).await),
        EffectState::Failed
    );
    assert_eq!(draft.held_cells().await, 0);
    assert_eq!(state(&draft.book(&calendar, span(4, 2)).await), EffectState::Done);
    assert_eq!(calendar.live_events(), 1);
}

#[tokio::test]
async fn a_request_that_comes_after_its_failure_meets_a_fence() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (asked(&setup).await, Calendar::fenced(&[CallBehaviour::Late]));
    assert_eq!(
        state(&draft.book(&calendar, span(0, 2)).await),
        EffectState::Failed
    );
    assert_eq!(draft.held_cells().await, 0);
    assert_eq!(calendar.deliver_late_requests(), 0, "the id is taken for ever");
    assert_eq!((calendar.live_events(), calendar.standing_fences()), (0, 0));
    assert_eq!(draft.drafted.rev, draft.stored().await.rev, "the draft may go on");
    assert_eq!(state(&draft.book(&calendar, span(4, 2)).await), EffectState::Done);
}

#[tokio::test]
async fn a_booking_whose_answer_is_lost_is_found() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (asked(&setup).await, Calendar::fenced(&[CallBehaviour::Mute]));
    assert_eq!(state(&draft.book(&calendar, span(0, 2)).await), EffectState::Done);
    assert_eq!((calendar.live_events(), draft.held_cells().await), (1, 2));
}

#[tokio::test]
async fn an_event_that_people_delete_before_it_is_settled_counts_as_done() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (asked(&setup).await, Calendar::fenced(&[CallBehaviour::Mute]));
    calendar.is_silent_for(1);
    let stopped = draft.book(&calendar, span(0, 2)).await;
    assert!(matches!(stopped, Err(EffectStop::UnderWay(_))), "{stopped:?}");
    let id = draft.stored().await.entries[0].id.clone();
    calendar.events.lock().unwrap().get_mut(&id).unwrap().deleted = true;
    assert!(matches!(draft.settle(&calendar).await, SettlingEnd::Ended { .. }));
    assert_eq!(draft.stored().await.entries[0].state, EffectState::Done);
}

#[tokio::test]
async fn what_four_attempts_cannot_find_out_is_unknown_until_somebody_can() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (asked(&setup).await, Calendar::fenced(&[CallBehaviour::Mute]));
    calendar.is_silent_for(4);
    let stopped = draft.book(&calendar, span(0, 2)).await;
    assert!(matches!(stopped, Err(EffectStop::UnderWay(_))), "{stopped:?}");
    for attempt in 2..=SETTLING_TRIES {
        assert_eq!(draft.stored().await.entries[0].state, EffectState::Doing);
        let end = draft.settle(&calendar).await;
        let unknown = matches!(end, SettlingEnd::BecameUnknown { .. });
        assert_eq!(unknown, attempt == SETTLING_TRIES, "attempt {attempt}: {end:?}");
    }
    let journal = draft.stored().await;
    assert_eq!(
        (journal.entries[0].state, draft.held_cells().await),
        (EffectState::Unknown, 2)
    );
    assert!(journal.describe_entries().unwrap().contains("may have happened"));
    assert!(matches!(draft.settle(&calendar).await, SettlingEnd::Ended { .. }));
    assert_eq!(draft.stored().await.entries[0].state, EffectState::Done);
    assert_eq!(*calendar.called.lock().unwrap(), 1, "settling never calls");
}

#[tokio::test]
async fn a_tool_that_cannot_be_asked_leaves_the_effect_unknown_at_once() {
    let setup = Setup::set(Fixture::new()).await;
    let mut draft = asked(&setup).await;
    let calendar = Calendar::with_ability(SettlingAbility::Blind);
    calendar.calls.lock().unwrap().push_back(CallBehaviour::Mute);
    let end = draft.perform(&calendar, "order", EffectAction::Other).await;
    assert_eq!(state(&end), EffectState::Unknown);
    assert_eq!(draft.drafted.rev, draft.stored().await.rev);
}

#[tokio::test]
async fn without_a_fence_not_yet_counts_five_minutes_after_the_call() {
    let setup = Setup::set(Fixture::new()).await;
    let mut draft = asked(&setup).await;
    let calendar = Calendar::with_ability(SettlingAbility::Asked);
    calendar.calls.lock().unwrap().push_back(CallBehaviour::Lost);
    let stopped = draft.perform(&calendar, "order", EffectAction::Other).await;
    assert!(matches!(stopped, Err(EffectStop::UnderWay(_))), "{stopped:?}");
    assert!(matches!(
        draft.settle(&calendar).await,
        SettlingEnd::StillOpen { .. }
    ));
    setup.pass(321);
    assert!(matches!(draft.settle(&calendar).await, SettlingEnd::Ended { .. }));
    assert_eq!(draft.stored().await.entries[0].state, EffectState::Failed);
}

#[tokio::test]
async fn nothing_begins_after_a_takeover_an_answer_or_a_newer_message() {
    let setup = Setup::set(Fixture::new()).await;
    let calendar = Calendar::fenced(&[]);
    let mut draft = asked(&setup).await;
    setup
        .message(&setup.fixture, "A2", "Deixa, não precisa", false)
        .await;
    let stopped = draft.book(&calendar, span(0, 2)).await;
    assert!(matches!(stopped, Err(EffectStop::Changed)), "{stopped:?}");
    let mut draft = Draft::begin(&setup, &setup.fixture).await;
    let mut taken = draft.conversation.clone();
    taken.record_operator_answer(taken.last, false, setup.now());
    taken.rev += 1;
    let _ = succeed(setup.world.store.update_conversation(&taken, &[])).await;
    let stopped = draft.book(&calendar, span(0, 2)).await;
    assert!(matches!(stopped, Err(EffectStop::Changed)), "{stopped:?}");
    taken.take_over();
    taken.rev += 1;
    let _ = succeed(setup.world.store.update_conversation(&taken, &[])).await;
    let mut draft = Draft::begin(&setup, &setup.fixture).await;
    let stopped = draft.book(&calendar, span(0, 2)).await;
    assert!(matches!(stopped, Err(EffectStop::Changed)), "{stopped:?}");
    assert_eq!(draft.held_cells().await, 0);
    assert_eq!(*calendar.called.lock().unwrap(), 0);
}

#[tokio::test]
async fn a_stale_draft_begins_nothing_beside_anothers_effect() {
    let setup = Setup::set(Fixture::new()).await;
    let calendar = Calendar::fenced(&[]);
    let mut first = asked(&setup).await;
    let mut second = Draft::begin(&setup, &setup.fixture).await;
    assert_eq!(state(&first.book(&calendar, span(0, 2)).await), EffectState::Done);
    let stopped = second.perform(&calendar, "order", EffectAction::Other).await;
    assert!(matches!(stopped, Err(EffectStop::Changed)), "{stopped:?}");
    assert_eq!(*calendar.called.lock().unwrap(), 1);
}

#[tokio::test]
async fn of_two_contacts_who_want_one_time_the_second_is_told_that_it_is_taken() {
    let setup = Setup::set(Fixture::new()).await;
    let (calendar, other) = (Calendar::fenced(&[]), setup.fixture.other_contact());
    let mut first = asked(&setup).await;
    setup.message(&other, "B1", "Quero marcar", false).await;
    let mut second = Draft::begin(&setup, &other).await;
    assert_eq!(state(&first.book(&calendar, span(0, 2)).await), EffectState::Done);
    let taken = second.book(&calendar, span(1, 2)).await;
    assert!(matches!(taken, Ok(EffectEnd::TimeTaken)), "{taken:?}");
    assert_eq!(
        state(&second.book(&calendar, span(2, 2)).await),
        EffectState::Done
    );
    assert_eq!((calendar.live_events(), second.held_cells().await), (2, 4));
}

#[tokio::test]
async fn a_move_and_a_cancellation_name_the_version_that_was_read() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (
        asked(&setup).await,
        Calendar::fenced(&[CallBehaviour::Answered, CallBehaviour::Late]),
    );
    assert_eq!(state(&draft.book(&calendar, span(0, 2)).await), EffectState::Done);
    let event = draft.drafted.journal.record.bookings[0].event.clone();
    let to = |version: &str, first| EffectAction::Move {
        event: event.clone(),
        version: version.to_owned(),
        span: span(first, 2),
    };
    // The first move hangs. It is settled by a touch, so that the request finds another version when it comes.
    assert_eq!(
        state(&draft.perform(&calendar, "move", to("1", 1)).await),
        EffectState::Failed
    );
    assert_eq!(draft.held_cells().await, 2);
    assert_eq!(
        state(&draft.perform(&calendar, "move", to("2", 4)).await),
        EffectState::Done
    );
    assert_eq!(calendar.deliver_late_requests(), 0);
    assert_eq!(draft.held_cells().await, 2);
    // A version that is not the event's any more.
    let stale = EffectAction::Cancel {
        event: event.clone(),
        version: "2".to_owned(),
    };
    assert_eq!(
        state(&draft.perform(&calendar, "cancel", stale).await),
        EffectState::Failed
    );
    let cancel = EffectAction::Cancel {
        event: event.clone(),
        version: "3".to_owned(),
    };
    assert_eq!(
        state(&draft.perform(&calendar, "cancel", cancel).await),
        EffectState::Done
    );
    assert_eq!((calendar.live_events(), draft.held_cells().await), (0, 0));
    let gone = draft.perform(&calendar, "move", to("4", 0)).await;
    assert!(matches!(gone, Ok(EffectEnd::Refused(_))), "{gone:?}");
}

#[tokio::test]
async fn a_draft_without_time_for_the_call_begins_nothing() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (asked(&setup).await, Calendar::fenced(&[]));
    let (request, deadline) = (
        draft.request("book", EffectAction::Book { span: span(0, 2) }),
        add_millis(setup.now(), 14_999),
    );
    let guard = draft.guard.clone();
    let end = perform_effect(
        &setup.world,
        &calendar,
        &guard,
        &mut draft.drafted,
        request,
        deadline,
    )
    .await;
    assert!(matches!(end, Err(EffectStop::NoTimeLeft)), "{end:?}");
    let (store, fixture) = (&setup.world.store, &setup.fixture);
    let stored = read_journal(store, &fixture.bound.tenant.id, &fixture.thread()).await;
    assert_eq!(stored, None);
    assert_eq!(guard.answered, Ordinal(0));
}

#[tokio::test]
async fn a_begin_that_took_too_long_to_store_is_followed_by_no_call() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (asked(&setup).await, Calendar::fenced(&[]));
    let (request, deadline) = (
        draft.request("book", EffectAction::Book { span: span(0, 2) }),
        add_millis(setup.now(), 60_000),
    );
    // The clock is read before the write, and after it: 6 seconds later, of the 5 that the entry has beside its call.
    let (readings, time) = (AtomicUsize::new(0), setup.world.system.clone());
    let world = interrupt(&setup.world, move |asks| {
        if asks == Asks::Clock && readings.fetch_add(1, Ordering::Relaxed) == 1 {
            time.pass(6_000);
        }
    });
    let guard = draft.guard.clone();
    let end = perform_effect(&world, &calendar, &guard, &mut draft.drafted, request, deadline).await;
    assert!(matches!(end, Err(EffectStop::UnderWay(_))), "{end:?}");
    assert_eq!(*calendar.called.lock().unwrap(), 0);
    assert_eq!(draft.stored().await.entries[0].state, EffectState::Doing);
}

#[tokio::test]
async fn an_effect_that_a_crash_left_is_settled_and_its_fence_removed_later() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut draft, calendar) = (asked(&setup).await, Calendar::fenced(&[CallBehaviour::Lost]));
    calendar.is_silent_for(1);
    let stopped = draft.book(&calendar, span(0, 2)).await;
    assert!(matches!(stopped, Err(EffectStop::UnderWay(_))), "{stopped:?}");
    // Asked, fenced, asked again; the answer to the removal of the fence is lost.
    calendar.looks.lock().unwrap().extend([
        CallBehaviour::Answered,
        CallBehaviour::Answered,
        CallBehaviour::Answered,
        CallBehaviour::Lost,
    ]);
    assert!(matches!(draft.settle(&calendar).await, SettlingEnd::Ended { .. }));
    let journal = draft.stored().await;
    assert_eq!(
        (journal.entries[0].state, calendar.standing_fences()),
        (EffectState::Failed, 1)
    );
    let due = || journal.fences_to_remove(setup.now());
    assert!(due().is_empty(), "a minute later");
    setup.pass(60);
    succeed(remove_fence_left(
        &setup.world,
        &calendar,
        &journal.tenant,
        due()[0],
    ))
    .await;
    assert_eq!(
        (draft.stored().await.journal_due_at(), calendar.standing_fences()),
        (None, 0)
    );
    assert!(matches!(draft.settle(&calendar).await, SettlingEnd::NotOurs));
}

#[tokio::test]
async fn a_turn_tells_the_model_what_was_done_and_its_reply_notes_what_it_knew() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "A1", "Quero marcar", false).await;
    with_effect(&setup, Some(EntryEnd::Done)).await;
    *setup.world.llm.says.lock().unwrap() = Some("Marcado".to_owned());
    let reply = setup.turn(&setup.fixture).await;
    let told = setup.world.llm.instructions.lock().unwrap().join("\n");
    assert!(
        told.contains("action 1: book") && told.contains("is done"),
        "{told}"
    );
    let id = reply.message_id();
    assert_eq!(reply.out.unwrap().turn.unwrap().effects_upto, Some(1));
    let shown = Box::pin(load_timeline(&setup.world, &Caller::installation(), &id)).await;
    let timeline = shown.unwrap().unwrap().timeline;
    let turn = timeline.iter().find(|entry| entry.step == TimelineStage::Turn);
    let effects = &turn.unwrap().detail["effects"];
    assert_eq!(
        (&effects[0]["tool"], &effects[0]["state"], &effects[1]),
        (&json!("book"), &json!("done"), &Value::Null)
    );
}

#[tokio::test]
async fn a_turn_waits_for_an_effect_that_is_under_way_and_counts_no_attempt() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "A1", "Quero marcar", false).await;
    let journal = with_effect(&setup, None).await;
    *setup.world.llm.says.lock().unwrap() = Some("Marcado".to_owned());
    let after = SignedDuration::from_secs(20);
    assert_eq!(run_turn(&setup).await, Verdict::Retry { after });
    let id = setup.latest_conversation().await.unwrap().id;
    setup.pass(17);
    let told = first_answer(&setup, &id).await;
    let running = &journal.entries[0];
    assert_eq!(
        (told.reason, told.since, told.until),
        (
            AnswerReason::EffectUnderWay,
            Some(running.begun_at),
            Some(running.until)
        )
    );
    setup.pass(43);
    let told = first_answer(&setup, &id).await;
    assert_eq!((told.reason, told.until), (AnswerReason::EffectUnderWay, None));
    assert_eq!(
        run_turn(&setup).await,
        Verdict::Retry { after },
        "it is to be settled"
    );
    let conversation = setup.latest_conversation().await.unwrap();
    assert_eq!((conversation.attempts.count, conversation.lease), (0, None));
    let mut ended = journal.clone();
    let held = ended.entries[0].nonce.clone();
    let change = ended.end_entry(1, &held, EntryEnd::Failed { fence: false }, None, setup.now());
    ended.rev += 1;
    replace_journal(&setup.world.store, &ended, &change.unwrap()).await;
    assert_eq!(run_turn(&setup).await, Verdict::Done);
    let told = setup.world.llm.instructions.lock().unwrap().join("\n");
    assert!(told.contains("did not happen"), "{told}");
}

#[tokio::test]
async fn a_reply_that_does_not_know_an_effect_is_not_committed() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "A1", "Quero marcar", false).await;
    let journal = with_effect(&setup, Some(EntryEnd::Failed { fence: true })).await;
    *setup.world.llm.says.lock().unwrap() = Some("Marcado".to_owned());
    // While the model answers, another worker writes the journal.
    let store = setup.world.store.clone();
    setup.world.llm.meanwhile.set(async move {
        let mut changed = journal;
        changed.note_fence_removed(1);
        changed.rev += 1;
        replace_journal(&store, &changed, &JournalChange::default()).await;
    });
    assert_eq!(run_turn(&setup).await, Verdict::RETRY_SOON);
    let thread = setup.fixture.thread();
    assert_eq!(succeed(setup.world.store.list_open_messages(&thread)).await, []);
    assert_eq!(setup.latest_conversation().await.unwrap().lease, None);
    assert_eq!(run_turn(&setup).await, Verdict::Done);
    assert_eq!(
        succeed(setup.world.store.list_open_messages(&thread)).await.len(),
        1
    );
}

#[tokio::test]
async fn a_booking_is_looked_at_an_hour_later_and_not_again_until_another_hour_is_over() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "A1", "Quero marcar", false).await;
    with_effect(&setup, Some(EntryEnd::Done)).await;
    setup.pass(3_601);
    let (thread, tenant) = (setup.fixture.thread(), &setup.fixture.bound.tenant.id);
    let stored = async || read_journal(&setup.world.store, tenant, &thread).await.unwrap();
    let before = stored().await;
    assert_eq!(before.bookings_to_look_at(setup.now()).len(), 1);
    succeed(Box::pin(reconcile::reconcile(&setup.world))).await;
    let looked = stored().await;
    assert!(
        looked.bookings_to_look_at(setup.now()).is_empty(),
        "nobody answers for it: later"
    );
    assert_eq!(looked.bookings.len(), 1);
    let due = looked.journal_due_at().unwrap();
    assert!(due.duration_since(setup.now()) > SignedDuration::from_mins(59));
}
