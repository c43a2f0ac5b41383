//! Meta's service window: for 24 hours after a contact's last message, Meta accepts messages other than templates.
//!
//! Meta judges by its own clock when the request arrives; Recado judges by its own clock before the request leaves. The
//! possible difference is subtracted, so that Meta does not refuse a message that this rule allows.

use crate::content::{Content, SystemNote};
use crate::millis::add_duration;
use jiff::{SignedDuration, Timestamp};

/// Length of the window after the contact's message: 24 hours.
pub const WINDOW: SignedDuration = SignedDuration::from_hours(24);

/// Safety margin that is subtracted from the window: clocks may differ by a minute, and a request takes up to half a
/// minute.
pub const WINDOW_MARGIN: SignedDuration = SignedDuration::from_mins(2);

/// Returns `true` if a message that is not a template may leave at `now`. `last_inbound_at` is the time of the contact's last
/// message, by the provider's clock; `None`: the contact never wrote, so no window is open.
pub fn is_window_open(last_inbound_at: Option<Timestamp>, now: Timestamp) -> bool {
    last_inbound_at.is_some_and(|at| now <= add_duration(at, WINDOW - WINDOW_MARGIN))
}

/// Returns `true` if a contact's message with this content opens the window. Meta counts every message and call of a
/// user, also a reaction and the first opening of the chat. Edits, deletions and removed reactions are not counted here: if the window
/// is wrongly believed open, Meta refuses a message; if it is wrongly believed closed, only a template is sent in its
/// place.
pub fn opens_window(content: &Content) -> bool {
    if let Content::System { what, .. } = content {
        return matches!(what, SystemNote::Called | SystemNote::UnreadableLead);
    }
    !matches!(
        content,
        Content::Edit { .. } | Content::Deletion { .. } | Content::Reaction { emoji: None, .. }
    )
}

/// Returns `true` if this content may be sent outside the window too: it is a template.
pub fn bypasses_window(content: &Content) -> bool {
    matches!(content, Content::Template(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::MessageTemplate;
    use crate::millis::{add_millis, from_unix_millis, to_millis};
    use proptest::prelude::*;

    const WINDOW_MS: i64 = 24 * 3_600_000;
    const WINDOW_MARGIN_MS: i64 = 120_000;

    #[test]
    fn it_closes_two_minutes_before_the_day_is_over() {
        let (last_inbound, last) = (
            from_unix_millis(5_000),
            from_unix_millis(5_000 + WINDOW_MS - WINDOW_MARGIN_MS),
        );
        assert!(is_window_open(Some(last_inbound), last_inbound));
        assert!(is_window_open(Some(last_inbound), last));
        assert!(!is_window_open(Some(last_inbound), add_millis(last, 1)));
    }

    #[test]
    fn it_is_open_for_what_was_written_by_a_clock_ahead_and_closed_for_who_never_wrote() {
        assert!(is_window_open(
            Some(from_unix_millis(60_000)),
            from_unix_millis(0)
        ));
        assert!(!is_window_open(None, from_unix_millis(0)));
    }

    #[test]
    fn an_instant_at_the_end_of_time_is_no_error() {
        assert!(is_window_open(Some(Timestamp::MAX), Timestamp::MAX));
        assert!(!is_window_open(Some(Timestamp::MIN), Timestamp::MAX));
    }

    #[test]
    fn words_reactions_and_a_welcome_open_it_and_notes_and_changes_do_not() {
        let reaction = |emoji: Option<&str>| Content::Reaction {
            emoji: emoji.map(str::to_owned),
            target: None,
        };
        let target = None;
        let edit = Content::Edit {
            target: None,
            content: Box::new(Content::from_text("x")),
        };
        let note = Content::System {
            what: SystemNote::NumberChanged,
            text: None,
        };
        let call = Content::System {
            what: SystemNote::Called,
            text: None,
        };
        for opens in [
            Content::from_text("oi"),
            Content::Welcome,
            reaction(Some("👍")),
            call,
        ] {
            assert!(opens_window(&opens), "{opens:?}");
        }
        for not in [reaction(None), edit, Content::Deletion { target }, note] {
            assert!(!opens_window(&not), "{not:?}");
        }
    }

    #[test]
    fn only_a_template_needs_no_window() {
        let template = Content::Template(MessageTemplate {
            name: "ola".to_owned(),
            language: "pt_BR".to_owned(),
            components: Vec::new(),
        });
        assert!(bypasses_window(&template));
        assert!(!bypasses_window(&Content::from_text("ola")));
    }

    /// Any time of two days, most often one within five minutes of the window's end.
    fn near_the_end() -> impl Strategy<Value = i64> {
        prop_oneof![
            1 => 0i64..(2 * WINDOW_MS),
            3 => (WINDOW_MS - 300_000)..(WINDOW_MS + 300_000),
        ]
    }

    #[test]
    fn the_margin_is_two_minutes() {
        assert_eq!(
            (to_millis(WINDOW), to_millis(WINDOW_MARGIN)),
            (WINDOW_MS, WINDOW_MARGIN_MS)
        );
        assert!(is_window_open(
            Some(from_unix_millis(0)),
            from_unix_millis(WINDOW_MS - 120_000)
        ));
        assert!(!is_window_open(
            Some(from_unix_millis(0)),
            from_unix_millis(WINDOW_MS - 119_999)
        ));
    }

    proptest! {
        /// By the provider's clock the contact wrote at `wrote`; ours differs by up to a minute, and the request arrives
        /// up to half a minute after it was judged.
        #[test]
        fn what_is_let_through_arrives_inside_the_providers_window(
            wrote in 0i64..10_000_000_000, after in near_the_end(), skew in -60_000i64..=60_000,
            takes in 0i64..=30_000, late in 0i64..1_000_000,
        ) {
            let now = from_unix_millis(wrote + after);
            // Our webhook clock may cut the provider's time, never add to it.
            let arrived = from_unix_millis(wrote + late - skew);
            let last_inbound = from_unix_millis(wrote).min(arrived);
            if is_window_open(Some(last_inbound), now) {
                let there = wrote + after + skew + takes;
                prop_assert!(there < wrote + WINDOW_MS);
            }
        }

        /// The margin is all that is given away.
        #[test]
        fn what_is_held_back_has_no_more_than_the_margin_left(after in near_the_end()) {
            if !is_window_open(Some(from_unix_millis(0)), from_unix_millis(after)) {
                prop_assert!(after > WINDOW_MS - WINDOW_MARGIN_MS);
            }
        }
    }
}
