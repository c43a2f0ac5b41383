//! The delivery of a message after the provider accepted it. Statuses repeat, skip steps and come out of order, even
//! before the provider's answer to Recado's own request is stored. Therefore statuses are ranked, and a status that was
//! recorded is never removed.

mod acknowledgement;
mod charge;
mod detail;

use crate::ids::{ExternalId, MessageId, hash_parts};
use crate::millis;
use crate::provider::Provider;
pub use acknowledgement::{AwaitedAcknowledgement, UNACKNOWLEDGED_TOLD_FOR, UnacknowledgedMessage};
pub use charge::MessageCharge;
pub use detail::{ChargedConversation, Pricing, StatusDetail, StatusError};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The delivery status of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DeliveryStatus {
    /// The provider has accepted the message.
    Sent,
    /// The message is on the contact's phone.
    Delivered,
    /// The contact has seen the message.
    Read,
    /// The contact has listened to the voice note.
    #[strum(serialize = "read")]
    Played,
    /// The provider refused the message after accepting it.
    Failed,
}

impl DeliveryStatus {
    /// Returns the rank of the status; of several statuses, the highest counts. `Failed` ranks below `Delivered`: a
    /// message that reached one device and failed on another reached the person.
    pub fn status_rank(self) -> u8 {
        match self {
            Self::Sent => 1,
            Self::Failed => 2,
            Self::Delivered => 3,
            Self::Read => 4,
            Self::Played => 5,
        }
    }

    /// Returns `true` if of several times for the status the latest counts, and `false` if the earliest counts. The
    /// latest counts for `Sent` and `Failed`: the provider accepts or refuses a message once in each attempt, and the
    /// newest attempt matters.
    pub fn keeps_latest_time(self) -> bool {
        matches!(self, Self::Sent | Self::Failed)
    }

    /// Returns the word for the status in the API: `played` is shown as `read`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The key of a delivery record. It is made of Recado's own message id where the provider echoes that id, else of the
/// provider's message id. In either case the provider and its name of the instance are part of the key, so that a
/// webhook can name only deliveries of the instance that it was proven for. The key is 32 hexadecimal digits of a hash,
/// because a `wamid` contains a phone number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeliveryKey(String);

impl DeliveryKey {
    /// Makes the key of a message of `instance` from Recado's own message id.
    pub fn from_own_id(provider: Provider, instance: &ExternalId, message: &MessageId) -> Self {
        Self::from_parts("own", provider, instance, message.as_str())
    }

    /// Makes the key of a message of `instance` from the provider's message id.
    pub fn from_provider_id(provider: Provider, instance: &ExternalId, provider_message_id: &str) -> Self {
        Self::from_parts("provider", provider, instance, provider_message_id)
    }

    fn from_parts(whose: &str, provider: Provider, instance: &ExternalId, id: &str) -> Self {
        let parts = ["delivery", whose, provider.as_str(), instance.as_str(), id];
        Self(hash_parts(&parts, 16))
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A delivery status from a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusUpdate {
    /// The key of the delivery.
    pub key: DeliveryKey,
    /// The reported status.
    pub status: DeliveryStatus,
    /// Time that the provider gives for the status; if it gives none, the time at which the webhook arrived.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// The provider's message id, kept if the key is made of Recado's own id. The id is evidence for a send whose
    /// answer was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_message_id: Option<String>,
    /// The price and the errors that came with the status, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<StatusDetail>>,
}

/// The time at which each status was reached. Of several times the earliest is kept, for `sent` and `failed` the
/// latest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryTimes {
    /// Time at which the provider accepted the message.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub at_sent: Option<Timestamp>,
    /// Time at which the message reached the phone.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub at_delivered: Option<Timestamp>,
    /// Time at which the contact saw the message.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub at_read: Option<Timestamp>,
    /// Time at which the contact listened to the voice note.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub at_played: Option<Timestamp>,
    /// Time at which the provider refused the message.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub at_failed: Option<Timestamp>,
}

impl DeliveryTimes {
    fn status_time_mut(&mut self, status: DeliveryStatus) -> &mut Option<Timestamp> {
        match status {
            DeliveryStatus::Sent => &mut self.at_sent,
            DeliveryStatus::Delivered => &mut self.at_delivered,
            DeliveryStatus::Read => &mut self.at_read,
            DeliveryStatus::Played => &mut self.at_played,
            DeliveryStatus::Failed => &mut self.at_failed,
        }
    }

    /// Returns the statuses that were reached, from the lowest rank to the highest.
    pub fn reached_statuses(&self) -> Vec<(DeliveryStatus, Timestamp)> {
        let all = [
            (DeliveryStatus::Sent, self.at_sent),
            (DeliveryStatus::Failed, self.at_failed),
            (DeliveryStatus::Delivered, self.at_delivered),
            (DeliveryStatus::Read, self.at_read),
            (DeliveryStatus::Played, self.at_played),
        ];
        all.into_iter()
            .filter_map(|(status, at)| Some((status, at?)))
            .collect()
    }
}

/// Greatest lag of the provider's clock, which counts whole seconds, behind Recado's clock.
const SKEW: SignedDuration = SignedDuration::from_secs(2);

/// Returns `true` if a status of time `at` may concern the attempt that was claimed at `claimed_at`. `false`: the
/// status can only concern an earlier attempt.
pub fn may_concern_attempt(at: Timestamp, claimed_at: Timestamp) -> bool {
    at >= millis::add_duration(claimed_at, -SKEW)
}

/// The delivery record of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The highest-ranking status so far. `None`: only the link to Recado's message is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DeliveryStatus>,
    /// Time at which `status` was reached.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Time at which each status was reached.
    #[serde(flatten)]
    pub times: DeliveryTimes,
    /// Recado's message, known after the provider's answer was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The provider's message id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_message_id: Option<String>,
    /// The price and the errors that came with the statuses.
    #[serde(flatten)]
    pub detail: StatusDetail,
    /// `true` if the provider's charge for the message is part of the sums of use.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub charged: bool,
    /// The key of the record that holds what is known. `Some`: this record only leads there, from the key of the provider's
    /// id to that of Recado's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<DeliveryKey>,
    /// `true` if the message was erased: then nothing else is known. A store keeps it in its own way.
    #[serde(skip)]
    pub erased: bool,
}

impl Delivery {
    /// Makes the record of an erased message.
    pub fn of_erased_message() -> Self {
        Self {
            erased: true,
            ..Self::default()
        }
    }

    /// Returns `true` if Recado sent the message, also if it was erased after that.
    pub fn is_of_sent_message(&self) -> bool {
        self.erased || self.message.is_some()
    }

    /// Makes the record under the key of the provider's id that leads to the one under `key`.
    pub fn leading_to(key: &DeliveryKey) -> Self {
        Self {
            same_as: Some(key.clone()),
            ..Self::default()
        }
    }

    /// Stores what the statuses of another record of the same message report.
    pub fn merge_record(&mut self, other: &Self) {
        for (status, at) in other.times.reached_statuses() {
            self.record_status(status, at);
        }
        self.detail.merge_later_detail(&other.detail);
        self.charged |= other.charged;
    }

    /// Stores everything that a status reports. Returns `false` if the status says nothing new; nothing of it is stored
    /// then.
    pub fn apply_update(&mut self, update: &StatusUpdate) -> bool {
        if !self.record_status(update.status, update.at) {
            return false;
        }
        if update.provider_message_id.is_some() {
            self.provider_message_id.clone_from(&update.provider_message_id);
        }
        if let Some(detail) = &update.detail {
            self.detail.merge_later_detail(detail);
        }
        true
    }

    /// Stores a status and its time; statuses may come in any order. Returns `false` if the status says nothing new.
    pub fn record_status(&mut self, status: DeliveryStatus, at: Timestamp) -> bool {
        let time = self.times.status_time_mut(status);
        let newer = status.keeps_latest_time();
        if time.is_some_and(|known| if newer { known >= at } else { known <= at }) {
            return false;
        }
        *time = Some(at);
        self.recompute_status();
        true
    }

    /// Sets `status` and `at` to the highest-ranking status whose time is known. A failure that is older than the
    /// newest `sent` does not count: the message was sent again after the failure.
    pub fn recompute_status(&mut self) {
        let (sent, failed) = (self.times.at_sent, self.times.at_failed);
        let repeated = failed.is_some() && sent > failed;
        let counts =
            |(status, _): &(DeliveryStatus, Timestamp)| !(repeated && *status == DeliveryStatus::Failed);
        if let Some((status, at)) = self.times.reached_statuses().into_iter().rfind(counts) {
            (self.status, self.at) = (Some(status), Some(at));
        }
    }

    /// Returns the status since the attempt that was claimed at `claimed_at`. With `None`, the status of the message is
    /// returned, whichever attempt it concerns: so for a first attempt, which needs no comparison of clocks. A failure before the claim belongs to an earlier attempt and is not
    /// returned. Any other status means that the contact has the message, whichever attempt brought it.
    pub fn status_since_claim(&self, claimed_at: Option<Timestamp>) -> Option<DeliveryStatus> {
        let status = self.status?;
        let earlier =
            claimed_at.is_some_and(|claim| self.at.is_some_and(|at| !may_concern_attempt(at, claim)));
        (status != DeliveryStatus::Failed || !earlier).then_some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::Delivery;
    use super::DeliveryStatus::{Delivered, Failed, Played, Read, Sent};
    use crate::millis::from_unix_millis;

    fn told(statuses: &[(super::DeliveryStatus, i64)]) -> Option<super::DeliveryStatus> {
        let mut delivery = Delivery::default();
        for (status, at) in statuses {
            delivery.record_status(*status, from_unix_millis(*at));
        }
        delivery.status
    }

    #[test]
    fn a_failure_yields_to_what_comes_later_and_nothing_else_does() {
        assert_eq!(told(&[(Failed, 10), (Sent, 20)]), Some(Sent));
        assert_eq!(told(&[(Sent, 20), (Failed, 10)]), Some(Sent), "in whatever order");
        assert_eq!(
            told(&[(Sent, 5), (Failed, 10), (Sent, 20), (Failed, 30)]),
            Some(Failed)
        );
        assert_eq!(told(&[(Failed, 20), (Sent, 10)]), Some(Failed), "it came late");
        assert_eq!(
            told(&[(Failed, 10), (Sent, 10)]),
            Some(Failed),
            "of the same attempt"
        );
        assert_eq!(told(&[(Failed, 20), (Read, 10)]), Some(Read));
        assert_eq!(told(&[(Read, 10), (Sent, 20)]), Some(Read));
        assert_eq!(told(&[(Delivered, 10), (Failed, 20)]), Some(Delivered));
    }

    #[test]
    fn an_earlier_attempts_failure_tells_nothing_of_this_one() {
        let delivery = |status| Delivery {
            status: Some(status),
            at: Some(from_unix_millis(10_000)),
            ..Delivery::default()
        };
        assert_eq!(
            delivery(Failed).status_since_claim(Some(from_unix_millis(12_001))),
            None
        );
        assert_eq!(
            delivery(Failed).status_since_claim(Some(from_unix_millis(12_000))),
            Some(Failed)
        );
        assert_eq!(delivery(Failed).status_since_claim(None), Some(Failed));
        assert_eq!(
            delivery(Sent).status_since_claim(Some(from_unix_millis(99_000))),
            Some(Sent)
        );
    }

    #[test]
    fn ranks_rise_from_sent_to_played_and_failed_only_beats_sent() {
        assert!(Sent.status_rank() < Failed.status_rank());
        assert!(Failed.status_rank() < Delivered.status_rank());
        assert!(Delivered.status_rank() < Read.status_rank() && Read.status_rank() < Played.status_rank());
        assert_eq!(Played.as_str(), "read");
    }

    #[test]
    fn the_best_status_is_the_records_and_each_keeps_its_earliest_time() {
        let mut delivery = super::Delivery::default();
        let at = crate::millis::from_unix_millis;
        assert!(delivery.record_status(Read, at(9)));
        assert!(delivery.record_status(Delivered, at(5)) && delivery.record_status(Delivered, at(4)));
        assert!(!delivery.record_status(Delivered, at(6)), "it was reached before");
        assert_eq!((delivery.status, delivery.at), (Some(Read), Some(at(9))));
        assert_eq!(
            delivery.times.reached_statuses(),
            [(Delivered, at(4)), (Read, at(9))]
        );
        assert!(delivery.record_status(Failed, at(10)));
        assert_eq!(delivery.status, Some(Read), "it reached the person");
    }
}
