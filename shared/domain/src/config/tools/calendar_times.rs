//! The free times that a model is told of, and what day it is.

use super::calendar::{AskedSlots, CalendarFunction, USUAL_WINDOW};
use crate::calendar::{FreeSlot, SlotQuery, TimeSpan, format_day_for_model};
use crate::effects::{CellSpan, HeldCell};
use crate::time_words::describe_time;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Greatest number of free slots that the model reads at once: those of a whole week, where an appointment may begin each quarter of an hour.
const SLOTS_MAX: usize = 200;

/// Greatest number of free slots of which each has a line of its own.
const LINES_MAX: usize = 40;

/// Greatest number of other times that are offered where one is taken.
const OTHER_TIMES_MAX: usize = 8;

/// Time before a wished time within which other times are looked for.
const BEFORE_WISH: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Length of the parts in which the time before a wished time is searched: each has fewer slots than one search returns.
const SEARCHED_PART: SignedDuration = SignedDuration::from_hours(12);

impl CalendarFunction {
    /// Tells the model what day it is, in the zone of the calendar.
    pub fn describe_today(&self, now: Timestamp) -> String {
        format!("Today is {}.", describe_time(&now.to_zoned(self.zone.clone())))
    }

    /// Returns a question for other times near `start`, where that one is taken: from a week before it to two weeks after it.
    pub fn ask_for_times_around(&self, arguments: &Value, start: Timestamp, now: Timestamp) -> AskedSlots {
        let from = start.saturating_sub(BEFORE_WISH).unwrap_or(start).max(now);
        let to = start.max(from).saturating_add(USUAL_WINDOW);
        AskedSlots {
            window: TimeSpan {
                from,
                to: to.unwrap_or(Timestamp::MAX),
            },
            duration: self.read_appointment_length(arguments),
        }
    }

    fn list_some_free_slots(
        &self,
        asked: &AskedSlots,
        (busy, held): (&[TimeSpan], &[HeldCell]),
        (now, limit): (Timestamp, usize),
    ) -> (Vec<FreeSlot>, Option<Timestamp>) {
        let held: Vec<CellSpan> = held.iter().map(to_cell_time).collect();
        let query = SlotQuery {
            now,
            window: asked.window,
            duration: asked.duration,
            busy,
            held: &held,
            limit,
        };
        let found = self.calendar.rules.find_free_slots(&query, &self.zone);
        (found.slots, found.next_start)
    }

    /// Lists the free slots for the model.
    pub fn describe_free_slots(
        &self,
        asked: &AskedSlots,
        taken: (&[TimeSpan], &[HeldCell]),
        now: Timestamp,
    ) -> String {
        let (slots, next) = self.list_some_free_slots(asked, taken, (now, SLOTS_MAX));
        if slots.is_empty() {
            return "no time is free then".to_owned();
        }
        let listed = self.describe_each_slot(&slots);
        match next {
            Some(next) => {
                let day = next.to_zoned(self.zone.clone()).date();
                format!("{listed}\nThere are more: ask again from {day}.")
            }
            None => listed,
        }
    }

    /// Lists the free slots nearest to `start` for the model, which asked for that time and cannot have it.
    pub fn describe_other_times(
        &self,
        asked: &AskedSlots,
        start: Timestamp,
        taken: (&[TimeSpan], &[HeldCell]),
        now: Timestamp,
    ) -> String {
        let slots = self.list_nearest_slots(asked, start, taken, now);
        if slots.is_empty() {
            return "No other time is free from a week before it to two weeks after it.".to_owned();
        }
        format!(
            "Free are, the nearest to the wished time first:\n{}",
            self.describe_each_slot(&slots)
        )
    }

    /// Lists the free slots nearest to `start`, by the time between their begins. Of two that are equally near, the earlier is first.
    fn list_nearest_slots(
        &self,
        asked: &AskedSlots,
        start: Timestamp,
        taken: (&[TimeSpan], &[HeldCell]),
        now: Timestamp,
    ) -> Vec<FreeSlot> {
        let within = |from: Timestamp, to: Timestamp| AskedSlots {
            window: TimeSpan { from, to },
            ..*asked
        };
        let TimeSpan { from, to } = asked.window;
        let mut before: Vec<FreeSlot> = Vec::new();
        let mut end = start.min(to);
        while from < end && before.len() < OTHER_TIMES_MAX {
            let begin = end.saturating_sub(SEARCHED_PART).unwrap_or(from).max(from);
            let (slots, _) = self.list_some_free_slots(&within(begin, end), taken, (now, usize::MAX));
            before.splice(0..0, slots);
            end = begin;
        }
        let after = within(start.max(from), to);
        let (after, _) = self.list_some_free_slots(&after, taken, (now, OTHER_TIMES_MAX));
        let mut nearest: Vec<FreeSlot> = before.into_iter().chain(after).collect();
        nearest.sort_by_key(|slot| slot.start.duration_since(start).abs());
        nearest.truncate(OTHER_TIMES_MAX);
        nearest
    }

    /// Lists slots, each in a line of its own. Those of a day stand in one line if there are many.
    fn describe_each_slot(&self, slots: &[FreeSlot]) -> String {
        if slots.len() <= LINES_MAX {
            let lines = slots.iter().map(|slot| slot.format_for_model(&self.zone));
            return lines.collect::<Vec<_>>().join("\n");
        }
        // The offset changes within a day on which the clocks change.
        let day_of = |slot: &FreeSlot| {
            let offset = self.zone.to_offset(slot.start);
            (offset.to_datetime(slot.start).date(), offset)
        };
        let days = slots.chunk_by(|one, next| day_of(one) == day_of(next));
        let lines = days.map(|day| format_day_for_model(day, &self.zone));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn to_cell_time(held: &HeldCell) -> CellSpan {
    let end = crate::millis::add_duration(held.cell.start, crate::effects::CELL);
    CellSpan {
        calendar: held.cell.calendar.clone(),
        start: held.cell.start,
        end,
    }
}

#[cfg(test)]
mod tests {
    use super::super::calendar::CalendarOperation;
    use super::*;
    use jiff::tz::TimeZone;
    use serde_json::json;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// A calendar in UTC that is open from nine to six on all days, with appointments of half an hour.
    fn function(hours: &str) -> CalendarFunction {
        let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let hours: serde_json::Map<String, Value> = days
            .iter()
            .map(|day| ((*day).to_owned(), json!([hours])))
            .collect();
        CalendarFunction {
            operation: CalendarOperation::Book,
            calendar: serde_json::from_value(json!({
                "id": "agenda", "tenant": "clinic", "minutes": [30], "simulated": true,
                "rules": {"hours": hours, "grid_minutes": 30, "notice_minutes": 0},
            }))
            .unwrap(),
            zone: TimeZone::UTC,
        }
    }

    /// The begins of the times that are offered in the place of `wished`, where `busy` are the times that are taken.
    fn offered(function: &CalendarFunction, wished: &str, busy: &[(&str, &str)], now: &str) -> Vec<String> {
        let (start, now) = (at(wished), at(now));
        let busy: Vec<TimeSpan> = busy
            .iter()
            .map(|(from, to)| TimeSpan {
                from: at(from),
                to: at(to),
            })
            .collect();
        let asked = function.ask_for_times_around(&json!({}), start, now);
        let slots = function.list_nearest_slots(&asked, start, (&busy, &[]), now);
        slots
            .iter()
            .map(|slot| slot.start.strftime("%d %H:%M").to_string())
            .collect()
    }

    #[test]
    fn the_times_nearest_to_the_wished_one_are_offered_first() {
        let busy = [("2027-03-10T17:00:00Z", "2027-03-10T17:30:00Z")];
        let found = offered(
            &function("09:00-18:00"),
            "2027-03-10T17:00:00Z",
            &busy,
            "2027-03-01T08:00:00Z",
        );
        assert_eq!(
            found,
            [
                "10 16:30", "10 17:30", "10 16:00", "10 15:30", "10 15:00", "10 14:30", "10 14:00",
                "10 13:30"
            ]
        );
        let busy = [("2027-03-10T10:00:00Z", "2027-03-10T10:30:00Z")];
        let found = offered(
            &function("00:00-24:00"),
            "2027-03-10T10:00:00Z",
            &busy,
            "2027-03-01T08:00:00Z",
        );
        assert_eq!(found[..4], ["10 09:30", "10 10:30", "10 09:00", "10 11:00"]);
    }

    #[test]
    fn behind_a_day_that_is_full_the_nearest_may_lie_before_it_and_never_in_the_past() {
        let busy = [("2027-03-10T00:00:00Z", "2027-03-12T00:00:00Z")];
        let wished = "2027-03-10T09:00:00Z";
        let found = offered(&function("09:00-18:00"), wished, &busy, "2027-03-01T08:00:00Z");
        assert_eq!(found[..2], ["09 17:30", "09 17:00"]);
        let found = offered(&function("09:00-18:00"), wished, &busy, "2027-03-10T08:00:00Z");
        assert_eq!(found[..2], ["12 09:00", "12 09:30"]);
        let whole = [("2027-03-01T00:00:00Z", "2027-04-01T00:00:00Z")];
        let found = offered(&function("09:00-18:00"), wished, &whole, "2027-03-01T08:00:00Z");
        assert!(found.is_empty(), "{found:?}");
    }

    /// What the model reads of the free times of these days, a week before the first.
    fn told(function: &CalendarFunction, from: &str, to: &str) -> String {
        let now = at(&format!("{from}T00:00:00Z")) - SignedDuration::from_hours(7 * 24);
        let asked = function.read_slots_question(&json!({"from": from, "to": to}), now);
        function.describe_free_slots(&asked.unwrap(), (&[], &[]), now)
    }

    #[test]
    fn the_free_times_of_a_week_are_told_at_once_by_day_if_they_are_many() {
        let function = function("09:00-18:00");
        let two_days = told(&function, "2027-03-08", "2027-03-09");
        assert_eq!(two_days.lines().count(), 36);
        assert!(two_days.starts_with("Mon 2027-03-08 09:00-09:30 (start 2027-03-08T09:00:00"));
        let week = told(&function, "2027-03-08", "2027-03-14");
        assert_eq!(week.lines().count(), 7);
        assert!(
            week.starts_with("Mon 2027-03-08 09:00 (start 2027-03-08T09:00:00"),
            "{week}"
        );
        assert!(week.contains("), 09:30, 10:00, "), "{week}");
        assert!(week.ends_with(", 17:00, 17:30"), "{week}");
        let two_weeks = told(&function, "2027-03-08", "2027-03-21");
        assert!(
            two_weeks.ends_with("\nThere are more: ask again from 2027-03-19."),
            "{two_weeks}"
        );
    }

    #[test]
    fn a_time_that_occurs_twice_stands_in_two_lines() {
        let mut function = function("00:00-24:00");
        function.zone = TimeZone::get("America/New_York").unwrap();
        let day = told(&function, "2027-11-07", "2027-11-07");
        let lines: Vec<&str> = day.lines().collect();
        assert!(lines[0].ends_with(", 01:00, 01:30"), "{day}");
        assert!(lines[1].starts_with("Sun 2027-11-07 01:00 (start 2027-11-07T01:00:00-05:00), 01:30, 02:00"));
    }

    #[test]
    fn as_many_slots_as_a_calendar_may_have_hide_none_that_is_near() {
        let mut dense = function("00:00-24:00");
        dense.calendar.rules.grid_minutes = 5;
        let busy = [("2027-03-10T10:00:00Z", "2027-03-10T10:30:00Z")];
        let found = offered(&dense, "2027-03-10T10:00:00Z", &busy, "2027-03-01T08:00:00Z");
        assert_eq!(found[..3], ["10 09:30", "10 10:30", "10 09:25"]);
    }

    #[test]
    fn the_day_is_told_in_the_zone_of_the_calendar() {
        let mut function = function("09:00-18:00");
        function.zone = TimeZone::get("America/Sao_Paulo").unwrap();
        assert_eq!(
            function.describe_today(at("2027-03-02T02:30:00Z")),
            "Today is Monday, 1 March 2027, 23:30 (America/Sao_Paulo, UTC-03:00)."
        );
    }
}
