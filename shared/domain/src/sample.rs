//! Samples: a small record per minute of how much waits, how much was given up, and which instances cannot send.

use crate::connection_check::ConnectionCheck;
use crate::ids::{InstanceId, TenantId};
use crate::instance::ConnectionStatus;
use crate::millis;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time for which a sample is kept: 48 hours.
pub const SAMPLE_RETENTION: SignedDuration = SignedDuration::from_hours(48);

/// Maximum number of instances that one sample lists: the worst ones.
pub const LISTED_MAX: usize = 20;

/// The state of an installation or of one tenant in one minute. An instance that is open and has nothing that waits or
/// was given up is not listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinuteSample {
    /// Start of the minute.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// The tenant; `None`: the whole installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Number of open outgoing messages and pending events.
    pub depth: u64,
    /// Number of parked conversations.
    pub parked: u64,
    /// Number of dead letters.
    pub dead_letters: u64,
    /// Number of configured instances that are not open.
    pub disconnected: u64,
    /// Number of configured instances.
    pub configured: u64,
    /// `true` if more was open than was read: `depth` and `parked` are lower bounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The instances of which something is to be told, the worst first, at most [`LISTED_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<InstanceSample>,
    /// Number of instances of which something was to be told and that are not listed.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub left_out: u64,
    /// In the installation's sample: the number of tenants of which something was to be told and that have no sample of
    /// this minute.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub tenants_left_out: u64,
    /// In the installation's sample: the checks of connections since the last round began, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<ConnectionCheck>,
}

/// The state of one instance in one minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceSample {
    /// The instance.
    pub id: InstanceId,
    /// State of its connection.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub connection: ConnectionStatus,
    /// Number of its open outgoing messages and pending events.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub depth: u64,
    /// Number of its parked conversations.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub parked: u64,
    /// Number of its dead letters.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub dead_letters: u64,
    /// Number of send slots that it has taken so far; `None` if it was not read. The difference between two samples
    /// tells its rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u64>,
}

/// Returns the start of the minute in which `at` lies.
pub fn start_of_minute(at: Timestamp) -> Timestamp {
    let past = SignedDuration::from_millis(at.as_millisecond().rem_euclid(60_000));
    millis::add_duration(at, -past)
}

impl InstanceSample {
    /// Returns `true` if the instance is open and nothing of it waits or was given up.
    pub fn is_idle(&self) -> bool {
        self.connection == ConnectionStatus::Open
            && self.depth == 0
            && self.parked == 0
            && self.dead_letters == 0
    }

    /// Returns the rank among instances: the greater, the worse. An instance that cannot send is the worst.
    fn rank(&self) -> (bool, u64, u64, u64) {
        let closed = self.connection != ConnectionStatus::Open;
        (closed, self.depth, self.parked, self.dead_letters)
    }
}

impl MinuteSample {
    /// Sums up the states of all instances of a tenant, or of the installation. `at` may be any time of the minute.
    pub fn from_instances(
        at: Timestamp,
        tenant: Option<TenantId>,
        all: impl IntoIterator<Item = InstanceSample>,
    ) -> Self {
        let mut sample = Self {
            at: start_of_minute(at),
            tenant,
            ..Self::default()
        };
        let mut told = Vec::new();
        for one in all {
            sample.depth += one.depth;
            sample.parked += one.parked;
            sample.dead_letters += one.dead_letters;
            sample.disconnected += u64::from(one.connection != ConnectionStatus::Open);
            sample.configured += 1;
            if !one.is_idle() {
                told.push(one);
            }
        }
        told.sort_by(|a, b| b.rank().cmp(&a.rank()).then_with(|| a.id.cmp(&b.id)));
        sample.left_out = told.len().saturating_sub(LISTED_MAX) as u64;
        told.truncate(LISTED_MAX);
        sample.instances = told;
        sample
    }

    /// Returns `true` if nothing is to be told: every instance is open, and nothing waits or was given up.
    pub fn is_idle(&self) -> bool {
        self.instances.is_empty() && self.depth == 0 && self.parked == 0 && self.dead_letters == 0
    }

    /// Returns the state of an instance in this minute; `None` if it is not listed.
    pub fn find_instance(&self, id: &InstanceId) -> Option<&InstanceSample> {
        self.instances.iter().find(|one| one.id == *id)
    }

    /// Returns `true` if an instance was open in this minute, `false` if it was not. `None`: the sample does not tell.
    pub fn is_connected(&self, id: &InstanceId) -> Option<bool> {
        let open = |one: &InstanceSample| one.connection == ConnectionStatus::Open;
        // Those that cannot send are listed first: if the last one listed is open, so are all that are left out.
        let unlisted = || (self.left_out == 0 || self.instances.last().is_some_and(open)).then_some(true);
        self.find_instance(id).map(open).or_else(unlisted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    fn instance(number: usize) -> InstanceSample {
        InstanceSample {
            id: InstanceId::parse(&format!("i-{number:03}")).unwrap(),
            connection: ConnectionStatus::Open,
            depth: 0,
            parked: 0,
            dead_letters: 0,
            slots: None,
        }
    }

    #[test]
    fn idle_instances_are_counted_and_not_listed_and_the_worst_come_first() {
        let all = vec![
            instance(1),
            InstanceSample {
                depth: 7,
                ..instance(2)
            },
            InstanceSample {
                dead_letters: 900,
                ..instance(3)
            },
            InstanceSample {
                connection: ConnectionStatus::Closed,
                ..instance(4)
            },
            InstanceSample {
                depth: 9,
                parked: 1,
                ..instance(5)
            },
        ];
        let sample = MinuteSample::from_instances(from_unix_millis(125_999), None, all);
        assert_eq!(sample.at, from_unix_millis(120_000));
        assert_eq!((sample.depth, sample.parked, sample.dead_letters), (16, 1, 900));
        assert_eq!(
            (sample.disconnected, sample.configured, sample.left_out),
            (1, 5, 0)
        );
        let order: Vec<&str> = sample.instances.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(order, ["i-004", "i-005", "i-002", "i-003"]);
        assert!(!sample.is_idle());
        assert!(MinuteSample::from_instances(sample.at, None, vec![instance(1)]).is_idle());
    }

    #[test]
    fn a_sample_lists_only_the_worst_and_tells_how_many_it_leaves_out() {
        let all = (0..50).map(|number| InstanceSample {
            depth: number as u64 + 1,
            ..instance(number)
        });
        let sample = MinuteSample::from_instances(from_unix_millis(0), None, all);
        assert_eq!((sample.instances.len(), sample.left_out), (LISTED_MAX, 30));
        assert_eq!(sample.instances[0].depth, 50);
        assert_eq!(sample.depth, 1275);
        // So many of them fit into a write unit and a half.
        assert!(serde_json::to_string(&sample).unwrap().len() < 1500);
    }
}
