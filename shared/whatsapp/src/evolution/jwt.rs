//! Verifies the JWT that Evolution signs with an instance's `jwt_key`: HS256 with `iat`, `exp` = `iat` + 10 minutes,
//! `app: "evolution"`, `action: "webhook"` (webhook.controller.ts, 2.3).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use recado_domain::secret::{Secret, hmac_sha256};
use serde::Deserialize;
use serde_json::Value;

/// Time after `exp` for which a token is still accepted, in seconds. Evolution makes a token once and sends it again on
/// every retry, for 20 minutes.
const GRACE_SECONDS: i64 = 30 * 60;

/// Largest accepted lead of `iat` over Recado's clock, in seconds, because two clocks always differ.
const SKEW_SECONDS: i64 = 5 * 60;

/// Longest accepted token, in bytes; Evolution's are shorter.
const TOKEN_LENGTH_MAX: usize = 4096;

#[derive(Deserialize)]
struct JwtHeader {
    alg: String,
}

#[derive(Deserialize)]
struct JwtClaims {
    exp: f64,
    #[serde(default)]
    iat: Option<f64>,
    #[serde(default)]
    app: Option<Value>,
    #[serde(default)]
    action: Option<Value>,
}

/// Returns `true` if `token` was signed with `secret` for a webhook and is not too old. Only HS256 is accepted: a token
/// that names another algorithm is refused.
pub(super) fn verify_jwt(token: &str, secret: &Secret, now: Timestamp) -> bool {
    let Some((signed, signature)) = token.rsplit_once('.').filter(|_| token.len() <= TOKEN_LENGTH_MAX) else {
        return false;
    };
    let mac = hmac_sha256(secret.expose_secret().as_bytes(), signed.as_bytes());
    let expected = Secret::new(&URL_SAFE_NO_PAD.encode(mac));
    if !expected.is_some_and(|expected| expected.matches(signature)) {
        return false;
    }
    is_jwt_at(token, now)
}

/// Returns `true` if `token` is one of a webhook that is not too old at `now`, whoever signed it.
pub(super) fn is_jwt_at(token: &str, now: Timestamp) -> bool {
    let signed = token.rsplit_once('.').filter(|_| token.len() <= TOKEN_LENGTH_MAX);
    let Some((header, claims)) = signed.and_then(|(signed, _)| signed.split_once('.')) else {
        return false;
    };
    let header: Option<JwtHeader> = decode_part(header);
    let claims: Option<JwtClaims> = decode_part(claims);
    header.is_some_and(|header| header.alg == "HS256")
        && claims.is_some_and(|claims| claims.are_valid_at(now.as_second()))
}

fn decode_part<T: for<'de> Deserialize<'de>>(text: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

impl JwtClaims {
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds since the epoch fit into 53 bits"
    )]
    fn are_valid_at(&self, now: i64) -> bool {
        let is = |claim: &Option<Value>, word: &str| claim.as_ref().is_none_or(|claim| claim == word);
        self.exp.is_finite()
            && self.exp + GRACE_SECONDS as f64 > now as f64
            && self.iat.is_none_or(|iat| iat < (now + SKEW_SECONDS) as f64)
            && is(&self.app, "evolution")
            && is(&self.action, "webhook")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;
    use serde_json::json;

    const NOW: i64 = 1_760_000_000;

    fn token(header: &Value, claims: &Value, key: &str) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let mac = hmac_sha256(key.as_bytes(), signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac))
    }

    fn accepted(token: &str) -> bool {
        verify_jwt(token, &Secret::new("key").unwrap(), from_unix_millis(NOW * 1000))
    }

    fn with_claims(claims: &Value) -> bool {
        accepted(&token(&json!({"alg": "HS256", "typ": "JWT"}), claims, "key"))
    }

    #[test]
    fn evolutions_own_token_is_accepted_until_thirty_minutes_past_its_end() {
        let claims = |exp| json!({"iat": exp - 600, "exp": exp, "app": "evolution", "action": "webhook"});
        assert!(with_claims(&claims(NOW + 600)));
        assert!(with_claims(&claims(NOW - 1799)));
        assert!(!with_claims(&claims(NOW - 1800)));
    }

    #[test]
    fn a_token_without_an_end_from_the_future_or_for_something_else_is_refused() {
        assert!(!with_claims(&json!({"iat": NOW})));
        assert!(!with_claims(&json!({"exp": NOW + 9000, "iat": NOW + 301})));
        assert!(!with_claims(&json!({"exp": NOW + 600, "app": "other"})));
        assert!(!with_claims(&json!({"exp": NOW + 600, "action": 7})));
        assert!(with_claims(&json!({"exp": NOW + 600})));
    }

    #[test]
    fn another_algorithm_another_key_or_a_changed_token_is_refused() {
        let claims = json!({"exp": NOW + 600});
        for alg in ["none", "HS512", "RS256", "hs256"] {
            assert!(!accepted(&token(&json!({"alg": alg}), &claims, "key")), "{alg}");
        }
        let good = token(&json!({"alg": "HS256"}), &claims, "key");
        assert!(accepted(&good));
        assert!(!accepted(&token(&json!({"alg": "HS256"}), &claims, "other")));
        let unsigned = good.rsplit_once('.').unwrap().0;
        for wrong in [
            "",
            ".",
            "..",
            "a.b.c",
            unsigned,
            &format!("{unsigned}."),
            &format!("{good}x"),
        ] {
            assert!(!accepted(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_token_made_elsewhere_is_accepted() {
        // jwt.io's example: HS256, key `your-256-bit-secret`; it has no `exp`, so only its signature is looked at.
        let example = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\
            eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.\
            SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";
        let (signed, signature) = example.rsplit_once('.').unwrap();
        let mac = hmac_sha256(b"your-256-bit-secret", signed.as_bytes());
        assert_eq!(URL_SAFE_NO_PAD.encode(mac), signature);
    }
}
