//! The versions and the salt of an instance's webhook secret: which of them count, and how one follows another. Also what else is kept
//! with an instance of which a document says nothing.

use super::Instance;
use crate::ids::Nonce;
use crate::millis::add_duration;
use crate::secret::{NoSecretVersion, SecretParts, SecretVersion};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The salt of an instance's webhook secrets. Another entry under the same name has another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SecretSalt {
    /// The salt: 32 random hexadecimal digits.
    pub value: Nonce,
    /// The first version that is made with the salt. Those before it were made with none.
    #[cfg_attr(feature = "schema", schema(default = 1))]
    #[serde(default, skip_serializing_if = "SecretVersion::is_first")]
    pub since: SecretVersion,
}

impl Instance {
    /// Time for which the secret before is accepted beside a new one, unless a request says otherwise.
    pub const SECRET_OVERLAP: SignedDuration = SignedDuration::from_hours(24);

    /// Returns what the instance's present webhook secret is made of.
    pub fn secret_parts(&self) -> SecretParts {
        self.parts_of_version(self.secret_version)
    }

    /// Returns `true` if the webhook secret that is made of `shown` proves webhooks of the instance at `now`.
    pub fn accepts_secret(&self, shown: &SecretParts, now: Timestamp) -> bool {
        let is_previous = shown.version.next_version() == Ok(self.secret_version);
        let counts = shown.version == self.secret_version
            || (is_previous && self.previous_secret_until.is_some_and(|until| now < until));
        counts && *shown == self.parts_of_version(shown.version)
    }

    fn parts_of_version(&self, version: SecretVersion) -> SecretParts {
        let salt = self.secret_salt.as_ref().filter(|salt| salt.since <= version);
        SecretParts {
            version,
            salt: salt.map(|salt| salt.value.clone()),
        }
    }

    /// Gives the instance a new webhook secret. The secret before is accepted for `overlap` more, those before it no
    /// longer. An instance without a salt gets `fresh`, which must be random.
    pub fn rotate_secret(
        &mut self,
        fresh: Nonce,
        overlap: SignedDuration,
        now: Timestamp,
    ) -> Result<(), NoSecretVersion> {
        self.secret_version = self.secret_version.next_version()?;
        self.previous_secret_until = overlap.is_positive().then(|| add_duration(now, overlap));
        let since = self.secret_version;
        let value = fresh;
        self.secret_salt.get_or_insert(SecretSalt { value, since });
        Ok(())
    }

    /// Takes over what makes the webhook secrets of `known`, the instance as it is stored. What the document says of it has no
    /// effect. An instance that is new or has another tenant begins anew, with the salt `fresh`, which must be random: who had
    /// its name before knows none of its secrets.
    pub fn keep_secret(&mut self, known: Option<&Instance>, fresh: Nonce) {
        if let Some(known) = known.filter(|known| known.tenant == self.tenant) {
            self.secret_version = known.secret_version;
            self.previous_secret_until = known.previous_secret_until;
            self.secret_salt.clone_from(&known.secret_salt);
            return;
        }
        self.secret_version = SecretVersion::FIRST;
        self.previous_secret_until = None;
        let (value, since) = (fresh, SecretVersion::FIRST);
        self.secret_salt = Some(SecretSalt { value, since });
    }

    /// Keeps since when the instance has its tenant: from `now` on, if `known` has another. What the document says of it has no
    /// effect.
    pub fn keep_tenant_since(&mut self, known: Option<&Instance>, now: Timestamp) {
        let moved = known.filter(|known| known.tenant != self.tenant).map(|_| now);
        self.tenant_since = moved.or_else(|| known.and_then(|known| known.tenant_since));
    }

    /// Returns `true` if another tenant had the instance at `at`. A change that lies ahead of `now` is of a clock that was set back: it
    /// tells nothing.
    pub fn had_other_tenant(&self, at: Timestamp, now: Timestamp) -> bool {
        self.tenant_since.is_some_and(|since| since <= now && at < since)
    }

    /// Keeps who named the base URL. An unchanged one has the namer that it had; a new one is named by the present caller,
    /// with a token of its tenant or of the installation. What the document says of it has no effect.
    pub fn keep_namer(&mut self, known: Option<&Instance>, by_tenant: bool) {
        let unchanged =
            known.filter(|known| known.provider == self.provider && known.base_url == self.base_url);
        self.named_by_tenant =
            self.base_url.is_some() && unchanged.map_or(by_tenant, |known| known.named_by_tenant);
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

    fn nonce(text: &str) -> Nonce {
        Nonce::parse(text).unwrap()
    }

    fn parts(number: u8, salt: Option<&str>) -> SecretParts {
        SecretParts {
            version: version(number),
            salt: salt.map(nonce),
        }
    }

    /// An entry that was created with the salt `s`.
    fn created() -> Instance {
        let mut new = instance();
        new.keep_secret(None, nonce("s"));
        new
    }

    #[test]
    fn the_secret_before_is_accepted_during_the_overlap_and_no_other_ever() {
        let now = from_unix_millis(1_000_000);
        let later = |seconds| add_duration(now, SignedDuration::from_secs(seconds));
        let accepted = |instance: &Instance, at| {
            [1, 2, 3, 4].map(|number| instance.accepts_secret(&parts(number, Some("s")), at))
        };
        let mut instance = created();
        assert_eq!(accepted(&instance, now), [true, false, false, false]);
        let overlap = SignedDuration::from_secs(60);
        instance.rotate_secret(nonce("other"), overlap, now).unwrap();
        for (seconds, expected) in [
            (0, [true, true, false, false]),
            (59, [true, true, false, false]),
            (60, [false, true, false, false]),
        ] {
            assert_eq!(accepted(&instance, later(seconds)), expected, "after {seconds} s");
        }
        instance.rotate_secret(nonce("other"), overlap, later(1)).unwrap();
        let expected = [false, true, true, false];
        assert_eq!(
            accepted(&instance, later(2)),
            expected,
            "two rotations within one overlap"
        );
        instance
            .rotate_secret(nonce("other"), SignedDuration::ZERO, now)
            .unwrap();
        assert_eq!(
            accepted(&instance, now),
            [false, false, false, true],
            "no overlap"
        );
        instance.secret_version = version(9);
        let last = instance.clone();
        assert!(
            instance
                .rotate_secret(nonce("other"), SignedDuration::ZERO, now)
                .is_err()
        );
        assert_eq!(instance, last);
    }

    #[test]
    fn of_a_name_that_others_had_no_secret_of_theirs_counts() {
        let now = from_unix_millis(1_000_000);
        let mut entry = created();
        for rotated in 1..=3 {
            for number in 1..=9 {
                for salt in [None, Some("theirs")] {
                    assert!(
                        !entry.accepts_secret(&parts(number, salt), now),
                        "{number} {salt:?} {rotated}"
                    );
                }
            }
            entry
                .rotate_secret(nonce("theirs"), Instance::SECRET_OVERLAP, now)
                .unwrap();
        }
    }

    #[test]
    fn an_entry_without_a_salt_gets_one_at_its_rotation() {
        let now = from_unix_millis(1_000_000);
        let mut entry = instance();
        entry
            .rotate_secret(nonce("x"), SignedDuration::from_secs(60), now)
            .unwrap();
        entry
            .rotate_secret(nonce("y"), SignedDuration::ZERO, now)
            .unwrap();
        assert_eq!(entry.secret_parts(), parts(3, Some("x")));
        let mut entry = instance();
        assert!(entry.accepts_secret(&parts(1, None), now));
        entry
            .rotate_secret(nonce("s"), SignedDuration::from_secs(60), now)
            .unwrap();
        for (shown, expected) in [
            (parts(1, None), true),
            (parts(1, Some("s")), false),
            (parts(2, None), false),
            (parts(2, Some("s")), true),
        ] {
            assert_eq!(entry.accepts_secret(&shown, now), expected, "{shown:?}");
        }
    }

    #[test]
    fn a_document_changes_neither_version_nor_salt_nor_overlap() {
        let now = from_unix_millis(1_000_000);
        let mut known = created();
        known
            .rotate_secret(nonce("other"), SignedDuration::from_secs(60), now)
            .unwrap();
        for number in [1, 2, 9] {
            let mut written = instance();
            written.secret_version = version(number);
            written.previous_secret_until = Some(from_unix_millis(9_000_000_000_000));
            written.secret_salt = Some(SecretSalt {
                value: nonce("chosen"),
                since: version(1),
            });
            let mut again = written.clone();
            again.keep_secret(Some(&known), nonce("fresh"));
            assert_eq!(again, known);
            let mut new = written.clone();
            new.keep_secret(None, nonce("s"));
            assert_eq!(new, created());
            let mut moved = known.clone();
            moved.tenant = crate::ids::TenantId::parse("other").unwrap();
            written.keep_secret(Some(&moved), nonce("s"));
            assert_eq!(written, created(), "the entry of another tenant");
        }
    }

    #[test]
    fn what_arrived_before_an_instance_got_its_tenant_is_anothers() {
        let at = from_unix_millis;
        let mut given = instance();
        given.tenant = crate::ids::TenantId::parse("other").unwrap();
        given.tenant_since = Some(at(1_000));
        given.keep_tenant_since(None, at(50));
        assert_eq!(given.tenant_since, None, "it is new");
        given.keep_tenant_since(Some(&instance()), at(50));
        let known = given.clone();
        given.keep_tenant_since(Some(&known), at(90));
        let found =
            [(49, 60), (50, 60), (10, 49)].map(|(arrived, now)| given.had_other_tenant(at(arrived), at(now)));
        assert_eq!(found, [true, false, false]);
    }

    #[test]
    fn a_base_url_keeps_who_named_it_until_it_is_another() {
        let named = |url: Option<&str>, by_tenant| Instance {
            base_url: url.map(str::to_owned),
            named_by_tenant: by_tenant,
            ..instance()
        };
        let (one, two) = (Some("https://one.example"), Some("https://two.example"));
        for (known, url, by_tenant, expected) in [
            (None, one, true, true),
            (None, one, false, false),
            (Some(named(one, true)), one, false, true),
            (Some(named(one, false)), one, true, false),
            (Some(named(one, false)), two, true, true),
            (Some(named(one, true)), two, false, false),
            (Some(named(one, true)), None, true, false),
        ] {
            for said in [true, false] {
                let mut written = named(url, said);
                written.keep_namer(known.as_ref(), by_tenant);
                assert_eq!(written.named_by_tenant, expected, "{known:?} {url:?} {by_tenant}");
            }
        }
    }
}
