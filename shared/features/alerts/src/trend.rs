//! Trends: what the samples of many minutes tell together. A minute without a sample counts for nothing.

use jiff::{SignedDuration, Timestamp};
use recado_domain::ids::InstanceId;
use recado_domain::millis::add_duration;
use recado_domain::sample::{MinuteSample, start_of_minute};
use std::collections::BTreeMap;

const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// The time that trends are made of, in equal parts that end with the current minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrendPeriod {
    /// Start of the first part.
    pub from: Timestamp,
    /// Length of a part, in minutes.
    pub step_minutes: u32,
    /// Number of parts.
    pub parts: u32,
}

impl TrendPeriod {
    /// Makes the period of `hours` hours up to the minute of `now`, in parts of `step_minutes`. The last part may be
    /// longer than what is left of the hours.
    pub fn ending_at(now: Timestamp, hours: u32, step_minutes: u32) -> Self {
        let step_minutes = step_minutes.max(1);
        let parts = (hours * 60).div_ceil(step_minutes).max(1);
        let length = SignedDuration::from_mins(i64::from(parts) * i64::from(step_minutes));
        let end = add_duration(start_of_minute(now), MINUTE);
        Self {
            from: add_duration(end, -length),
            step_minutes,
            parts,
        }
    }

    /// Returns the start of a part.
    fn start_of(&self, part: u32) -> Timestamp {
        let length = SignedDuration::from_mins(i64::from(part) * i64::from(self.step_minutes));
        add_duration(self.from, length)
    }
}

/// The sums that the samples of some minutes give together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrendSummary {
    /// Number of minutes of which there is a sample.
    pub minutes: u32,
    /// Sum of the depths of all minutes.
    depth_sum: u64,
    /// Greatest number of open messages and pending events.
    pub depth_max: u64,
    /// Greatest number of parked conversations.
    pub parked_max: u64,
    /// Greatest number of instances that could not send.
    pub disconnected_max: u64,
    /// Number of dead letters in the last of the minutes.
    pub dead_letters: u64,
    /// Number by which the dead letters grew, from minute to minute, without what was redriven or deleted in between.
    pub dead_letters_added: u64,
    /// `true` if more was open at some time than was read: depths are lower bounds.
    pub at_least: bool,
}

impl TrendSummary {
    fn add_minute(&mut self, minute: &Minute, added: u64) {
        self.minutes += 1;
        self.depth_sum += minute.depth;
        self.depth_max = self.depth_max.max(minute.depth);
        self.parked_max = self.parked_max.max(minute.parked);
        self.disconnected_max = self.disconnected_max.max(minute.disconnected);
        self.dead_letters = minute.dead_letters;
        self.dead_letters_added += added;
        self.at_least |= minute.at_least;
    }

    /// Returns the average depth, with one decimal; `None` without a sample.
    pub fn average_depth(&self) -> Option<f64> {
        divide(self.depth_sum, self.minutes.into(), 10)
    }

    /// Returns the number of new dead letters per hour, with two decimals; `None` without a sample.
    pub fn dead_letters_per_hour(&self) -> Option<f64> {
        divide(self.dead_letters_added * 60, self.minutes.into(), 100)
    }
}

/// Divides, and cuts to tenths (`parts` 10) or hundredths (100). `None` if `by` is 0 or the result is beyond 42 million.
fn divide(count: u64, by: u64, parts: u32) -> Option<f64> {
    let whole = count.checked_mul(parts.into())?.checked_div(by)?;
    u32::try_from(whole)
        .ok()
        .map(|whole| f64::from(whole) / f64::from(parts))
}

/// A part of the period with what its samples tell.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendPoint {
    /// Start of the part.
    pub from: Timestamp,
    /// What its samples tell.
    pub summary: TrendSummary,
}

/// The time for which an instance was connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceUptime {
    /// The instance.
    pub id: InstanceId,
    /// Number of minutes whose samples tell of it.
    pub minutes: u32,
    /// Number of those minutes in which it could send.
    pub connected: u32,
}

impl InstanceUptime {
    /// Returns the part of the minutes in which the instance could send, in percent, cut to two decimals. `None` without
    /// a sample.
    pub fn percent(&self) -> Option<f64> {
        divide(u64::from(self.connected) * 100, self.minutes.into(), 100)
    }
}

/// The trends of a tenant, of an instance or of the installation.
#[derive(Debug, Clone, PartialEq)]
pub struct Trends {
    /// The whole period.
    pub whole: TrendSummary,
    /// The parts of the period, the oldest first.
    pub points: Vec<TrendPoint>,
    /// Uptime of each instance, in the order in which they were given.
    pub uptimes: Vec<InstanceUptime>,
}

/// The samples that trends are made of.
#[derive(Debug, Clone)]
pub(crate) struct SampledMinutes(BTreeMap<Timestamp, Option<MinuteSample>>);

/// The numbers that count of one minute.
#[derive(Default)]
struct Minute {
    depth: u64,
    parked: u64,
    dead_letters: u64,
    disconnected: u64,
    at_least: bool,
}

impl SampledMinutes {
    /// Takes the samples of the installation.
    pub(crate) fn of_installation(samples: Vec<MinuteSample>) -> Self {
        Self(
            samples
                .into_iter()
                .map(|sample| (sample.at, Some(sample)))
                .collect(),
        )
    }

    /// Takes the samples of a tenant. Of a tenant of which nothing is to be told there is none, so the installation's
    /// samples tell which minutes were such ones.
    pub(crate) fn of_tenant(installation: &[MinuteSample], own: Vec<MinuteSample>) -> Self {
        let idle = installation.iter().filter(|sample| sample.tenants_left_out == 0);
        let mut minutes: BTreeMap<_, _> = idle.map(|sample| (sample.at, None)).collect();
        minutes.extend(own.into_iter().map(|sample| (sample.at, Some(sample))));
        Self(minutes)
    }

    /// Lists the minutes in which the state of `of`, an instance or all (`None`), is known.
    fn list_known<'a>(
        &'a self,
        of: Option<&'a InstanceId>,
    ) -> impl Iterator<Item = (Timestamp, Minute)> + 'a {
        self.0.iter().filter_map(move |(at, sample)| {
            let known = match (sample, of) {
                (None, _) => Minute::idle(false),
                (Some(sample), None) => Minute::from_sample(sample),
                (Some(sample), Some(id)) => Minute::of_instance(sample, id)?,
            };
            Some((*at, known))
        })
    }

    fn measure_uptime(&self, id: &InstanceId, from: Timestamp) -> InstanceUptime {
        let connected = |sample: &Option<MinuteSample>| match sample {
            None => Some(true),
            Some(sample) => sample.is_connected(id),
        };
        let known = || self.0.range(from..).filter_map(|(_, sample)| connected(sample));
        let count = |minutes: usize| u32::try_from(minutes).unwrap_or(u32::MAX);
        InstanceUptime {
            id: id.clone(),
            minutes: count(known().count()),
            connected: count(known().filter(|connected| *connected).count()),
        }
    }

    /// Makes the trends of `of`, an instance or all together (`None`), with the uptime of each of `instances`.
    pub(crate) fn make_trends<'a>(
        &self,
        period: TrendPeriod,
        of: Option<&InstanceId>,
        instances: impl IntoIterator<Item = &'a InstanceId>,
    ) -> Trends {
        let mut whole = TrendSummary::default();
        let mut points: Vec<TrendPoint> = (0..period.parts)
            .map(|part| TrendPoint {
                from: period.start_of(part),
                summary: TrendSummary::default(),
            })
            .collect();
        let mut dead_letters_before = None;
        for (at, minute) in self.list_known(of) {
            let added = minute
                .dead_letters
                .saturating_sub(dead_letters_before.unwrap_or(minute.dead_letters));
            dead_letters_before = Some(minute.dead_letters);
            let after = points.partition_point(|point| point.from <= at);
            // A sample before the period counts only as what the next is compared with.
            if let Some(point) = after.checked_sub(1).and_then(|part| points.get_mut(part)) {
                whole.add_minute(&minute, added);
                point.summary.add_minute(&minute, added);
            }
        }
        let uptimes = instances
            .into_iter()
            .map(|id| self.measure_uptime(id, period.from));
        Trends {
            uptimes: uptimes.collect(),
            whole,
            points,
        }
    }
}

impl Minute {
    fn idle(at_least: bool) -> Self {
        Self {
            at_least,
            ..Self::default()
        }
    }

    fn from_sample(sample: &MinuteSample) -> Self {
        Self {
            depth: sample.depth,
            parked: sample.parked,
            dead_letters: sample.dead_letters,
            disconnected: sample.disconnected,
            at_least: sample.at_least,
        }
    }

    /// Takes what a sample tells of one instance. `None`: the sample leaves instances out, and this may be one of them.
    fn of_instance(sample: &MinuteSample, id: &InstanceId) -> Option<Self> {
        match sample.find_instance(id) {
            Some(one) => Some(Self {
                depth: one.depth,
                parked: one.parked,
                dead_letters: one.dead_letters,
                disconnected: u64::from(sample.is_connected(id) == Some(false)),
                at_least: sample.at_least,
            }),
            None => (sample.left_out == 0).then(|| Self::idle(sample.at_least)),
        }
    }
}

#[cfg(test)]
mod tests;
