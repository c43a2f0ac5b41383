//! `POST /deliver/send`: who is named, and when it leaves; guests and occasions with what they have.

use crate::tests::{Answered, Site, TOKEN};
use axum::http::StatusCode;
use recado_domain::{SignedDuration, Timestamp};
use recado_testkit::builders::Fixture;
use serde_json::{Value, json};

/// A tenant with an occasion, which has a reminder, and the guests `g1` and `g2`.
async fn site() -> (Site, Fixture) {
    let (site, fixture) = (Site::in_memory(), Fixture::new());
    site.configure_fixtures([&fixture]).await;
    let tenant = &fixture.bound.tenant.id;
    let document = json!({
        "occasions": [{"id": "ev_demo", "tenant": tenant, "instance": fixture.instance(),
            "starts_at": "2099-03-05T18:00:00", "reminders": [{"before": "P1D", "template": "invite"}]}],
        "invitation_templates": [{"name": "invite", "tenant": tenant, "channel": "whatsapp",
            "text": "Oi {{guest_name|você}}"}],
    });
    let applied = site.operate("PUT", "/v1/config", &document).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    let guests = json!({"guests": [
        {"id": "g1", "phone": "+55 11 90000-0081", "time_zone": "Asia/Tokyo"},
        {"id": "g2", "phone": "+55 11 90000-0082"},
        {"id": "g3", "phone": "+55 11 90000-0083", "time_zone": "Mars/Olympus"},
    ]});
    let added = site
        .operate("POST", "/v1/occasions/ev_demo/guests", &guests)
        .await;
    assert_eq!(
        (&added.body["added"], &added.body["refused"][0]["line"]),
        (&json!(2), &json!(3))
    );
    (site, fixture)
}

async fn send(site: &Site, fields: &Value) -> Answered {
    let mut body = json!({"eventId": "ev_demo", "channel": "whatsapp", "template": "invite"});
    body.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    site.operate("POST", "/deliver/send", &body).await
}

#[tokio::test]
async fn a_guest_guests_or_a_phone_must_be_given() {
    let (site, _) = site().await;
    for fields in [
        json!({}),
        json!({"guestIds": ["g1"], "guestId": "g1"}),
        json!({"guestIds": ["g1"], "phone": "+5511900000081"}),
        json!({"guestId": "g1", "phone": "+5511900000081", "guestIds": ["g1"]}),
    ] {
        let refused = send(&site, &fields).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{fields}: {}",
            refused.text
        );
        assert!(
            refused.text.contains("give guestId, guestIds or phone"),
            "{}",
            refused.text
        );
    }
    let log = site
        .operate("GET", "/v1/occasions/ev_demo/invitations", &Value::Null)
        .await;
    assert_eq!(log.body["items"], json!([]));
    let sent = send(&site, &json!({"guestId": "g1"})).await;
    assert_eq!(sent.status, StatusCode::ACCEPTED, "{}", sent.text);
}

#[tokio::test]
async fn a_phone_beside_the_guest_must_be_the_guests_in_any_notation() {
    let (site, _) = site().await;
    for (guest, phone, status) in [
        ("g1", "+55 11 90000-0082", StatusCode::UNPROCESSABLE_ENTITY),
        ("g1", "0", StatusCode::UNPROCESSABLE_ENTITY),
        ("g9", "+55 11 90000-0081", StatusCode::NOT_FOUND),
        ("g1", "(55) 11 90000-0081", StatusCode::ACCEPTED),
    ] {
        let sent = send(&site, &json!({"guestId": guest, "phone": phone})).await;
        assert_eq!(sent.status, status, "{guest} {phone}: {}", sent.text);
    }
    let log = site
        .operate("GET", "/v1/occasions/ev_demo/invitations", &Value::Null)
        .await;
    assert_eq!(
        log.body["items"].as_array().map(Vec::len),
        Some(1),
        "{}",
        log.text
    );
    assert_eq!(log.body["items"][0]["guestId"], "g1");
}

#[tokio::test]
async fn equal_requests_at_once_are_one_202_and_its_repeats_on_both_routes() {
    let (site, _) = site().await;
    let later = Timestamp::from_second(Timestamp::now().as_second() + 48 * 3_600).unwrap();
    let later = later.to_string();
    for (number, send_at) in [None, Some(later)].into_iter().enumerate() {
        let guest = format!("g{}", number + 1);
        let mut body = json!({"channel": "whatsapp", "template": "invite", "send_at": send_at});
        let older = (format!("/events/ev_demo/guests/{guest}/send"), body.to_string());
        body["eventId"] = json!("ev_demo");
        body["guestId"] = json!(guest);
        let newer = ("/deliver/send".to_owned(), body.to_string());
        let key = format!("key-{number}");
        let token = format!("Bearer {TOKEN}");
        let headers = [("authorization", token.as_str()), ("idempotency-key", &key)];
        let all = (0..4).flat_map(|_| [&older, &newer]);
        let all = all.map(|(path, body)| site.ask("POST", path, &headers, body.clone()));
        let answers = futures::future::join_all(all).await;
        let count = |status| answers.iter().filter(|one| one.status == status).count();
        let told: Vec<&str> = answers.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(
            (count(StatusCode::ACCEPTED), count(StatusCode::OK)),
            (1, 7),
            "{told:?}"
        );
        assert!(answers.iter().all(|one| one.body == answers[0].body), "{told:?}");
        let path = format!(
            "/deliver/{}/status",
            answers[0].body["message_id"].as_str().unwrap()
        );
        let shown = site.operate("GET", &path, &Value::Null).await;
        assert_eq!(shown.body["id"], answers[0].body["id"], "{}", shown.text);
    }
}

#[tokio::test]
async fn a_time_is_an_instant_or_one_of_the_guests_clock() {
    let (site, _) = site().await;
    // Tokyo is nine hours ahead, and its clocks never change.
    let written = |hours: i64| {
        (Timestamp::now() + SignedDuration::from_hours(hours)).to_string()[..14].to_owned() + "00:00"
    };
    let (at, clock) = (written(48) + "Z", written(48 + 9));
    let own = send(&site, &json!({"guestId": "g1", "send_at": clock})).await;
    assert_eq!(own.status, StatusCode::ACCEPTED, "{}", own.text);
    assert_eq!(own.body["not_before"], at.as_str(), "{}", own.text);
    let batch = send(&site, &json!({"guestIds": ["g2"], "send_at": at})).await;
    assert_eq!(
        (batch.status, &batch.body["status"]),
        (StatusCode::ACCEPTED, &json!("scheduled"))
    );
    let path = format!("/deliver/batches/{}", batch.body["batch_id"].as_str().unwrap());
    let shown = site.operate("GET", &path, &Value::Null).await;
    assert_eq!(
        (
            &shown.body["status"],
            &shown.body["send_at"],
            &shown.body["expanded"]
        ),
        (&json!("scheduled"), &json!(at), &json!(0))
    );
    let recipients = site
        .operate("GET", &format!("{path}/recipients"), &Value::Null)
        .await;
    let listed = &recipients.body["items"][0];
    assert_eq!(
        (&listed["guestId"], &listed["status"], &listed["id"]),
        (&json!("g2"), &json!("waiting"), &batch.body["items"][0]["id"])
    );
    let failures = format!("{path}/recipients?status=failed,refused");
    let failures = site.operate("GET", &failures, &Value::Null).await;
    assert_eq!(
        (failures.status, &failures.body["items"]),
        (StatusCode::OK, &json!([]))
    );
    for wrong in ["status=lost", "cursor=x"] {
        let refused = site
            .operate("GET", &format!("{path}/recipients?{wrong}"), &Value::Null)
            .await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{wrong}: {}",
            refused.text
        );
    }
    for (fields, status) in [
        (
            json!({"guestId": "g2", "send_at": "tomorrow"}),
            StatusCode::BAD_REQUEST,
        ),
        (
            json!({"guestId": "g2", "send_at": "2099-03-05T09:00:00Z"}),
            StatusCode::BAD_REQUEST,
        ),
        (
            json!({"guestIds": ["g2"], "send_at": clock}),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
    ] {
        let refused = send(&site, &fields).await;
        assert_eq!(refused.status, status, "{fields}: {}", refused.text);
    }
}

#[tokio::test]
async fn an_occasion_shows_its_reminders_and_a_guest_its_zone() {
    let (site, _) = site().await;
    let occasion = site.operate("GET", "/v1/occasions/ev_demo", &Value::Null).await;
    assert_eq!(
        occasion.body["reminders"],
        json!([{"before": "P1D", "template": "invite", "channel": "whatsapp", "guests": ["pending", "confirmed"]}])
    );
    assert_eq!(occasion.body["cancelled"], false);
    let guest = site
        .operate("GET", "/v1/occasions/ev_demo/guests/g1", &Value::Null)
        .await;
    assert_eq!(guest.body["time_zone"], "Asia/Tokyo");
    let batches = site.operate("GET", "/deliver/batches", &Value::Null).await;
    let planned = &batches.body["items"][0];
    assert_eq!(
        (&planned["status"], &planned["recipients"]),
        (&json!("scheduled"), &json!(0))
    );
    assert_eq!(
        (&planned["reminder"]["before"], &planned["reminder"]["withdrawn"]),
        (&json!("P1D"), &json!(false))
    );
}

#[tokio::test]
async fn an_id_with_a_slash_is_refused_wherever_it_would_stand_in_a_path() {
    let (site, fixture) = site().await;
    let tenant = &fixture.bound.tenant.id;
    let guest = json!({"guests": [{"id": "ana/1", "phone": "+55 11 90000-0084"}]});
    for (method, path, body) in [
        ("PUT", "/v1/config", json!({"tenants": [{"id": "a/b"}]})),
        (
            "PUT",
            "/v1/config",
            json!({"occasions": [{"id": "ev/1", "tenant": tenant, "instance": fixture.instance()}]}),
        ),
        (
            "PUT",
            "/v1/config",
            json!({"invitation_templates": [{"name": "a/b", "tenant": tenant, "channel": "whatsapp", "text": "Oi"}]}),
        ),
        (
            "POST",
            "/v1/tokens",
            json!({"name": "front/desk", "role": "viewer"}),
        ),
        ("POST", "/v1/occasions/ev_demo/guests", guest),
        ("GET", "/v1/occasions/ev%2Fdemo", Value::Null),
    ] {
        let refused = site.operate(method, path, &body).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{path} {body}: {}",
            refused.text
        );
        assert!(
            refused.text.contains("must have no slash"),
            "{path} {body}: {}",
            refused.text
        );
    }
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "text/csv")];
    let listed = site
        .ask(
            "POST",
            "/v1/occasions/ev_demo/guests",
            &headers,
            "id,phone\nana/1,+55 11 90000-0085\nana-1,+55 11 90000-0086\n",
        )
        .await;
    assert_eq!(
        (&listed.body["added"], &listed.body["refused"][0]["line"]),
        (&json!(1), &json!(2)),
        "{}",
        listed.text
    );
}
