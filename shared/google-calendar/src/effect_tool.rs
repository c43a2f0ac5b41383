//! Bookings, moves and cancellations as effects: one call, a question how it ended, and a fence.

use crate::client::{CalendarTarget, GoogleCalendar};
use crate::error::{CalendarError, Certainty};
use crate::event::{CalendarEvent, EventMove, EventStatus, EventTag, NewCalendarEvent};
use async_trait::async_trait;
use jiff::tz::TimeZone;
use recado_domain::calendar::{BookingRules, TimeSpan};
use recado_domain::config::CredentialRef;
use recado_domain::effects::{CellSpan, EffectAction, EffectEntry, EffectId};
use recado_ports::ports::{AskAnswer, CallAnswer, EffectTool, FenceAnswer, Secrets, SettlingAbility, System};
use serde_json::Value;

/// Longest title that a model may write, in characters.
const TITLE_CHARS_MAX: usize = 200;

/// Longest note that a model may write, in characters.
const NOTE_CHARS_MAX: usize = 2_000;

/// A calendar as a tool that books, moves and cancels.
#[derive(Debug, Clone)]
pub struct CalendarEffects<S, A> {
    /// The client.
    pub client: GoogleCalendar<S, A>,
    /// The calendar's id at Google.
    pub calendar_id: String,
    /// The reference to the credential.
    pub credential: CredentialRef,
    /// The rules: an entry's time contains their buffers.
    pub rules: BookingRules,
    /// IANA time zone in which the calendar shows the events.
    pub time_zone: String,
    /// The title of an event whose call names none.
    pub title: String,
}

impl<S: Secrets, A: System> CalendarEffects<S, A> {
    fn target(&self) -> CalendarTarget<'_> {
        CalendarTarget {
            calendar_id: &self.calendar_id,
            credential: &self.credential,
        }
    }

    /// Returns the time of the event in the time that is held for it. `None`: nothing is left between the buffers.
    fn event_time(&self, held: &CellSpan) -> Option<TimeSpan> {
        let wide = TimeSpan {
            from: held.start,
            to: held.end,
        };
        self.rules.span_within_buffers(wide)
    }

    fn build_event(&self, entry: &EffectEntry, held: &CellSpan) -> Option<NewCalendarEvent> {
        let title = written_text(&entry.arguments, "title", TITLE_CHARS_MAX);
        Some(NewCalendarEvent {
            id: entry.id.clone(),
            time: self.event_time(held)?,
            time_zone: self.time_zone.clone(),
            summary: title.unwrap_or_else(|| self.title.clone()),
            description: written_text(&entry.arguments, "note", NOTE_CHARS_MAX),
            tag: EventTag::parse_tag(entry.conversation.thread_id().as_str())?,
        })
    }

    async fn book_event(&self, entry: &EffectEntry, held: &CellSpan) -> CallAnswer {
        let Some(event) = self.build_event(entry, held) else {
            return CallAnswer::Refused(Some("this time cannot be booked".to_owned()));
        };
        judge_call(self.client.insert_event(&self.target(), &event).await.map(drop))
    }

    async fn move_event(
        &self,
        entry: &EffectEntry,
        event: &EffectId,
        version: &str,
        held: &CellSpan,
    ) -> CallAnswer {
        let Some(time) = self.event_time(held) else {
            return CallAnswer::Refused(Some("this time cannot be booked".to_owned()));
        };
        let new = EventMove {
            time,
            time_zone: self.time_zone.clone(),
            entry: entry.id.clone(),
        };
        let moved = self.client.move_event(&self.target(), event, version, &new).await;
        self.judge_change(event, moved.map(drop)).await
    }

    /// Decides what the answer to a change means. An event that is not there is looked at once more, also one to which access is
    /// refused: a deleted event may be answered so.
    async fn judge_change(&self, event: &EffectId, answer: Result<(), CalendarError>) -> CallAnswer {
        match answer {
            Err(CalendarError::NotFound) => CallAnswer::Unclear,
            Err(error @ CalendarError::Forbidden(_)) => {
                match self.client.find_present_event(&self.target(), event).await {
                    Ok(None) => CallAnswer::Unclear,
                    _ => judge_call(Err(error)),
                }
            }
            answer => judge_call(answer),
        }
    }

    async fn look_at_event(&self, id: &EffectId) -> Result<Option<CalendarEvent>, CalendarError> {
        self.client.find_event(&self.target(), id, &TimeZone::UTC).await
    }

    async fn touch_version(&self, event: &EffectId, version: &str, nonce: &str) -> FenceAnswer {
        let touched = self
            .client
            .touch_event(&self.target(), event, version, nonce)
            .await;
        match touched {
            Ok(_) => FenceAnswer::Done,
            Err(CalendarError::VersionChanged | CalendarError::Deleted) => FenceAnswer::Changed,
            Err(_) => FenceAnswer::Unanswered,
        }
    }
}

/// Returns a text among the arguments, cut to its greatest length.
fn written_text(arguments: &Value, name: &str, most: usize) -> Option<String> {
    let text = arguments[name].as_str()?.trim();
    (!text.is_empty()).then(|| text.chars().take(most).collect())
}

/// Decides what the answer to an insert means. What certainly did not happen is a clear no: it was the only request.
fn judge_call(answer: Result<(), CalendarError>) -> CallAnswer {
    match answer {
        Ok(()) => CallAnswer::Done(None),
        Err(error) if error.certainty() == Certainty::Unknown => CallAnswer::Unclear,
        Err(error) => CallAnswer::Refused(Some(error.to_string())),
    }
}

/// Decides whether an event was booked, by what lies under its id. Also a deleted event was the event.
fn judge_booking(found: Option<&CalendarEvent>) -> AskAnswer {
    match found {
        None => AskAnswer::NotYet,
        Some(event) if event.is_fence => AskAnswer::CannotHappen,
        Some(_) => AskAnswer::Happened(None),
    }
}

/// Decides whether an event was moved: it then carries the id of the move.
fn judge_move(found: Option<&CalendarEvent>, id: &EffectId, version: &str) -> AskAnswer {
    match found {
        None => AskAnswer::Gone,
        Some(event) if event.status == EventStatus::Deleted => AskAnswer::Gone,
        Some(event) if event.entry.as_deref() == Some(id.as_str()) => AskAnswer::Happened(None),
        Some(event) if event.etag != version => AskAnswer::CannotHappen,
        Some(_) => AskAnswer::NotYet,
    }
}

/// Decides whether an event was cancelled.
fn judge_cancellation(found: Option<&CalendarEvent>, version: &str) -> AskAnswer {
    match found {
        None => AskAnswer::Gone,
        Some(event) if event.status == EventStatus::Deleted => AskAnswer::Happened(None),
        Some(event) if event.etag != version => AskAnswer::CannotHappen,
        Some(_) => AskAnswer::NotYet,
    }
}

#[async_trait]
impl<S: Secrets, A: System> EffectTool for CalendarEffects<S, A> {
    fn settling_ability(&self) -> SettlingAbility {
        SettlingAbility::Fenced
    }

    async fn call_effect(&self, entry: &EffectEntry) -> CallAnswer {
        match &entry.action {
            EffectAction::Book { span } => self.book_event(entry, span).await,
            EffectAction::Move { event, version, span } => self.move_event(entry, event, version, span).await,
            EffectAction::Cancel { event, version } => {
                let deleted = self.client.delete_event(&self.target(), event, version).await;
                self.judge_change(event, deleted).await
            }
            EffectAction::Other => CallAnswer::Refused(Some("a calendar does nothing else".to_owned())),
        }
    }

    async fn ask_for_effect(&self, entry: &EffectEntry) -> AskAnswer {
        let Some(event) = entry.event() else {
            return AskAnswer::CannotHappen;
        };
        let Ok(found) = self.look_at_event(event).await else {
            return AskAnswer::Unanswered;
        };
        let is_change = matches!(
            entry.action,
            EffectAction::Move { .. } | EffectAction::Cancel { .. }
        );
        // A calendar that is not there, or not shared any more, is answered as an event that is not there.
        if is_change && found.is_none() && self.client.query_access(&self.target()).await.is_err() {
            return AskAnswer::Unanswered;
        }
        match &entry.action {
            EffectAction::Move { version, .. } => judge_move(found.as_ref(), &entry.id, version),
            EffectAction::Cancel { version, .. } => judge_cancellation(found.as_ref(), version),
            EffectAction::Book { .. } | EffectAction::Other => judge_booking(found.as_ref()),
        }
    }

    async fn put_event_fence(&self, entry: &EffectEntry) -> FenceAnswer {
        match &entry.action {
            EffectAction::Book { .. } => match self.client.insert_fence(&self.target(), &entry.id).await {
                Ok(_) => FenceAnswer::Done,
                Err(CalendarError::AlreadyExists) => FenceAnswer::Changed,
                Err(_) => FenceAnswer::Unanswered,
            },
            EffectAction::Move { event, version, .. } | EffectAction::Cancel { event, version } => {
                self.touch_version(event, version, entry.nonce.as_str()).await
            }
            EffectAction::Other => FenceAnswer::Done,
        }
    }

    async fn remove_fence(&self, entry: &EffectEntry) -> FenceAnswer {
        if !matches!(entry.action, EffectAction::Book { .. }) {
            return FenceAnswer::Done;
        }
        match self.look_at_event(&entry.id).await {
            Ok(Some(event)) if event.is_fence && event.status == EventStatus::Present => {
                let removed = self
                    .client
                    .delete_event(&self.target(), &entry.id, &event.etag)
                    .await;
                match removed {
                    Ok(()) | Err(CalendarError::Deleted | CalendarError::NotFound) => FenceAnswer::Done,
                    Err(CalendarError::VersionChanged) => FenceAnswer::Changed,
                    Err(_) => FenceAnswer::Unanswered,
                }
            }
            Ok(_) => FenceAnswer::Done,
            Err(_) => FenceAnswer::Unanswered,
        }
    }
}
