//! The debounce: the silence after a contact's message that ends a burst. A fixed one is the same after every message; an
//! adaptive one is short after a complete question and long after a fragment.

mod booking;
mod completeness;
mod spelling;
mod words;

pub use booking::asks_short_answer;
pub use completeness::Completeness;
pub use spelling::corrects_spelling;

use crate::config::Instance;
use crate::content::Content;
use jiff::SignedDuration;

/// Silence after the contact's last message before which no reply leaves, at the usual wait after a complete question. Who writes on after
/// a message that reads complete (thanks, a second thought) mostly does so within two seconds.
const REPLY_AFTER: SignedDuration = SignedDuration::from_millis(2_100);

/// The bounds of an adaptive debounce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebounceBounds {
    /// Silence after a complete question.
    pub short: SignedDuration,
    /// Silence after a fragment. After an announcement ("I am sending a photo") it is twice as long.
    pub long: SignedDuration,
}

/// The messages before the one that is judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrecedingMessages {
    /// Messages before it wait for an answer, too. Whoever writes a second message is likely to write a third.
    pub goes_on: bool,
    /// The business's newest message asked a question that a short message answers.
    pub asked: bool,
}

/// The silence that ends a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Debounce {
    /// The same after every message.
    Fixed(SignedDuration),
    /// Depends on how complete the message reads.
    Adaptive(DebounceBounds),
}

impl Debounce {
    /// Returns the debounce of an instance: its own, or the installation's, whose adaptive one has these `bounds`.
    #[must_use]
    pub fn resolve_for(self, instance: &Instance, bounds: DebounceBounds) -> Self {
        let seconds = |seconds: Option<f64>| SignedDuration::try_from_secs_f64(seconds?).ok();
        if let Some(fixed) = seconds(instance.debounce_seconds) {
            return Self::Fixed(fixed);
        }
        let (short, long) = (
            seconds(instance.debounce_short_seconds),
            seconds(instance.debounce_long_seconds),
        );
        if short.is_none() && long.is_none() {
            return self;
        }
        Self::Adaptive(DebounceBounds {
            short: short.unwrap_or(bounds.short),
            long: long.unwrap_or(bounds.long),
        })
    }

    /// Returns the silence that is waited for after a message that is not known: that of one which may be all.
    pub fn silence_after_unknown(&self) -> SignedDuration {
        let context = PrecedingMessages {
            goes_on: true,
            asked: false,
        };
        self.silence_after(&Content::Removed, context)
    }

    /// Returns the silence after the contact's last message before which no reply leaves, although its draft may begin earlier. A fixed
    /// debounce needs none: it is waited for before the draft.
    pub fn silence_before_reply(&self) -> SignedDuration {
        match self {
            Self::Fixed(_) => SignedDuration::ZERO,
            Self::Adaptive(bounds) => bounds.silence_before_reply(),
        }
    }

    /// Returns the silence that is waited for after a message. The shortest is for the first message of a burst only.
    pub fn silence_after(&self, content: &Content, before: PrecedingMessages) -> SignedDuration {
        match self {
            Self::Fixed(silence) => *silence,
            Self::Adaptive(bounds) => {
                bounds.silence_after(Completeness::judge(content, before.asked), before.goes_on)
            }
        }
    }
}

impl DebounceBounds {
    /// Returns [`REPLY_AFTER`]. Shorter waits of the settings shorten it: a shorter one after a complete question in the same ratio, and
    /// it is never longer than the longest wait.
    fn silence_before_reply(&self) -> SignedDuration {
        // Of the usual 0.9 s it makes 2.1 s.
        let in_ratio = self.short * 7 / 3;
        REPLY_AFTER.min(in_ratio).min(self.long.max(self.short))
    }

    fn silence_after(&self, completeness: Completeness, goes_on: bool) -> SignedDuration {
        let Self { short, long } = *self;
        let long = long.max(short);
        // The part of the way from `short` to `long`, in hundredths.
        let between = |part: i32| short + (long - short) * part / 100;
        match completeness {
            Completeness::Complete if !goes_on => short,
            Completeness::Complete | Completeness::Finished => between(15),
            Completeness::Greeting => between(44),
            Completeness::Open => between(75),
            Completeness::Fragment => long,
            Completeness::Announced => long * 2,
        }
    }
}

#[cfg(test)]
mod tests;
