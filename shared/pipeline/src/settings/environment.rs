//! Reads the settings from the environment.

use super::{Settings, legacy_names};
use recado_domain::backoff::Backoff;
use std::str::FromStr;
use std::time::Duration;

/// A setting whose value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {what}")]
pub struct SettingError {
    /// Name of the environment variable.
    pub name: String,
    /// Description of the problem.
    pub what: String,
}

const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

/// The environment variables and the problems that were found in them.
struct SettingsReader<'a, F> {
    variable: F,
    problems: &'a mut Vec<SettingError>,
}

impl<F: Fn(&str) -> Option<String>> SettingsReader<'_, F> {
    /// Returns the first variable of `names` that is set, with its text. An empty variable counts as not set.
    fn find_text<'n>(&self, names: &[&'n str]) -> Option<(&'n str, String)> {
        names.iter().find_map(|name| {
            let text = (self.variable)(name)?.trim().to_owned();
            (!text.is_empty()).then_some((*name, text))
        })
    }

    fn add_problem(&mut self, name: &str, what: impl Into<String>) {
        self.problems.push(SettingError {
            name: name.to_owned(),
            what: what.into(),
        });
    }

    /// Reads a number from the first variable of `names` that is set. The number is stored in `into` if it is within
    /// `range`; otherwise a problem is added.
    fn read_number<T>(&mut self, names: &[&str], range: (T, T), into: &mut T)
    where
        T: FromStr + PartialOrd + Copy + std::fmt::Display,
    {
        let Some((name, text)) = self.find_text(names) else {
            return;
        };
        let (least, most) = range;
        match text.parse::<T>() {
            Ok(number) if number >= least && number <= most => *into = number,
            _ => self.add_problem(name, format!("must be a number from {least} to {most}")),
        }
    }

    /// Reads a time that is given in units of `unit` seconds.
    fn read_duration(&mut self, names: &[&str], unit: f64, range: (f64, f64), into: &mut Duration) {
        let mut units = into.as_secs_f64() / unit;
        self.read_number(names, range, &mut units);
        // If the variable is not set or not usable, the time keeps its value, to the millisecond.
        *into = Duration::from_secs_f64(units * unit);
    }

    fn read_bool(&mut self, name: &str, into: &mut bool) {
        match self.find_text(&[name]).as_ref().map(|(_, text)| text.as_str()) {
            None => {}
            Some("true") => *into = true,
            Some("false") => *into = false,
            Some(_) => self.add_problem(name, "must be true or false"),
        }
    }

    fn read_backoff(&mut self, name: &str, into: &mut Backoff) {
        let Some((name, text)) = self.find_text(&[name]) else {
            return;
        };
        match text.parse() {
            Ok(backoff) => *into = backoff,
            Err(error) => self.add_problem(name, format!("{error}")),
        }
    }

    /// Reads the outbound backoff. The earlier worker's two variable names are also accepted; its jitter was one half.
    fn read_outbound_backoff(&mut self, into: &mut Backoff) {
        const OWN: &str = "RECADO_OUTBOUND_BACKOFF";
        let earlier = [legacy_names::BASE_BACKOFF, legacy_names::MAX_BACKOFF];
        if self.find_text(&[OWN]).is_some() || self.find_text(&earlier).is_none() {
            return self.read_backoff(OWN, into);
        }
        let (mut base, mut cap) = (2.0, 60.0);
        self.read_number(&[legacy_names::BASE_BACKOFF], (0.001, 600.0), &mut base);
        self.read_number(&[legacy_names::MAX_BACKOFF], (0.001, 600.0), &mut cap);
        if base > cap {
            self.add_problem(
                legacy_names::BASE_BACKOFF,
                format!("must not be above {}", legacy_names::MAX_BACKOFF),
            );
        }
        *into = Backoff::Exponential {
            base,
            cap,
            jitter: 0.5,
        };
    }
}

impl Settings {
    /// Returns the default settings, changed by the environment variables that `variable` reads. An empty variable
    /// counts as not set. Every value that cannot be used is added to `problems`, so that all can be corrected together.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
        problems: &mut Vec<SettingError>,
    ) -> Self {
        let mut settings = Self::default();
        let mut reader = SettingsReader { variable, problems };
        settings.read_times(&mut reader);
        settings.read_attempts(&mut reader);
        settings.read_turn_limits(&mut reader);
        settings
    }

    fn read_times<F: Fn(&str) -> Option<String>>(&mut self, reader: &mut SettingsReader<'_, F>) {
        let mut time = |name: &str, unit: f64, range: (f64, f64), into: &mut Duration| {
            reader.read_duration(&[name], unit, range, into);
        };
        time("RECADO_DEBOUNCE_SECONDS", 1.0, (0.0, 300.0), &mut self.debounce);
        time(
            "RECADO_DEBOUNCE_MAX_SECONDS",
            1.0,
            (0.0, 890.0),
            &mut self.debounce_max,
        );
        time(
            "RECADO_STALE_SECONDS",
            1.0,
            (0.0, 365.0 * DAY),
            &mut self.stale_after,
        );
        time("RECADO_EVENT_TTL_DAYS", DAY, (0.0, 365.0), &mut self.event_ttl);
        time("RECADO_KEY_TTL_HOURS", HOUR, (48.0, 8760.0), &mut self.key_ttl);
        time(
            "RECADO_UNKNOWN_WAIT_SECONDS",
            1.0,
            (0.0, DAY),
            &mut self.unknown_wait,
        );
        time(
            "RECADO_CONNECTION_STALE_SECONDS",
            1.0,
            (0.0, DAY),
            &mut self.connection_stale,
        );
        time(
            "RECADO_PARKED_MAX_HOURS",
            HOUR,
            (1.0, 720.0),
            &mut self.parked_max,
        );
        time(
            "RECADO_WEBHOOK_DEADLINE_SECONDS",
            1.0,
            (0.1, 60.0),
            &mut self.webhook_deadline,
        );
        reader.read_bool("RECADO_PRIVATE_MEDIA", &mut self.private_media);
        let timeout = ["RECADO_PROVIDER_TIMEOUT_SECONDS", legacy_names::HTTP_TIMEOUT];
        // The maximum is 20 seconds: the time-out and the lease of the sender allow no more.
        reader.read_duration(&timeout, 1.0, (0.1, 20.0), &mut self.provider_timeout);
    }

    fn read_attempts<F: Fn(&str) -> Option<String>>(&mut self, reader: &mut SettingsReader<'_, F>) {
        const TRIES: (u32, u32) = (1, 100);
        let outbound = ["RECADO_OUTBOUND_ATTEMPTS", legacy_names::MAX_DELIVERIES];
        reader.read_number(&["RECADO_INBOUND_ATTEMPTS"], TRIES, &mut self.attempts.inbound);
        reader.read_number(&["RECADO_TURN_ATTEMPTS"], TRIES, &mut self.attempts.turn);
        reader.read_number(&outbound, TRIES, &mut self.attempts.outbound);
        reader.read_backoff("RECADO_INBOUND_BACKOFF", &mut self.inbound_backoff);
        reader.read_backoff("RECADO_TURNS_BACKOFF", &mut self.turns_backoff);
        reader.read_outbound_backoff(&mut self.outbound_backoff);
        let per_second = ["RECADO_RATE_PER_SECOND", legacy_names::TOKENS_PER_SECOND];
        let burst = ["RECADO_RATE_BURST", legacy_names::BUCKET_CAPACITY];
        reader.read_number(&per_second, (0.001, 1000.0), &mut self.rate.per_second);
        reader.read_number(&burst, (1, 100_000), &mut self.rate.burst);
    }

    fn read_turn_limits<F: Fn(&str) -> Option<String>>(&mut self, reader: &mut SettingsReader<'_, F>) {
        let reads = &mut self.turn_reads;
        reader.read_number(&["RECADO_TURN_MESSAGES"], (1, 200), &mut reads.messages);
        reader.read_number(
            &["RECADO_MESSAGE_CHARS"],
            (100, 100_000),
            &mut reads.message_chars,
        );
        reader.read_number(
            &["RECADO_TRANSCRIPT_CHARS"],
            (100, 1_000_000),
            &mut reads.transcript_chars,
        );
    }
}
