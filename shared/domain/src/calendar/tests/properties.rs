//! Free slots compared with a search that looks at every minute.

use super::*;
use crate::effects::Cell;
use crate::hours::{OpeningHours, OpeningState};
use proptest::prelude::*;

/// Zones with changes of clocks of an hour and of half an hour, at night and at midnight, and with odd offsets; each with an
/// instant near a change.
const CHANGES: [(&str, &str); 9] = [
    ("America/New_York", "2026-03-08T06:00:00Z"),
    ("America/New_York", "2026-11-01T05:00:00Z"),
    ("Europe/Berlin", "2026-10-25T00:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T14:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:00:00Z"),
    ("America/Santiago", "2026-09-06T03:00:00Z"),
    ("Africa/Cairo", "2026-10-29T20:00:00Z"),
    ("Asia/Kathmandu", "2026-05-05T00:00:00Z"),
    ("America/Sao_Paulo", "2026-11-24T12:00:00Z"),
];

const GRIDS: [u16; 6] = [5, 15, 20, 30, 60, 90];

fn any_span() -> impl Strategy<Value = String> {
    (0u16..288, 1u16..287).prop_map(|(from, length)| {
        let (from, to) = (from * 5, (from + length) % 288 * 5);
        let text = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        format!("{}-{}", text(from), text(to))
    })
}

/// Rules with hours on most days, and an exception near the change.
fn any_rules(day: &'static str) -> impl Strategy<Value = BookingRules> {
    let days = prop::collection::btree_map(0usize..7, prop::collection::vec(any_span(), 1..3), 3..7);
    let numbers = (0usize..GRIDS.len(), 0u16..40, 0u16..40, 0u32..600, 1u16..4);
    (days, prop::option::of(any_span()), numbers).prop_map(move |(days, exception, numbers)| {
        let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let mut hours = json!({});
        for (day, spans) in days {
            hours[names[day]] = json!(spans);
        }
        if let Some(span) = exception {
            hours["exceptions"] = json!([{"date": &day[..10], "hours": [span]}]);
        }
        let (grid, before, after, notice, horizon) = numbers;
        serde_json::from_value(json!({
            "hours": hours, "grid_minutes": GRIDS[grid], "buffer_before_minutes": before, "buffer_after_minutes": after,
            "notice_minutes": notice, "horizon_days": horizon,
        }))
        .unwrap()
    })
}

fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

/// All times as numbers of minutes around the change: now, begin of the window, its length, the appointment, busy, held.
type Plan = (i64, i64, i64, i64, Vec<(i64, i64)>, Vec<(i64, i64)>);

fn any_plan() -> impl Strategy<Value = Plan> {
    let spans = |most| prop::collection::vec((-1500i64..3000, 0i64..200), 0..most);
    (
        -1500i64..0,
        -1600i64..1500,
        0i64..2000,
        1i64..200,
        spans(5),
        spans(3),
    )
}

/// Judges one begin by the words of the rules, minute by minute.
fn is_free(
    rules: &BookingRules,
    hours: &OpeningHours,
    start: Timestamp,
    query: &SlotQuery<'_>,
    zone: &TimeZone,
) -> bool {
    let wall = zone.to_datetime(start);
    let on_grid =
        (i32::from(wall.hour()) * 60 + i32::from(wall.minute())) % i32::from(rules.grid_minutes) == 0;
    let soonest = query.now + minutes(i64::from(rules.notice_minutes));
    let latest = query.now + minutes(i64::from(rules.horizon_days) * 1440);
    let in_window = query.window.from <= start && start < query.window.to;
    if !on_grid || wall.second() != 0 || start < soonest || start > latest || !in_window {
        return false;
    }
    let end = start + query.duration;
    let (before, after) = (rules.buffer_before_minutes, rules.buffer_after_minutes);
    let mut at = start - minutes(i64::from(before));
    while at < end + minutes(i64::from(after)) {
        let is_held = |span: &CellSpan| {
            span.list_cells()
                .iter()
                .any(|cell| cell.start <= at && at < cell.start + minutes(15))
        };
        if query.busy.iter().any(|span| span.from <= at && at < span.to) || query.held.iter().any(is_held) {
            return false;
        }
        let within = start <= at && at < end;
        if within && hours.opening_state_at(at, zone) != OpeningState::Open {
            return false;
        }
        at += minutes(1);
    }
    true
}

fn check_against_every_minute(
    rules: &BookingRules,
    (name, near): (&str, &str),
    plan: &Plan,
) -> Result<(), TestCaseError> {
    let (zone, near) = (zone(name), at(near));
    let (now, from, length, duration, busy, held) = plan;
    let time_span = |from: i64, length: i64| TimeSpan {
        from: near + minutes(from),
        to: near + minutes(from + length),
    };
    let busy: Vec<TimeSpan> = busy
        .iter()
        .map(|(from, length)| time_span(*from, *length))
        .collect();
    let held = held.iter().map(|(from, length)| CellSpan {
        calendar: "agenda".to_owned(),
        start: near + minutes(*from),
        end: near + minutes(from + length + 1),
    });
    let held: Vec<CellSpan> = held.collect();
    let query = SlotQuery {
        now: near + minutes(*now),
        window: time_span(*from, *length),
        duration: minutes(*duration),
        busy: &busy,
        held: &held,
        limit: 200,
    };
    let found = rules.find_free_slots(&query, &zone);
    let mut expected = Vec::new();
    for minute in 0..*length {
        let start = query.window.from + minutes(minute);
        let free = is_free(rules, &rules.hours, start, &query, &zone);
        if free {
            expected.push(FreeSlot {
                start,
                end: start + query.duration,
            });
        }
        let judged = rules.check_slot(start, &query, &zone);
        prop_assert_eq!(judged.is_ok(), free, "{} {:?}", start, judged);
    }
    prop_assert_eq!(found.next_start, expected.get(200).map(|slot| slot.start));
    expected.truncate(200);
    prop_assert_eq!(&found.slots, &expected);
    for slot in found.slots {
        prop_assert_eq!(parse_slot_start(&slot.format_start(&zone), &zone), Ok(slot.start));
        let cells = rules.span_to_hold("agenda", slot).list_cells();
        let taken: Vec<Cell> = held.iter().flat_map(CellSpan::list_cells).collect();
        prop_assert!(cells.iter().all(|cell| !taken.contains(cell)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn free_slots_are_exactly_those_that_a_look_at_every_minute_finds(
        (place, rules) in (0..CHANGES.len()).prop_flat_map(|place| (Just(place), any_rules(CHANGES[place].1))), plan in any_plan(),
    ) {
        check_against_every_minute(&rules, CHANGES[place], &plan)?;
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_reading_of_a_begin(text in ".{0,40}", wall in "2026-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}") {
        let _ = parse_slot_start(&text, &zone("Europe/Berlin"));
        let _ = parse_slot_start(&wall, &zone("Europe/Berlin"));
    }
}
