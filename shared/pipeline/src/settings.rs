//! Times and limits, with the defaults that belong together.

use recado_domain::backoff::Backoff;
use std::time::Duration;

/// See the module. The order of the times matters: longest outside call < function time-out < lease < visibility.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How long to wait for more of a burst.
    pub debounce: Duration,
    /// How long a burst may put the reply off.
    pub debounce_max: Duration,
    /// Messages older than this on arrival are stored and not answered.
    pub stale_after: Duration,
    /// How long applied events are known again.
    pub event_ttl: Duration,
    /// How long delivery records are kept.
    pub delivery_ttl: Duration,
    /// How long clients' keys are kept.
    pub key_ttl: Duration,
    /// How many messages the model reads.
    pub history: usize,
    /// How long the model may take, retries included.
    pub llm_timeout: Duration,
    /// The lease of a turn.
    pub turn_lease: Duration,
    /// How long a provider may take to accept a message.
    pub provider_timeout: Duration,
    /// The lease of an attempt to send.
    pub send_lease: Duration,
    /// Attempts at an event, at a turn, at a send.
    pub attempts: Attempts,
    /// Waits between attempts to process.
    pub inbound_backoff: Backoff,
    /// Waits between attempts to send.
    pub outbound_backoff: Backoff,
    /// How long evidence is waited for after an unknown outcome.
    pub unknown_wait: Duration,
    /// How long messages wait for a disconnected instance.
    pub parked_max: Duration,
    /// How old configuration may be in a warm function.
    pub config_ttl: Duration,
}

/// How often something is tried before it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempts {
    /// Processing an event.
    pub inbound: u32,
    /// Asking the model for one turn.
    pub turn: u32,
    /// Sending a message.
    pub outbound: u32,
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            debounce: seconds(4),
            debounce_max: seconds(20),
            stale_after: seconds(3600),
            event_ttl: seconds(7 * 86_400),
            delivery_ttl: seconds(30 * 86_400),
            key_ttl: seconds(48 * 3600),
            history: 20,
            llm_timeout: seconds(60),
            turn_lease: seconds(95),
            provider_timeout: seconds(20),
            send_lease: seconds(35),
            attempts: Attempts {
                inbound: 3,
                turn: 3,
                outbound: 5,
            },
            inbound_backoff: Backoff::default(),
            outbound_backoff: Backoff::default(),
            unknown_wait: seconds(300),
            parked_max: seconds(72 * 3600),
            config_ttl: seconds(30),
        }
    }
}

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {what}")]
pub struct Problem {
    /// The environment variable.
    pub name: String,
    /// What is wrong with it.
    pub what: String,
}

impl Settings {
    /// The defaults, changed by what `variable` finds in the environment (an empty one counts as absent). What cannot be
    /// used is added to `problems`, all of it, so that it can be mended in one go.
    pub fn read(variable: impl Fn(&str) -> Option<String>, problems: &mut Vec<Problem>) -> Self {
        const DAY: f64 = 86_400.0;
        let mut settings = Self::default();
        let mut seconds = |name: &str, unit: f64, most: f64, into: &mut Duration| {
            let Some(text) = variable(name).filter(|text| !text.trim().is_empty()) else {
                return;
            };
            match text.trim().parse::<f64>() {
                Ok(number) if number >= 0.0 && number * unit <= most => {
                    *into = Duration::from_secs_f64(number * unit);
                }
                _ => problems.push(Problem {
                    name: name.to_owned(),
                    what: format!("must be a number from 0 to {}", most / unit),
                }),
            }
        };
        seconds("RECADO_DEBOUNCE_SECONDS", 1.0, 300.0, &mut settings.debounce);
        seconds(
            "RECADO_DEBOUNCE_MAX_SECONDS",
            1.0,
            890.0,
            &mut settings.debounce_max,
        );
        seconds(
            "RECADO_STALE_SECONDS",
            1.0,
            365.0 * DAY,
            &mut settings.stale_after,
        );
        seconds("RECADO_EVENT_TTL_DAYS", DAY, 365.0 * DAY, &mut settings.event_ttl);
        seconds(
            "RECADO_UNKNOWN_WAIT_SECONDS",
            1.0,
            DAY,
            &mut settings.unknown_wait,
        );
        settings
    }
}

/// Visibility time-outs of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visibility;

impl Visibility {
    /// Of `inbound`.
    pub const INBOUND: Duration = Duration::from_secs(30);
    /// Of `turns`.
    pub const TURNS: Duration = Duration::from_secs(120);
    /// Of `outbound`.
    pub const OUTBOUND: Duration = Duration::from_secs(60);
    /// How often a queue hands out a message before it dead-letters it by itself.
    pub const RECEIVES_MAX: u32 = 1000;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_that_cannot_be_used_is_named_at_once() {
        let mut problems = Vec::new();
        let variable = |name: &str| match name {
            "RECADO_DEBOUNCE_SECONDS" => Some("four".to_owned()),
            "RECADO_STALE_SECONDS" => Some("-1".to_owned()),
            "RECADO_DEBOUNCE_MAX_SECONDS" => Some("2.5".to_owned()),
            "RECADO_EVENT_TTL_DAYS" => Some(" ".to_owned()),
            _ => None,
        };
        let settings = Settings::read(variable, &mut problems);
        let names: Vec<&str> = problems.iter().map(|problem| problem.name.as_str()).collect();
        assert_eq!(names, ["RECADO_DEBOUNCE_SECONDS", "RECADO_STALE_SECONDS"]);
        assert_eq!(settings.debounce_max, Duration::from_millis(2500));
        assert_eq!(settings.event_ttl, Settings::default().event_ttl);
    }

    #[test]
    fn the_times_are_in_their_order() {
        let s = Settings::default();
        let (turn_function, send_function) = (Duration::from_secs(90), Duration::from_secs(30));
        assert!(
            s.llm_timeout < turn_function && turn_function < s.turn_lease && s.turn_lease < Visibility::TURNS
        );
        assert!(s.provider_timeout + Duration::from_secs(5) < send_function);
        assert!(send_function < s.send_lease && s.send_lease < Visibility::OUTBOUND);
        assert!(s.debounce < s.debounce_max && s.debounce_max < Duration::from_secs(900));
    }
}
