use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The time at which an invitation is to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendTime {
    /// At an instant.
    At(Timestamp),
    /// At this date and time of the guest's own clock.
    OnClock(DateTime),
}

/// The error for a text that is no such time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`send_at` is no time: give one with its offset such as 2027-03-05T09:00:00-03:00, or without one for the guest's own clock"
)]
pub struct SendTimeError;

impl SendTime {
    /// Reads a time with its offset, or one without, which is of the guest's clock.
    pub fn parse(text: &str) -> Result<Self, SendTimeError> {
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::At(at));
        }
        let is_local = text.contains('T') && !text.contains(['Z', 'z', '+', '[']);
        let local = text.parse::<DateTime>().ok().filter(|_| is_local);
        local.map(Self::OnClock).ok_or(SendTimeError)
    }

    /// Returns the instant, if the guest's clock is one of `zone`.
    pub fn resolve(self, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::At(at) => Some(at),
            Self::OnClock(time) => Some(time.to_zoned(zone.clone()).ok()?.timestamp()),
        }
    }

    /// Returns the time as a text that distinguishes it from every other.
    pub fn to_text(self) -> String {
        match self {
            Self::At(at) => at.as_millisecond().to_string(),
            Self::OnClock(time) => time.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_with_an_offset_is_an_instant_and_one_without_is_of_the_guests_clock() {
        let lima = TimeZone::get("America/Lima").unwrap();
        let told = |text: &str| {
            SendTime::parse(text)
                .ok()
                .and_then(|time| time.resolve(&lima))
                .map(|at| at.to_string())
        };
        for (text, at) in [
            ("2027-03-05T09:00:00-03:00", Some("2027-03-05T12:00:00Z")),
            ("2027-03-05T09:00:00Z", Some("2027-03-05T09:00:00Z")),
            ("2027-03-05T09:00", Some("2027-03-05T14:00:00Z")),
            ("2027-03-05T09:00:00", Some("2027-03-05T14:00:00Z")),
            ("2027-03-05", None),
            ("tomorrow", None),
            ("2027-03-05T09:00:00-03:00junk", None),
            ("", None),
        ] {
            assert_eq!(told(text).as_deref(), at, "{text}");
        }
    }
}
