//! Invitations to guests: by 360dialog, by Resend, and many at once, which somebody cancels.

use crate::bench::{Bench, eventually};
use crate::contact::Contact;
use crate::stack::{INVITES, SLOW};
use recado_testkit::builders::fresh;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// A text that a guest gets by the channel.
fn template(tenant: &str, channel: &str) -> Value {
    let mut template = json!({"name": "invite", "tenant": tenant, "channel": channel,
        "text": "Hola {{guest_name|amigo}}: {{occasion_name}}"});
    if channel == "email" {
        template["subject"] = json!("{{occasion_name}}");
    } else {
        template["approved"] = json!({"name": "invite", "language": "es"});
        template.as_object_mut().unwrap().remove("text");
    }
    template
}

/// Makes an occasion at which `instance` sends, with these guests. Returns its id.
async fn occasion(bench: &Bench, (tenant, instance): (&str, &str), guests: &Value) -> String {
    let id = fresh("ev");
    let text =
        json!({"name": "write", "tenant": tenant, "channel": "whatsapp", "text": "Hola: {{occasion_name}}"});
    let document = json!({
        "occasions": [{"id": id, "tenant": tenant, "name": "La boda", "instance": instance}],
        "invitation_templates": [template(tenant, "whatsapp"), template(tenant, "email"), text],
    });
    let (status, applied) = bench.api(Method::PUT, "/v1/config", Some(document)).await;
    assert_eq!(status, StatusCode::OK, "{applied}");
    let path = format!("/v1/occasions/{id}/guests?tenant={tenant}");
    let (status, added) = bench
        .api(Method::POST, &path, Some(json!({"guests": guests})))
        .await;
    assert_eq!(
        (status, &added["refused"]),
        (StatusCode::OK, &json!([])),
        "{added}"
    );
    id
}

/// Sends an invitation. Returns its id.
async fn invite(bench: &Bench, wanted: Value) -> String {
    let (status, taken) = bench.api(Method::POST, "/deliver/send", Some(wanted)).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{taken}");
    taken["id"].as_str().unwrap().to_owned()
}

/// The log's entry of a delivery once it has this status.
async fn reached(bench: &Bench, (tenant, id): (&str, &str), wanted: &str) -> Value {
    let path = format!("/deliver/{id}/status?tenant={tenant}");
    eventually(&format!("{id} to be {wanted}"), || async {
        let found = bench.get(&path).await;
        (found["status"] == wanted).then_some(found)
    })
    .await
}

#[tokio::test]
async fn an_invitation_goes_out_by_360dialog_once_and_is_found_by_its_id() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let guests = json!([{"id": "g1", "phone": format!("+{}", contact.number)}]);
    let event = occasion(&bench, ("clinic", INVITES), &guests).await;
    let wanted = json!({"tenant": "clinic", "eventId": event, "guestId": "g1", "channel": "whatsapp", "template": "invite"});
    let id = invite(&bench, wanted.clone()).await;
    let dialog360 = &bench.stack.dialog360;
    let got = bench.phone(dialog360, &contact, 1).await;
    let sent = reached(&bench, ("clinic", &id), "sent").await;
    assert_eq!(sent["provider_ref"], got[0].id);
    let by_ref = reached(&bench, ("clinic", &got[0].id), "sent").await;
    assert_eq!(by_ref["id"], id.as_str());
    let (status, again) = bench.api(Method::POST, "/deliver/send", Some(wanted)).await;
    assert_eq!(
        (status, &again["status"]),
        (StatusCode::OK, &json!("duplicate")),
        "{again}"
    );
    assert_eq!(dialog360.violations(), []);
}

#[tokio::test]
async fn an_invitation_goes_out_by_email_once() {
    let bench = Bench::new().await;
    let resend = &bench.stack.resend;
    let to = format!("{}@guests.example", fresh("ana"));
    let guests = json!([{"id": "g1", "name": "Ana", "email": to}]);
    let event = occasion(&bench, ("clinic", INVITES), &guests).await;
    let wanted = json!({"tenant": "clinic", "eventId": event, "guestId": "g1", "channel": "email", "template": "invite"});
    let id = invite(&bench, wanted).await;
    let sent = reached(&bench, ("clinic", &id), "sent").await;
    let got: Vec<_> = resend
        .phone()
        .into_iter()
        .filter(|email| email.to.contains(&to))
        .collect();
    assert_eq!((got.len(), resend.violations()), (1, vec![]));
    assert_eq!(sent["provider_ref"], got[0].id);
}

#[tokio::test]
async fn nothing_of_a_cancelled_batch_leaves_after_the_answer() {
    let bench = Bench::new().await;
    let contacts: Vec<Contact> = (0..20).map(|_| Contact::new()).collect();
    let guest = |(number, contact): (usize, &Contact)| json!({"id": format!("g{number}"), "phone": format!("+{}", contact.number)});
    let guests: Vec<Value> = contacts.iter().enumerate().map(guest).collect();
    let event = occasion(&bench, ("clinic", SLOW), &json!(guests)).await;
    let ids: Vec<&Value> = guests.iter().map(|guest| &guest["id"]).collect();
    let wanted = json!({"tenant": "clinic", "eventId": event, "guestIds": ids, "channel": "whatsapp", "template": "write"});
    let (status, taken) = bench.api(Method::POST, "/deliver/send", Some(wanted)).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{taken}");
    let batch = taken["batch_id"].as_str().unwrap();
    let evolution = &bench.stack.stand_ins.evolution;
    let count = || {
        let of_guest = |to: &str| contacts.iter().any(|contact| to.contains(&contact.number));
        evolution
            .phone()
            .into_iter()
            .filter(|message| of_guest(&message.to))
            .count()
    };
    eventually("the first invitation", || async { (count() > 0).then_some(()) }).await;
    let path = format!("/deliver/batches/{batch}/cancel?tenant=clinic");
    let (status, cancelled) = bench.api(Method::POST, &path, None).await;
    assert_eq!(
        (status, &cancelled["status"]),
        (StatusCode::OK, &json!("cancelled")),
        "{cancelled}"
    );
    // What had begun may still arrive; nothing begins any more.
    let path = format!("/deliver/batches/{batch}?tenant=clinic");
    let counts = eventually("every recipient to be settled", || async {
        let counts = bench.get(&path).await["counts"].clone();
        (counts["queued"] == 0).then_some(counts)
    })
    .await;
    let sent = ["sent", "delivered", "read"]
        .map(|status| counts[status].as_u64().unwrap())
        .iter()
        .sum::<u64>();
    assert_eq!(sent + counts["cancelled"].as_u64().unwrap(), 20, "{counts}");
    assert!(sent < 20, "{counts}");
    assert_eq!(u64::try_from(count()).unwrap(), sent, "{counts}");
}
