//! Instances are connected, paired and checked by the API, and keys go to allowed hosts alone.

use crate::machine::{INSTANCE, Machine};
use recado_testkit::servers::ConnectionState;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// Nothing listens there.
const NOWHERE: &str = "http://127.0.0.1:9";

async fn ask(machine: &Machine, action: &str, body: Option<Value>) -> (StatusCode, Value) {
    let path = format!("/v1/instances/{INSTANCE}/{action}");
    machine.api(Method::POST, &path, body).await
}

#[tokio::test]
async fn an_instance_is_connected_paired_and_checked_by_the_api() {
    let machine = Machine::serving(&[("RECADO_PUBLIC_URL", NOWHERE)]);
    let evolution = &machine.stand_ins.evolution;
    let (status, told) = ask(&machine, "connect", None).await;
    assert_eq!(
        (status, &told["connected"]),
        (StatusCode::OK, &json!(false)),
        "{told}"
    );
    assert!(
        told["error"].as_str().unwrap().contains("nothing was changed"),
        "{told}"
    );
    assert_eq!(evolution.notes().webhook(INSTANCE), None);
    let (status, told) = ask(&machine, "connect", Some(json!({"force": true}))).await;
    assert_eq!(
        (status, &told["connected"]),
        (StatusCode::OK, &json!(true)),
        "{told}"
    );
    let set = evolution.notes().webhook(INSTANCE).unwrap();
    assert_eq!(set["url"], format!("{NOWHERE}/webhooks/evolution"));
    assert_eq!(set["headers"]["apikey"], machine.secret(INSTANCE));
    assert!(!told.to_string().contains(&machine.secret(INSTANCE)), "{told}");

    evolution.set_connection(ConnectionState::Close);
    let (status, told) = ask(&machine, "pairing", None).await;
    assert_eq!(
        (status, &told["connected"]),
        (StatusCode::OK, &json!(false)),
        "{told}"
    );
    assert!(told["code"].as_str().unwrap().starts_with("2@"), "{told}");
    evolution.set_connection(ConnectionState::Open);
    let (_, told) = ask(&machine, "pairing", None).await;
    assert_eq!(
        (&told["connected"], &told["code"]),
        (&json!(true), &Value::Null),
        "{told}"
    );

    let (status, told) = ask(&machine, "check", None).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    let grade = |check: &str| {
        let checks = told["checks"].as_array().unwrap();
        let found = checks.iter().find(|one| one["check"] == check);
        found.map(|one| one["grade"].clone())
    };
    for check in ["credential", "connection", "webhook"] {
        assert_eq!(grade(check), Some(json!("good")), "{check}: {told}");
    }
    let code = "2@invented-code";
    let log = machine.log();
    assert!(
        !log.contains(code) && !log.contains(&machine.secret(INSTANCE)),
        "{log}"
    );
    let audit = machine.get("/v1/audit?limit=10").await.to_string();
    for action in ["instance_connected", "pairing_started", "setup_checked"] {
        assert!(audit.contains(action), "{audit}");
    }
}

#[tokio::test]
async fn no_instance_is_set_up_where_the_installation_does_not_allow_it() {
    let machine = Machine::serving(&[]);
    let (status, told) = ask(&machine, "connect", None).await;
    assert_eq!(status, StatusCode::CONFLICT, "{told}");
    assert!(
        told["detail"].as_str().unwrap().contains("RECADO_PUBLIC_URL"),
        "{told}"
    );
    drop(machine);

    let machine = Machine::serving(&[
        ("RECADO_PUBLIC_URL", NOWHERE),
        ("RECADO_CREDENTIAL_DEMO_KEY", "own"),
    ]);
    let path = format!("/v1/instances/{INSTANCE}");
    let mut changed = machine.get(&path).await;
    changed["base_url"] = json!(machine.stand_ins.meta.url());
    changed["credential"] = json!("env:RECADO_CREDENTIAL_DEMO_KEY");
    let document = json!({"instances": [changed]});
    let (status, told) = machine.api(Method::PUT, "/v1/config", Some(document)).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    // The installation itself looks at the connection at any time.
    let count = || {
        let asked = machine.stand_ins.meta.requests().into_iter();
        asked
            .filter(|request| !request.path.contains("/connectionState/"))
            .count()
    };
    let before = count();
    for action in ["connect", "pairing", "check"] {
        let (status, told) = ask(&machine, action, None).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{action}: {told}");
        assert!(
            told["detail"]
                .as_str()
                .unwrap()
                .contains("RECADO_ONBOARDING_HOSTS"),
            "{told}"
        );
    }
    assert_eq!(count(), before);
    let (status, _) = ask(&machine, "nothing", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}
