//! The versions of an instance's webhook secret: which of them count, and how one follows another.

use super::Instance;
use crate::millis::add_duration;
use crate::secret::{NoSecretVersion, SecretVersion};
use jiff::{SignedDuration, Timestamp};

impl Instance {
    /// Time for which the secret before is accepted beside a new one, unless a request says otherwise.
    pub const SECRET_OVERLAP: SignedDuration = SignedDuration::from_hours(24);

    /// Returns `true` if the webhook secret of `version` proves webhooks of the instance at `now`.
    pub fn accepts_secret(&self, version: SecretVersion, now: Timestamp) -> bool {
        let is_previous = version.next_version() == Ok(self.secret_version);
        version == self.secret_version
            || (is_previous && self.previous_secret_until.is_some_and(|until| now < until))
    }

    /// Gives the instance a new webhook secret. The secret before is accepted for `overlap` more, those before it no
    /// longer.
    pub fn rotate_secret(&mut self, overlap: SignedDuration, now: Timestamp) -> Result<(), NoSecretVersion> {
        self.secret_version = self.secret_version.next_version()?;
        self.previous_secret_until = overlap.is_positive().then(|| add_duration(now, overlap));
        Ok(())
    }

    /// Takes over the secret's version of `known`, the instance as it is stored, unless this one is newer. A version
    /// never goes back, since its secret would be accepted again.
    pub fn keep_newest_secret(&mut self, known: Option<&Instance>, now: Timestamp) {
        self.previous_secret_until = None;
        let Some(known) = known else {
            return;
        };
        if self.secret_version <= known.secret_version {
            self.secret_version = known.secret_version;
            self.previous_secret_until = known.previous_secret_until;
        } else {
            self.previous_secret_until = Some(add_duration(now, Self::SECRET_OVERLAP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    fn instance() -> Instance {
        let written = r#"{"id": "i", "tenant": "t", "agent": "a", "provider": "evolution"}"#;
        serde_json::from_str(written).unwrap()
    }

    fn version(number: u8) -> SecretVersion {
        SecretVersion::try_from(number).unwrap()
    }

    #[test]
    fn the_secret_before_is_accepted_during_the_overlap_and_no_other_ever() {
        let now = from_unix_millis(1_000_000);
        let later = |seconds| add_duration(now, SignedDuration::from_secs(seconds));
        let mut instance = instance();
        assert!(instance.accepts_secret(version(1), now) && !instance.accepts_secret(version(2), now));
        instance
            .rotate_secret(SignedDuration::from_secs(60), now)
            .unwrap();
        for (seconds, accepted) in [
            (0, [true, true, false]),
            (59, [true, true, false]),
            (60, [false, true, false]),
        ] {
            let found = [1, 2, 3].map(|number| instance.accepts_secret(version(number), later(seconds)));
            assert_eq!(found, accepted, "after {seconds} s");
        }
        instance
            .rotate_secret(SignedDuration::from_secs(60), later(1))
            .unwrap();
        let found = [1, 2, 3].map(|number| instance.accepts_secret(version(number), later(2)));
        assert_eq!(found, [false, true, true], "two rotations within one overlap");
        instance.rotate_secret(SignedDuration::ZERO, now).unwrap();
        let found = [3, 4].map(|number| instance.accepts_secret(version(number), now));
        assert_eq!(found, [false, true], "no overlap");
        instance.secret_version = version(9);
        let last = instance.clone();
        assert!(instance.rotate_secret(SignedDuration::ZERO, now).is_err());
        assert_eq!(instance, last);
    }

    #[test]
    fn a_document_never_takes_a_version_back_and_sets_no_overlap_by_itself() {
        let now = from_unix_millis(1_000_000);
        let until = add_duration(now, SignedDuration::from_secs(60));
        let mut known = instance();
        known.rotate_secret(SignedDuration::from_secs(60), now).unwrap();
        let mut written = instance();
        written.previous_secret_until = Some(from_unix_millis(9_000_000_000_000));
        let mut older = written.clone();
        older.keep_newest_secret(Some(&known), now);
        assert_eq!(older, known);
        let mut new = written.clone();
        new.keep_newest_secret(None, now);
        assert_eq!(new.previous_secret_until, None);
        let mut raised = written;
        raised.secret_version = version(3);
        raised.keep_newest_secret(Some(&known), now);
        let overlap = add_duration(now, Instance::SECRET_OVERLAP);
        assert_eq!(
            (raised.secret_version, raised.previous_secret_until),
            (version(3), Some(overlap))
        );
        assert_eq!(known.previous_secret_until, Some(until));
    }
}
