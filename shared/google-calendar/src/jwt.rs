//! The signed claim with which a service account asks for an access token (RS256).
//! <https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests>

use crate::credential::CredentialProblem;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use recado_domain::secret::Secret;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::RsaSigningKey;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::SigningKey;
use serde_json::json;

/// The claim's life. Google takes no longer one.
const CLAIM_LIFE: SignedDuration = SignedDuration::from_hours(1);

/// The parts of a claim that change.
pub(crate) struct TokenClaim<'a> {
    pub(crate) client_email: &'a str,
    pub(crate) private_key_id: Option<&'a str>,
    pub(crate) scope: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) issued_at: Timestamp,
}

impl TokenClaim<'_> {
    /// Writes the claim and signs it with the account's key.
    pub(crate) fn sign_claim(&self, private_key: &Secret) -> Result<Secret, CredentialProblem> {
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(id) = self.private_key_id {
            header["kid"] = json!(id);
        }
        let expires_at = self
            .issued_at
            .saturating_add(CLAIM_LIFE)
            .unwrap_or(self.issued_at);
        let claims = json!({
            "iss": self.client_email,
            "scope": self.scope,
            "aud": self.audience,
            "iat": self.issued_at.as_second(),
            "exp": expires_at.as_second(),
        });
        let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature = sign_with_rsa(signed.as_bytes(), private_key).ok_or(CredentialProblem::Key)?;
        Ok(Secret::from_generated(format!(
            "{signed}.{}",
            URL_SAFE_NO_PAD.encode(signature)
        )))
    }
}

/// Signs with RSASSA-PKCS1-v1_5 and SHA-256. `None`: the key cannot be used.
fn sign_with_rsa(message: &[u8], private_key: &Secret) -> Option<Vec<u8>> {
    let key = PrivateKeyDer::from_pem_slice(private_key.expose_secret().as_bytes()).ok()?;
    let key = RsaSigningKey::new(&key).ok()?;
    let signer = key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256])?;
    signer.sign(message).ok()
}
