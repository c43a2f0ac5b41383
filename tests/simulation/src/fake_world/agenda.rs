//! The other side of the tools that act: a calendar with events in versions, and an order service that nobody can ask.

use super::FakeWorld;
use crate::executor::{Life, START_MS};
use crate::fault_injector::FaultInjector;
use crate::mutation::Mutation;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::calendar::TimeSpan;
use recado_domain::effects::{CellSpan, EffectAction, EffectEntry, EffectId};
use recado_domain::millis::{add_duration, from_unix_millis};
use recado_pipeline::ports::{AskAnswer, BookedEvent, CallAnswer, EffectTool, FenceAnswer, SettlingAbility};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;

/// After how many milliseconds a request that hangs is carried out.
const LATE_MS: i64 = 60_000;

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolBehaviour {
    /// Carried out and answered.
    Answered,
    /// Carried out, and the answer is lost.
    Mute,
    /// Carried out a minute later, and never answered.
    Late,
    /// Lost: neither carried out nor answered.
    Lost,
    /// Not carried out, and answered with this status.
    Fails(u16),
    /// Carried out, and answered with this status all the same.
    DoneBut(u16),
}

/// An event of the calendar.
#[derive(Debug, Clone)]
pub struct FakeEvent {
    /// The time.
    pub span: Option<CellSpan>,
    /// `true` if the event was deleted.
    pub is_deleted: bool,
    /// `true` for a fence.
    pub is_fence: bool,
    version: u64,
    /// `true` if people moved it to where another event is.
    pub is_in_the_way: bool,
    /// The move that it carries.
    carries: Option<EffectId>,
    /// The mark in its title that shows people that the contact confirmed it.
    pub mark: Option<char>,
    /// The time at which people deleted it.
    pub deleted_at: Option<Timestamp>,
}

/// Something that was carried out.
#[derive(Debug, Clone)]
pub struct Happened {
    /// By which effect.
    pub effect: EffectId,
    /// The wish: whose, and for which change.
    pub wish: String,
}

/// The state of the other side.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    behaviours: VecDeque<ToolBehaviour>,
    silent_questions: u32,
    events: BTreeMap<EffectId, FakeEvent>,
    happened: Vec<Happened>,
    /// Requests that left after the time of their effect.
    late_calls: BTreeSet<EffectId>,
    first_slot_ms: Option<i64>,
    pub(super) same_slot: bool,
    pub(super) heedless: bool,
}

/// The time from the start to the first slot, where a story says nothing else: a week.
const FIRST_SLOT_MS: i64 = 7 * 86_400_000;

impl FakeWorld {
    /// The first slot that contacts wish begins so many milliseconds after the start.
    pub fn let_slots_begin_after(&self, milliseconds: i64) {
        self.state().agenda.first_slot_ms = Some(milliseconds);
    }

    /// The begin of the slot of this number.
    pub(super) fn slot_start(&self, number: i64) -> String {
        let first_ms = self.state().agenda.first_slot_ms.unwrap_or(FIRST_SLOT_MS);
        let first = from_unix_millis(START_MS + first_ms);
        add_duration(first, SignedDuration::from_mins(30 * number)).to_string()
    }

    /// The next calls of tools that act end like this; the others are answered.
    pub fn let_tool_end(&self, behaviours: &[ToolBehaviour]) {
        self.state().agenda.behaviours.extend(behaviours);
    }

    /// So many of the next questions for an effect are not answered.
    pub fn let_questions_hang(&self, count: u32) {
        self.state().agenda.silent_questions = count;
    }

    /// All contacts ask for the same slot.
    pub fn ask_for_one_slot(&self) {
        self.state().agenda.same_slot = true;
    }

    /// Returns `true` if all contacts ask for the same slot, and nobody has it.
    pub fn is_wished_slot_free(&self) -> bool {
        let state = self.state();
        state.agenda.same_slot && state.agenda.happened.is_empty()
    }

    /// The model acts whatever it was told of earlier effects.
    pub fn let_model_be_heedless(&self) {
        self.state().agenda.heedless = true;
    }

    /// People delete the first event in the calendar itself, and move the second by a day.
    pub fn let_people_change_events(&self) {
        let mut state = self.state();
        let events = state.agenda.events.values_mut();
        let mut live = events.filter(|event| !event.is_deleted && !event.is_fence);
        if let Some(first) = live.next() {
            first.is_deleted = true;
        }
        if let Some(second) = live.next() {
            second.version += 1;
            if let Some(span) = &mut second.span {
                let day = SignedDuration::from_hours(24);
                (span.start, span.end) = (add_duration(span.start, day), add_duration(span.end, day));
            }
        }
    }

    /// People move the first event of the day by twenty minutes in the calendar itself, to where the next one is.
    pub fn let_people_make_a_clash(&self) {
        let mut state = self.state();
        let events = state.agenda.events.values_mut();
        let live = events.filter(|event| !event.is_deleted && !event.is_fence);
        let first = live.min_by_key(|event| event.span.as_ref().map(|span| span.start));
        if let Some(first) = first {
            first.version += 1;
            first.is_in_the_way = true;
            if let Some(span) = &mut first.span {
                let late = SignedDuration::from_mins(20);
                (span.start, span.end) = (add_duration(span.start, late), add_duration(span.end, late));
            }
        }
    }

    /// People delete the last event of the calendar.
    pub fn let_people_delete_last_event(&self) {
        let now = self.simulation.now();
        let mut state = self.state();
        let events = state.agenda.events.values_mut();
        let live = events.filter(|event| !event.is_deleted && !event.is_fence);
        let last = live.max_by_key(|event| event.span.as_ref().map(|span| span.start));
        if let Some(last) = last {
            (last.is_deleted, last.deleted_at) = (true, Some(now));
        }
    }

    /// Shows in an event whether the contact confirmed it.
    pub(super) fn show_confirmed(&self, event: &EffectId, is_confirmed: bool) {
        let mut state = self.state();
        let found = state.agenda.events.get_mut(event);
        if let Some(event) = found.filter(|event| !event.is_deleted) {
            event.version += 1;
            event.mark = is_confirmed.then_some('✓');
        }
    }

    /// All that tools carried out.
    pub fn happened(&self) -> Vec<Happened> {
        self.state().agenda.happened.clone()
    }

    /// The events of the calendar, also those that were deleted, and fences.
    pub fn events(&self) -> BTreeMap<EffectId, FakeEvent> {
        self.state().agenda.events.clone()
    }

    /// The effects whose call left after their time.
    pub fn late_calls(&self) -> BTreeSet<EffectId> {
        self.state().agenda.late_calls.clone()
    }

    /// When the calendar is busy.
    pub(super) fn busy_times(&self) -> Vec<TimeSpan> {
        let events = self.events();
        let live = events
            .values()
            .filter(|event| !event.is_deleted && !event.is_fence);
        let spans = live.filter_map(|event| event.span.as_ref());
        spans
            .map(|span| TimeSpan {
                from: span.start,
                to: span.end,
            })
            .collect()
    }

    /// The event as it stands.
    pub(super) fn look_at(&self, event: &EffectId) -> BookedEvent {
        match self.state().agenda.events.get(event) {
            Some(event) if !event.is_deleted => BookedEvent::Present {
                version: event.version.to_string(),
                time: event.span.as_ref().map(|span| TimeSpan {
                    from: span.start,
                    to: span.end,
                }),
            },
            _ => BookedEvent::Gone,
        }
    }

    /// Carries a request out. Returns the status of the answer.
    fn carry_out(&self, entry: &EffectEntry, lax: &Lax) -> u16 {
        let mut state = self.state();
        let events = &mut state.agenda.events;
        match &entry.action {
            EffectAction::Book { span } => {
                let id = lax.other_id.clone().unwrap_or_else(|| entry.id.clone());
                let lies_there = events.get(&id);
                if lies_there.is_some_and(|event| !(event.is_fence && lax.through_fences)) {
                    return 409;
                }
                events.insert(id, FakeEvent::new(Some(span.clone()), false));
            }
            EffectAction::Move { event, version, .. } | EffectAction::Cancel { event, version } => {
                let Some(found) = events.get_mut(event) else {
                    return 404;
                };
                if found.is_deleted {
                    return 410;
                }
                if found.version.to_string() != *version && !lax.any_version {
                    return 412;
                }
                found.version += 1;
                if let EffectAction::Move { span, .. } = &entry.action {
                    found.span = Some(span.clone());
                    found.carries = Some(entry.id.clone());
                } else {
                    found.is_deleted = true;
                }
            }
            EffectAction::Other => {}
        }
        let whose = entry.conversation.thread_id().as_str();
        // A booking is known by its title: a heedless model may book another time for the same wish.
        let title = entry.arguments["title"].as_str().map(str::to_owned);
        let what = title.unwrap_or_else(|| entry.arguments.to_string());
        let wish = format!("{whose} {} {what}", entry.tool.name);
        let effect = entry.id.clone();
        state.agenda.happened.push(Happened { effect, wish });
        200
    }
}

impl FakeEvent {
    fn new(span: Option<CellSpan>, is_fence: bool) -> Self {
        Self {
            span,
            is_deleted: false,
            is_fence,
            is_in_the_way: false,
            version: 1,
            carries: None,
            mark: None,
            deleted_at: None,
        }
    }
}

/// Checks that the other side leaves out, for mutations.
#[derive(Debug, Clone, Default)]
struct Lax {
    through_fences: bool,
    any_version: bool,
    other_id: Option<EffectId>,
}

/// A tool that acts, as the function under `injector` has it.
#[derive(Debug)]
pub(super) struct ActingTool<'a> {
    pub(super) fake_world: &'a FakeWorld,
    pub(super) injector: &'a FaultInjector,
    pub(super) is_blind: bool,
}

impl ActingTool<'_> {
    fn lax(&self) -> Lax {
        let lacks = |mutation| self.injector.lacks(mutation);
        Lax {
            through_fences: lacks(Mutation::FenceLetsThrough),
            any_version: lacks(Mutation::VersionIgnored),
            other_id: lacks(Mutation::CallWithoutId)
                .then(|| EffectId::from_random_bits(self.injector.common.simulation.random(), 1)),
        }
    }

    /// Decides what a status says of the one request.
    fn judge(&self, status: u16) -> CallAnswer {
        match status {
            200 => CallAnswer::Done(None),
            409 if self.injector.lacks(Mutation::ConflictIsRefusal) => CallAnswer::Refused(None),
            404 | 409 | 410 | 412 | 500.. => CallAnswer::Unclear,
            _ => CallAnswer::Refused(Some(format!("status {status}"))),
        }
    }

    /// Takes whether the next question is answered.
    async fn be_asked(&self) {
        self.injector.step("tool").await;
        let hangs = {
            let silent = &mut self.fake_world.state().agenda.silent_questions;
            let hangs = *silent > 0;
            *silent = silent.saturating_sub(1);
            hangs
        };
        if hangs {
            pending::<()>().await;
        }
    }
}

#[async_trait]
impl EffectTool for ActingTool<'_> {
    fn settling_ability(&self) -> SettlingAbility {
        if self.is_blind {
            SettlingAbility::Blind
        } else {
            SettlingAbility::Fenced
        }
    }

    async fn call_effect(&self, entry: &EffectEntry) -> CallAnswer {
        let simulation = &self.injector.common.simulation;
        self.injector
            .frozen
            .store(i64::MIN, std::sync::atomic::Ordering::Relaxed);
        // Clocks are apart by the skew; what the function read of its own is a moment old.
        let apart = SignedDuration::from_millis(self.injector.common.faults.skew_ms + 1_000);
        if simulation.now() > add_duration(entry.call_over_at(), apart) {
            self.fake_world.state().agenda.late_calls.insert(entry.id.clone());
        }
        self.injector.step("tool").await;
        let behaviour = self.fake_world.state().agenda.behaviours.pop_front();
        let behaviour = behaviour.unwrap_or(ToolBehaviour::Answered);
        let status = match behaviour {
            ToolBehaviour::Late => {
                let (world, entry, lax) = (self.fake_world.clone(), entry.clone(), self.lax());
                let clock = simulation.clone();
                simulation.spawn(Life::default(), async move {
                    clock.sleep(LATE_MS).await;
                    world.carry_out(&entry, &lax);
                });
                None
            }
            ToolBehaviour::Lost => None,
            ToolBehaviour::Fails(status) => Some(status),
            ToolBehaviour::Answered => Some(self.fake_world.carry_out(entry, &self.lax())),
            ToolBehaviour::Mute => {
                self.fake_world.carry_out(entry, &self.lax());
                None
            }
            ToolBehaviour::DoneBut(status) => {
                self.fake_world.carry_out(entry, &self.lax());
                Some(status)
            }
        };
        self.injector.step("tool").await;
        match status {
            Some(status) => self.judge(status),
            None => pending().await,
        }
    }

    async fn ask_for_effect(&self, entry: &EffectEntry) -> AskAnswer {
        self.be_asked().await;
        let events = self.fake_world.events();
        let found = entry.event().and_then(|event| events.get(event));
        let version = |event: &FakeEvent| event.version.to_string();
        let answer = match (&entry.action, found) {
            (EffectAction::Book { .. }, None) => AskAnswer::NotYet,
            (EffectAction::Book { .. }, Some(event)) => {
                let is_marked = event.is_fence && !event.is_deleted;
                if is_marked && !self.injector.lacks(Mutation::FenceUnmarked) {
                    AskAnswer::CannotHappen
                } else {
                    AskAnswer::Happened(None)
                }
            }
            (EffectAction::Cancel { .. }, Some(event)) if event.is_deleted => AskAnswer::Happened(None),
            (EffectAction::Move { .. }, Some(event)) if event.is_deleted => AskAnswer::Gone,
            (EffectAction::Move { .. }, Some(event)) if event.carries.as_ref() == Some(&entry.id) => {
                AskAnswer::Happened(None)
            }
            (
                EffectAction::Move { version: read, .. } | EffectAction::Cancel { version: read, .. },
                Some(event),
            ) => {
                if version(event) == *read {
                    AskAnswer::NotYet
                } else {
                    AskAnswer::CannotHappen
                }
            }
            _ => AskAnswer::Gone,
        };
        if answer == AskAnswer::NotYet && self.injector.lacks(Mutation::SettlingCalls) {
            return match self.call_effect(entry).await {
                CallAnswer::Done(result) => AskAnswer::Happened(result),
                _ => AskAnswer::Unanswered,
            };
        }
        answer
    }

    async fn put_event_fence(&self, entry: &EffectEntry) -> FenceAnswer {
        self.be_asked().await;
        let answer = {
            let mut state = self.fake_world.state();
            let events = &mut state.agenda.events;
            match &entry.action {
                EffectAction::Book { .. } if events.contains_key(&entry.id) => FenceAnswer::Changed,
                EffectAction::Book { .. } => {
                    let mut fence = FakeEvent::new(None, true);
                    fence.is_deleted = self.injector.lacks(Mutation::FenceGoesFirst);
                    events.insert(entry.id.clone(), fence);
                    FenceAnswer::Done
                }
                EffectAction::Move { event, version, .. } | EffectAction::Cancel { event, version } => {
                    let touched = events
                        .get_mut(event)
                        .filter(|event| !event.is_deleted && event.version.to_string() == *version);
                    touched.map_or(FenceAnswer::Changed, |event| {
                        event.version += 1;
                        FenceAnswer::Done
                    })
                }
                EffectAction::Other => FenceAnswer::Unanswered,
            }
        };
        self.injector.step("tool").await;
        answer
    }

    async fn remove_fence(&self, entry: &EffectEntry) -> FenceAnswer {
        self.injector.step("tool").await;
        if let Some(event) = self.fake_world.state().agenda.events.get_mut(&entry.id) {
            event.is_deleted |= event.is_fence;
        }
        self.injector.step("tool").await;
        FenceAnswer::Done
    }
}
