//! The installation's identity key, which makes ids from addresses. The ids do not reveal the phone number.

use crate::access::TokenHash;
use crate::contact::canonical_spelling;
use crate::hexadecimal::encode_hex;
use crate::ids::{ExternalId, IdempotencyKey, InstanceId, MessageId, TenantId, ThreadId};
use crate::invitations::PhoneKey;
use crate::provider::Provider;
use crate::secret::hmac_sha256;
use std::fmt;
use subtle::ConstantTimeEq;

/// A key of 32 secret bytes, made once for an installation and kept with its records. Without the key, an id that was
/// derived with it reveals nothing of the address. The key is never replaced, because every contact would get another
/// thread.
#[derive(Clone)]
pub struct IdentityKey([u8; 32]);

impl IdentityKey {
    /// Makes a key from its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Makes a key from four random numbers.
    pub fn from_random(numbers: [u64; 4]) -> Self {
        let mut bytes = [0; 32];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        Self(bytes)
    }

    /// Reads a key from the text that [`Self::to_hex`] writes. `None`: the text is not 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Returns the key as 64 hexadecimal digits, for the store and nothing else.
    pub fn to_hex(&self) -> String {
        encode_hex(&self.0)
    }

    /// Derives the thread of the contact `address` on `instance`. A number with two spellings has the same thread in
    /// both.
    pub fn derive_thread_id(&self, instance: &InstanceId, address: &str) -> ThreadId {
        let parts = ["thread", instance.as_str(), &canonical_spelling(address)];
        ThreadId::from_digest(self.compute_digest(&parts))
    }

    /// Derives the FIFO group of events of `address` on this instance. `None` stands for events of the instance itself.
    /// A number with two spellings has the same group in both.
    pub fn derive_event_group(
        &self,
        provider: Provider,
        instance: &ExternalId,
        address: Option<&str>,
    ) -> String {
        let address = canonical_spelling(address.unwrap_or(""));
        self.compute_digest(&["group", provider.as_str(), instance.as_str(), &address])
    }

    /// Returns the hash under which the token `text` is stored and found. Without the key, nobody can tell from a hash
    /// whether it is of a given token.
    pub fn hash_token(&self, text: &str) -> TokenHash {
        TokenHash(encode_hex(&self.compute_mac(&["token", text])))
    }

    /// Returns the key under which a client's key is stored. It tells nothing of the client's text, which may name a person.
    pub fn hash_client_key(&self, key: &IdempotencyKey) -> IdempotencyKey {
        IdempotencyKey::from_hash(self.compute_digest(&["client-key", key.as_str()]))
    }

    /// Derives the key by which guests of a tenant are found by phone number. A number with two spellings has the same key in
    /// both.
    pub fn derive_phone_key(&self, tenant: &TenantId, phone: &str) -> PhoneKey {
        let parts = ["guest-phone", tenant.as_str(), &canonical_spelling(phone)];
        PhoneKey::from_digest(self.compute_digest(&parts))
    }

    /// Returns a hash of what an echo is recognized by, for the notes of erased contacts. Without the key, nobody can tell
    /// from the hash whether it is of a given text.
    pub fn hash_echo(&self, text: &str) -> String {
        self.compute_digest(&["echo", text])
    }

    /// Returns the proof of a link under which anybody reads the file of `message` until the second `until`.
    pub fn sign_file_link(&self, message: &MessageId, until: i64) -> String {
        encode_hex(&self.compute_mac(&["file-link", message.as_str(), &until.to_string()]))
    }

    /// Returns `true` if `proof` is that of this link. The comparison takes the same time for every wrong proof.
    pub fn proves_file_link(&self, message: &MessageId, until: i64, proof: &str) -> bool {
        let expected = self.sign_file_link(message, until);
        expected.as_bytes().ct_eq(proof.as_bytes()).into()
    }

    /// Derives a key for links that this installation makes, by its purpose.
    pub(crate) fn derive_link_key(&self, purpose: &str) -> [u8; 32] {
        self.compute_mac(&["link-key", purpose])
    }

    /// Returns the first 16 bytes of [`Self::compute_mac`], in hexadecimal.
    pub(crate) fn compute_digest(&self, parts: &[&str]) -> String {
        encode_hex(&self.compute_mac(parts)[..16])
    }

    /// Returns HMAC-SHA256 of `recado:identity:v1` and `parts`, each part preceded by its length.
    fn compute_mac(&self, parts: &[&str]) -> [u8; 32] {
        let mut message = b"recado:identity:v1".to_vec();
        for part in parts {
            message.extend((part.len() as u64).to_be_bytes());
            message.extend(part.as_bytes());
        }
        hmac_sha256(&self.0, &message)
    }
}

impl PartialEq for IdentityKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for IdentityKey {}

impl fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentityKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: &str = "5511987654321@s.whatsapp.net";

    fn key(byte: u8) -> IdentityKey {
        IdentityKey::from_bytes([byte; 32])
    }

    fn on(key: &IdentityKey, instance: &str, address: &str) -> String {
        let instance = InstanceId::parse(instance).unwrap();
        key.derive_thread_id(&instance, address).as_str().to_owned()
    }

    fn group(key: &IdentityKey, instance: &str, address: Option<&str>) -> String {
        let instance = ExternalId::parse(instance).unwrap();
        key.derive_event_group(Provider::Evolution, &instance, address)
    }

    /// The ids appear in logs. They are keyed, since all numbers of an area can be tried against a plain hash.
    #[test]
    fn what_is_derived_stays_as_it_was_when_the_first_records_were_written() {
        assert_eq!(
            on(&key(7), "suporte-01", NUMBER),
            "4a729b8e96386cbb94db0f6815ebcc7e"
        );
        assert_eq!(
            group(&key(7), "suporte-01", Some(NUMBER)),
            "d3a132a948a5e8ed97f3b2c32ddb4ce7"
        );
        assert_eq!(
            group(&key(7), "suporte-01", None),
            "697b0fedcaebd3e70631bb666801b0cd"
        );
    }

    #[test]
    fn another_key_instance_or_address_gives_another_thread() {
        let thread = on(&key(7), "a", "5511987654321");
        assert_ne!(thread, on(&key(8), "a", "5511987654321"));
        assert_ne!(thread, on(&key(7), "b", "5511987654321"));
        assert_ne!(thread, on(&key(7), "a", "5511987654322"));
        assert_ne!(thread, group(&key(7), "a", Some("5511987654321")));
    }

    /// Computed apart from this code, with the hmac module of Python.
    #[test]
    fn the_hash_of_a_token_is_known_and_needs_the_key() {
        let hash = key(7).hash_token("recado_00");
        assert_eq!(
            hash.as_str(),
            "4523b81549efda15c036c6fbefda621721c7c66ba044822dc499384073f0339d"
        );
        assert_ne!(hash, key(8).hash_token("recado_00"));
        assert_ne!(hash, key(7).hash_token("recado_01"));
    }

    #[test]
    fn both_spellings_of_a_number_have_one_thread_and_one_group() {
        let (long, short) = ("5511987654321", "551187654321");
        assert_eq!(on(&key(7), "a", long), on(&key(7), "a", short));
        assert_eq!(group(&key(7), "a", Some(long)), group(&key(7), "a", Some(short)));
    }

    #[test]
    fn a_key_survives_being_written_and_read_and_debug_shows_nothing() {
        let key = IdentityKey::from_random([1, 2, 3, u64::MAX]);
        assert_eq!(IdentityKey::from_hex(&key.to_hex()), Some(key.clone()));
        assert!(IdentityKey::from_hex("00").is_none());
        assert_eq!(format!("{key:?}"), "IdentityKey(***)");
        assert_ne!(key, IdentityKey::from_random([1, 2, 4, u64::MAX]));
    }
}
