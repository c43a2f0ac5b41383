//! Access tokens and credentials.

use super::*;
use recado_testkit::servers::{Behaviour, google_error};

fn token_requests(room: &Room) -> usize {
    let calls = room.google.requests();
    calls.iter().filter(|call| call.path.ends_with("/token")).count()
}

#[tokio::test]
async fn one_token_serves_many_calls_of_both_kinds_of_credential() {
    let google = GoogleStandIn::start();
    let user = google.authorized_user();
    for room in [Room::open(), Room::with_secret(google, Some(user))] {
        for number in 1..4 {
            room.insert(&appointment(number, 10)).await.unwrap();
        }
        assert_eq!(token_requests(&room), 1);
        room.check_requests();
    }
}

#[tokio::test]
async fn a_token_is_not_used_shortly_before_it_expires() {
    let room = Room::open();
    room.google.book().set_token_life(119);
    for number in 1..4 {
        room.insert(&appointment(number, 10)).await.unwrap();
    }
    assert_eq!(token_requests(&room), 3);
}

#[tokio::test]
async fn a_question_with_a_revoked_token_is_asked_again_and_a_request_that_acts_is_not() {
    let room = Room::open();
    room.insert(&appointment(1, 10)).await.unwrap();
    room.google.book().revoke_tokens();
    assert_eq!(room.list(5).await.unwrap().events.len(), 1);
    assert_eq!(room.google.book().tokens_given(), 2);
    room.google.book().revoke_tokens();
    let told = room.insert(&appointment(2, 11)).await.unwrap_err();
    assert!(matches!(told, CalendarError::Credentials(_)), "{told}");
    assert_eq!(room.google.book().appointments(CALENDAR).len(), 1);
    // The next call has a new one, and reads the key anew.
    room.insert(&appointment(2, 11)).await.unwrap();
    assert_eq!(room.secrets.forgotten.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_question_is_not_asked_for_ever() {
    let room = Room::open();
    room.google
        .usually(Behaviour::status(401, google_error(401, "authError")));
    assert!(room.list(5).await.is_err());
    assert_eq!(
        token_requests(&room),
        1,
        "a fresh token that is refused stays refused"
    );
}

#[tokio::test]
async fn credentials_that_cannot_work_are_told_with_a_reason_and_without_the_secret() {
    let google = GoogleStandIn::start();
    let mut other_key: Value = serde_json::from_str(&google.service_account()).unwrap();
    other_key["private_key"] =
        json!("-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n");
    for (text, expected) in [
        (None, "RECADO_CREDENTIAL_CLINIC_CALENDAR is not set"),
        (Some("sk-4711".to_owned()), "it must be JSON"),
        (
            Some(json!({"type": "service_account"}).to_string()),
            "its field `client_email` is missing",
        ),
        (Some(other_key.to_string()), "private_key is not an RSA key"),
    ] {
        let room = Room::with_secret(GoogleStandIn::start(), text);
        let told = room.insert(&appointment(1, 10)).await.unwrap_err();
        assert!(matches!(told, CalendarError::Credentials(_)), "{told}");
        assert!(told.to_string().contains(expected), "{told}");
        assert!(!told.to_string().contains("4711"), "{told}");
        assert_eq!(room.google.requests(), [], "nothing was sent");
    }
}

#[tokio::test]
async fn a_credential_that_google_refuses_is_told_with_googles_word() {
    let room = Room::open();
    let refusal =
        json!({"error": "invalid_grant", "error_description": "Account of ana@clinic.example not found"});
    room.google.book().next_token_answer(400, refusal);
    let told = room.insert(&appointment(1, 10)).await.unwrap_err();
    assert!(matches!(told, CalendarError::Credentials(_)), "{told}");
    assert!(
        told.to_string().ends_with("Google answered invalid_grant"),
        "{told}"
    );
    assert_eq!(room.secrets.forgotten.load(Ordering::SeqCst), 1);
    for status in [429, 500, 503] {
        room.google.book().next_token_answer(status, json!({}));
        let told = room.insert(&appointment(1, 10)).await.unwrap_err();
        assert_eq!(
            told.certainty(),
            Certainty::Retryable,
            "{told}: no event was asked for"
        );
    }
    for body in [
        json!({}),
        json!({"access_token": "x", "token_type": "mac"}),
        json!({"access_token": " ", "token_type": "Bearer"}),
    ] {
        room.google.book().next_token_answer(200, body.clone());
        let told = room.insert(&appointment(1, 10)).await.unwrap_err();
        assert_eq!(told.certainty(), Certainty::Retryable, "{body}");
    }
    room.insert(&appointment(1, 10)).await.unwrap();
}

#[tokio::test]
async fn no_secret_stands_in_the_debug_text_of_a_client() {
    let room = Room::open();
    room.insert(&appointment(1, 10)).await.unwrap();
    let calls = room.google.requests();
    let bearer = calls
        .iter()
        .find_map(|call| call.headers.get("authorization"))
        .unwrap();
    let token = bearer.strip_prefix("Bearer ").unwrap();
    let http = recado_http_client::build_http_client().unwrap();
    let hidden = HiddenSecrets(room.google.service_account());
    let config = GoogleCalendarConfig {
        api_base_url: room.google.api_base_url(),
        token_url: room.google.token_url(),
        timeout: Duration::from_secs(20),
    };
    let client = GoogleCalendar::new(http, hidden, RealClock, config);
    client
        .insert_event(&room.target(), &appointment(2, 11))
        .await
        .unwrap();
    let debug = format!("{client:?}");
    assert!(!debug.contains("ya29.") && !debug.contains("PRIVATE"), "{debug}");
    assert!(token.starts_with("ya29."));
}

/// Secrets that show nothing, as those of the product.
#[derive(Clone)]
struct HiddenSecrets(String);

impl std::fmt::Debug for HiddenSecrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HiddenSecrets")
    }
}

impl Secrets for HiddenSecrets {
    async fn resolve_secret(&self, _: &CredentialRef) -> PortResult<Option<Secret>> {
        Ok(Secret::new(&self.0))
    }

    async fn forget_secret(&self, _: &CredentialRef) {}
}
