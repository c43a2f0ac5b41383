//! Limits that pages, providers and people rely on have these values. A change here is a change of what Recado does.

use recado_domain::SignedDuration;
use recado_domain::access::TOKEN_LENGTH_MIN;
use recado_domain::alert::{ALERT_RETENTION, ATTEMPTS_MAX};
use recado_domain::backoff::WAIT_MAX;
use recado_domain::config::Instance;
use recado_domain::conversation::UNREAD_TURNS_MAX;
use recado_domain::event::{LOOKALIKE_DEDUP, PAYLOAD_INLINE_BYTES_MAX};
use recado_domain::instance::DEFAULT_PATIENCE;
use recado_domain::metadata::METADATA_BYTES_MAX;
use recado_domain::notice::{NOTICE_RETENTION, NOTICES_MAX};
use recado_domain::outgoing::{CAPTION_MAX, TEXT_MAX};
use recado_domain::rate::SLOT_SLACK;
use recado_domain::sample::{LISTED_MAX, SAMPLE_RETENTION};
use recado_domain::service_window::{WINDOW, WINDOW_MARGIN};

#[test]
fn times_are_these() {
    let days = |number: i64| SignedDuration::from_hours(24 * number);
    assert_eq!(WAIT_MAX, SignedDuration::from_mins(10));
    assert_eq!(LOOKALIKE_DEDUP, SignedDuration::from_mins(6));
    assert_eq!(SLOT_SLACK, SignedDuration::from_secs(1));
    assert_eq!((WINDOW, WINDOW_MARGIN), (days(1), SignedDuration::from_mins(2)));
    assert_eq!(Instance::SECRET_OVERLAP, days(1));
    assert_eq!(DEFAULT_PATIENCE, days(3));
    assert_eq!(SAMPLE_RETENTION, days(2));
    assert_eq!((NOTICE_RETENTION, ALERT_RETENTION), (days(90), days(90)));
}

#[test]
fn numbers_and_lengths_are_these() {
    assert_eq!((UNREAD_TURNS_MAX, ATTEMPTS_MAX), (3, 12));
    assert_eq!((NOTICES_MAX, LISTED_MAX), (50, 20));
    assert_eq!((TEXT_MAX, CAPTION_MAX), (4096, 1024));
    assert_eq!((METADATA_BYTES_MAX, PAYLOAD_INLINE_BYTES_MAX), (4096, 102_400));
    assert_eq!(TOKEN_LENGTH_MIN, 32);
}
