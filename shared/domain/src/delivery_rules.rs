//! The rules of a tenant for unsolicited messages: quiet hours, and how often one recipient is written to.

mod frequency_cap;
mod quiet_hours;

#[cfg(test)]
mod tests;

pub use frequency_cap::FrequencyCap;
pub use quiet_hours::QuietHours;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The rules of a tenant for deliveries: unsolicited messages. They do not concern answers to a contact's own messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeliveryRules {
    /// Hours in which nothing is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    /// Greatest number of deliveries to one recipient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_cap: Option<FrequencyCap>,
}

/// The reasons why rules are not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryRulesError {
    /// The quiet hours begin when they end.
    #[error("deliveries.quiet_hours must have a begin and an end that differ")]
    QuietHours,
    /// The cap is out of range.
    #[error("deliveries.frequency_cap must have 1 to 100 messages in 1 to 720 hours")]
    FrequencyCap,
}

/// When a delivery may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryTime {
    /// Now.
    Now,
    /// Not before this time.
    NotBefore(Timestamp),
}

impl DeliveryRules {
    /// Returns `true` if there are no rules.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the rules by themselves.
    pub fn check_delivery_rules(&self) -> Result<(), DeliveryRulesError> {
        if self.quiet_hours.is_some_and(|hours| !hours.is_in_valid_range()) {
            return Err(DeliveryRulesError::QuietHours);
        }
        if self.frequency_cap.is_some_and(|cap| !cap.is_in_valid_range()) {
            return Err(DeliveryRulesError::FrequencyCap);
        }
        Ok(())
    }

    /// Tells when a delivery may leave. `earlier` are the times at which the recipient got deliveries before, in any order; `zone` is
    /// the recipient's time zone, or the tenant's.
    pub fn find_delivery_time(&self, earlier: &[Timestamp], now: Timestamp, zone: &TimeZone) -> DeliveryTime {
        let after_cap = self
            .frequency_cap
            .map_or(now, |cap| cap.find_next_time(earlier, now));
        // A later time is within the cap, too: of the earlier deliveries, fewer count then.
        let at = self
            .quiet_hours
            .map_or(after_cap, |hours| hours.find_end_of_quiet(after_cap, zone));
        if at > now {
            DeliveryTime::NotBefore(at)
        } else {
            DeliveryTime::Now
        }
    }
}
