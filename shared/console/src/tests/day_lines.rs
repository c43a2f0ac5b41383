//! Days as people write them.

use crate::day_lines::{format_day_lines, parse_day_lines, read_day_begin, read_day_end};
use serde_json::json;

#[test]
fn exceptional_days_are_read_as_they_are_written() {
    let text = "2026-12-25: closed\n2026-12-27..2026-12-30: 10:00-12:00, 13:00-16:00";
    let days = parse_day_lines(text).unwrap();
    assert_eq!(
        days,
        json!([
            {"date": "2026-12-25", "closed": true},
            {"from": "2026-12-27", "to": "2026-12-30", "hours": ["10:00-12:00", "13:00-16:00"]},
        ])
    );
    assert_eq!(format_day_lines(&days), text);
    assert_eq!(parse_day_lines(" \n"), Some(json!([])));
    for wrong in ["2026-12-25", "closed", "2026-12-25:"] {
        assert_eq!(parse_day_lines(wrong), None, "{wrong}");
    }
}

#[test]
fn a_day_begins_and_ends_at_midnight_in_utc() {
    assert_eq!(
        read_day_begin("2026-12-31").as_deref(),
        Some("2026-12-31T00:00:00Z")
    );
    assert_eq!(
        read_day_end("2026-12-31").as_deref(),
        Some("2027-01-01T00:00:00Z")
    );
    assert_eq!(read_day_end("yesterday"), None);
}
