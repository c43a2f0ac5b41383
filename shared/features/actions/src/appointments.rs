//! Lists the appointments that agents booked and that are still to come.

use crate::effects::find_tool_of_effect;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use recado_domain::access::Caller;
use recado_domain::calendar::TimeSpan;
use recado_domain::conversation::Conversation;
use recado_domain::effects::{Booking, ToolName};
use recado_domain::ids::{CalendarId, InstanceId, TenantId, ThreadId};
use recado_domain::millis::from_unix_millis;
use recado_domain::tools::CalendarFunction;
use recado_pipeline::Deps;
use recado_pipeline::steps::invited_tenant::{TenantChoiceError, choose_tenant};
use recado_pipeline::steps::linked_threads::find_latest_conversation;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_ports::ports::{Page, PortResult};
use recado_ports::records::effects::list_booked_journals;
use std::collections::BTreeMap;

/// The most contacts whose appointments are looked through: those whose first one begins the soonest.
const CONTACTS_MAX: usize = 1_000;

/// The place of an appointment in the list: its begin and its event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AppointmentPlace {
    starts_at: Timestamp,
    event: String,
}

impl AppointmentPlace {
    /// Parses the cursor of a page. `None`: no list gave it.
    pub fn parse(cursor: &str) -> Option<Self> {
        let (at, event) = cursor.split_once('.')?;
        Some(Self {
            starts_at: from_unix_millis(at.parse().ok()?),
            event: event.to_owned(),
        })
    }

    fn to_cursor(&self) -> String {
        format!("{}.{}", self.starts_at.as_millisecond(), self.event)
    }
}

/// An appointment that an agent booked.
#[derive(Debug, Clone, PartialEq)]
pub struct Appointment {
    /// The booking.
    pub booking: Booking,
    /// The time of the appointment, without what is kept free around it. If its calendar is not known any more, with that.
    pub time: TimeSpan,
    /// The calendar; `None` if it is not known any more: the agent lost its tool.
    pub calendar: Option<CalendarId>,
    /// The zone of the calendar; UTC if it is not known.
    pub zone: TimeZone,
    /// The title that the model gave it.
    pub title: Option<String>,
    /// The instance of the contact.
    pub instance: InstanceId,
    /// The contact's newest conversation; `None` if there is none any more.
    pub conversation: Option<Conversation>,
}

/// Lists the appointments of a tenant that are not over, those that begin the soonest first: `limit` of those behind `after`.
pub async fn list_appointments(
    deps: &Deps,
    caller: &Caller,
    tenant: Option<&TenantId>,
    limit: usize,
    after: Option<&AppointmentPlace>,
) -> Result<Page<Appointment>, TenantChoiceError> {
    let tenant = choose_tenant(deps, caller, tenant).await?.id;
    let journals = list_booked_journals(deps.store(), &tenant, CONTACTS_MAX).await?;
    let mut calendars = KnownCalendars::default();
    let mut found = Vec::new();
    for journal in &journals {
        let now = deps.system().now();
        for booking in journal.bookings.iter().filter(|booking| !booking.is_over_at(now)) {
            let function = calendars.find_function(deps, &tenant, &booking.tool).await?;
            let time = find_booked_time(booking, function.as_ref());
            let place = AppointmentPlace {
                starts_at: time.from,
                event: booking.event.to_string(),
            };
            if after.is_none_or(|after| place > *after) {
                found.push((place, journal, booking, time, function));
            }
        }
    }
    found.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| has_more);
    let next_cursor = last.map(|(place, ..)| place.to_cursor());
    let mut conversations = BTreeMap::new();
    let mut items = Vec::new();
    for (_, journal, booking, time, function) in found {
        let conversation = find_contact_conversation(deps, &mut conversations, &journal.thread).await?;
        items.push(Appointment {
            booking: booking.clone(),
            time,
            calendar: function.as_ref().map(|function| function.calendar.id.clone()),
            zone: function.map_or(TimeZone::UTC, |function| function.zone),
            title: journal.find_appointment_title(&booking.event).map(str::to_owned),
            instance: journal.instance.clone(),
            conversation,
        });
    }
    Ok(Page { items, next_cursor })
}

/// Returns the time of the appointment itself, as far as the calendar's rules are known.
fn find_booked_time(booking: &Booking, function: Option<&CalendarFunction>) -> TimeSpan {
    let known = function.and_then(|function| function.find_appointment_time(booking));
    known.unwrap_or(TimeSpan {
        from: booking.span.start,
        to: booking.span.end,
    })
}

/// The calendars of the tools that were looked up.
#[derive(Default)]
struct KnownCalendars(BTreeMap<ToolName, Option<CalendarFunction>>);

impl KnownCalendars {
    /// Returns the function of a calendar that a tool stands for; `None` if the agent has the tool no more.
    async fn find_function(
        &mut self,
        deps: &Deps,
        tenant: &TenantId,
        named: &ToolName,
    ) -> PortResult<Option<CalendarFunction>> {
        if let Some(known) = self.0.get(named) {
            return Ok(known.clone());
        }
        let tool = find_tool_of_effect(deps, tenant, named).await?;
        let function = tool.and_then(|tool| tool.function).map(|function| *function);
        self.0.insert(named.clone(), function.clone());
        Ok(function)
    }
}

/// Returns the newest conversation of a contact, which is read once.
async fn find_contact_conversation(
    deps: &Deps,
    known: &mut BTreeMap<ThreadId, Option<Conversation>>,
    thread: &ThreadId,
) -> PortResult<Option<Conversation>> {
    if let Some(found) = known.get(thread) {
        return Ok(found.clone());
    }
    let found = find_latest_conversation(deps, thread.clone()).await;
    let latest = pass_over_unreadable(found.map(|(_, latest)| latest))?;
    known.insert(thread.clone(), latest.clone());
    Ok(latest)
}
