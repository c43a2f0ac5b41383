//! Verifies the signature of Meta's webhooks, and answers the handshake that sets a webhook up.

use recado_domain::secret::{Secret, hmac_sha256};
use reqwest::Url;

/// Longest challenge that is sent back, in characters. Meta's challenges have ten digits.
const CHALLENGE_MAX: usize = 200;

/// Returns `true` if `signature_header` has the form of a signature, whatever it signs.
pub(crate) fn has_signature(signature_header: Option<&str>) -> bool {
    let shown = signature_header.and_then(|header| header.trim().strip_prefix("sha256="));
    shown.is_some_and(|shown| shown.len() == 64 && shown.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns `true` if `signature_header` is valid (`X-Hub-Signature-256: sha256=<64 hex>`). The signature is the
/// HMAC-SHA256 of the received bytes of the body under one of the app secrets. All secrets are compared, in constant
/// time.
pub fn verify_signature(signature_header: Option<&str>, body: &[u8], app_secrets: &[Secret]) -> bool {
    let Some(shown) = signature_header.and_then(|header| header.trim().strip_prefix("sha256=")) else {
        return false;
    };
    let shown = shown.to_ascii_lowercase();
    app_secrets.iter().fold(false, |found, secret| {
        let mac = hex::encode(hmac_sha256(secret.expose_secret().as_bytes(), body));
        // `Secret` compares in constant time.
        Secret::new(&mac).is_some_and(|mac| mac.matches(&shown)) | found
    })
}

/// Returns the challenge of a GET handshake, which must be the whole body of the answer. `None` unless the raw query
/// string has `hub.mode=subscribe` and the right `token`.
///
/// A challenge with other characters than letters, digits, `-`, `_` and `.` is not sent back: this route is open to
/// everybody, and markup in the answer would run in a browser.
pub fn answer_handshake(raw_query: &str, token: &Secret) -> Option<String> {
    let mut url = Url::parse("http://query.invalid/").ok()?;
    url.set_query(Some(raw_query.trim_start_matches('?')));
    let value = |name: &str| {
        url.query_pairs()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    let genuine = token.matches(&value("hub.verify_token")?) & (value("hub.mode")? == "subscribe");
    let challenge = value("hub.challenge").filter(|challenge| {
        let fine = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        (1..=CHALLENGE_MAX).contains(&challenge.len()) && challenge.bytes().all(fine)
    })?;
    genuine.then_some(challenge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(texts: &[&str]) -> Vec<Secret> {
        texts.iter().filter_map(|text| Secret::new(text)).collect()
    }

    fn signature(secret: &str, body: &[u8]) -> String {
        format!("sha256={}", hex::encode(hmac_sha256(secret.as_bytes(), body)))
    }

    #[test]
    fn a_body_signed_with_either_app_secret_is_accepted() {
        let body = br#"{"text":"Ol\u00e1 \/ \u0040"}"#;
        let apps = secrets(&["first", "second"]);
        assert!(verify_signature(Some(&signature("first", body)), body, &apps));
        assert!(verify_signature(Some(&signature("second", body)), body, &apps));
        assert!(verify_signature(
            Some(
                &signature("first", body)
                    .to_uppercase()
                    .replace("SHA256", "sha256")
            ),
            body,
            &apps
        ));
    }

    #[test]
    fn a_changed_body_another_secret_or_no_signature_is_refused() {
        let body = b"{}";
        let apps = secrets(&["first"]);
        let good = signature("first", body);
        assert!(!verify_signature(Some(&good), b"{ }", &apps));
        assert!(!verify_signature(Some(&signature("other", body)), body, &apps));
        assert!(!verify_signature(Some(&good), body, &[]));
        for header in [
            None,
            Some(""),
            Some("sha256="),
            Some("sha1=00"),
            Some(&good[7..]),
            Some(&good[..70]),
        ] {
            assert!(!verify_signature(header, body, &apps), "{header:?}");
        }
    }

    #[test]
    fn the_challenge_is_echoed_to_whoever_shows_the_token() {
        let token = Secret::new("to ken").unwrap();
        let good = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=to%20ken";
        assert_eq!(answer_handshake(good, &token).as_deref(), Some("1158201444"));
        assert_eq!(
            answer_handshake(&good.replace('.', "%2E"), &token).as_deref(),
            Some("1158201444")
        );
        assert_eq!(
            answer_handshake(&good.replace("%20", "+"), &token).as_deref(),
            Some("1158201444")
        );
    }

    #[test]
    fn nothing_is_echoed_without_token_or_mode_nor_any_markup() {
        let token = Secret::new("token").unwrap();
        for query in [
            "",
            "hub.mode=subscribe&hub.challenge=1",
            "hub.mode=subscribe&hub.challenge=1&hub.verify_token=",
            "hub.mode=subscribe&hub.challenge=1&hub.verify_token=other",
            "hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=token",
            "hub.challenge=1&hub.verify_token=token",
            "hub.mode=subscribe&hub.verify_token=token",
            "hub.mode=subscribe&hub.challenge=&hub.verify_token=token",
            "hub.mode=subscribe&hub.challenge=%3Cscript%3E&hub.verify_token=token",
        ] {
            assert_eq!(answer_handshake(query, &token), None, "{query}");
        }
    }
}
