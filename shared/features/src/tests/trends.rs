//! `/v1/trends`: made of stored samples, for the installation, a tenant or an instance.

use crate::tests::{Answered, Site};
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::instance::ConnectionStatus;
use recado_domain::millis::add_millis;
use recado_domain::sample::{InstanceSample, MinuteSample};
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::records::samples::put_samples;
use recado_testkit::builders::{Fixture, far_ahead};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// Two tenants, each with an instance, and samples of the last minutes: `one` has had messages that waited and dead letters,
/// and was closed in the latest minute; of `other` there was nothing to tell until the latest minute.
struct Sampled {
    site: Site,
    one: Fixture,
    other: Fixture,
}

fn waiting(fixture: &Fixture, depth: u64, dead_letters: u64, connection: ConnectionStatus) -> InstanceSample {
    InstanceSample {
        id: fixture.instance().clone(),
        connection,
        depth,
        parked: 0,
        dead_letters,
        slots: None,
    }
}

impl Sampled {
    async fn new() -> Self {
        let site = Site::in_memory();
        let (one, other) = (Fixture::new(), Fixture::new());
        site.configure_fixtures([&one, &other]).await;
        let (open, closed) = (ConnectionStatus::Open, ConnectionStatus::Closed);
        let minutes = [
            (3, waiting(&one, 6, 1, open), None),
            (2, waiting(&one, 2, 4, open), None),
            (1, waiting(&one, 1, 4, closed), Some(waiting(&other, 30, 9, open))),
        ];
        let now = Timestamp::now();
        for (ago, of_one, of_other) in minutes {
            let at = add_millis(now, -60_000 * ago);
            let sample =
                |tenant: Option<&TenantId>, all| MinuteSample::from_instances(at, tenant.cloned(), all);
            let mut samples = vec![sample(Some(&one.bound.tenant.id), vec![of_one.clone()])];
            let mut all = vec![of_one];
            if let Some(of_other) = of_other {
                samples.push(sample(Some(&other.bound.tenant.id), vec![of_other.clone()]));
                all.push(of_other);
            }
            samples.push(sample(None, all));
            succeed(put_samples(&site.store, &samples, far_ahead())).await;
        }
        Self { site, one, other }
    }

    async fn look(&self, query: &str) -> Answered {
        let path = format!("/v1/trends{query}");
        self.site.operate("GET", &path, &Value::Null).await
    }

    async fn look_as(&self, token: &str, query: &str) -> Answered {
        let bearer = format!("Bearer {token}");
        let (path, headers) = (format!("/v1/trends{query}"), [("authorization", bearer.as_str())]);
        self.site.ask("GET", &path, &headers, "").await
    }
}

fn pick(answered: &Answered, names: &[&str]) -> Value {
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    names.iter().map(|name| answered.body[name].clone()).collect()
}

const WHOLE: [&str; 6] = [
    "minutes",
    "depth_max",
    "depth_average",
    "disconnected_max",
    "dead_letters",
    "dead_letters_added",
];

fn uptime(fixture: &Fixture, percent: f64, down: u32) -> Value {
    json!({"id": fixture.instance(), "uptime_percent": percent, "minutes": 3, "disconnected_minutes": down})
}

#[tokio::test]
async fn the_installations_trends_sum_up_all_tenants() {
    let sampled = Sampled::new().await;
    let answered = sampled.look("").await;
    assert_eq!(pick(&answered, &WHOLE), json!([3, 31, 13.0, 1, 13, 12]));
    assert_eq!(answered.body["dead_letters_per_hour"], 240.0);
    let points = answered.body["points"].as_array().unwrap();
    assert_eq!(points.len(), 24);
    let sampled_minutes: u64 = points.iter().filter_map(|point| point["minutes"].as_u64()).sum();
    assert_eq!(sampled_minutes, 3);
    let mut uptimes = vec![uptime(&sampled.one, 66.66, 1), uptime(&sampled.other, 100.0, 0)];
    uptimes.sort_by_key(|one| one["id"].to_string());
    let mut told = answered.body["instances"].as_array().unwrap().clone();
    told.sort_by_key(|one| one["id"].to_string());
    assert_eq!(told, uptimes);
}

#[tokio::test]
async fn one_tenant_or_instance_is_told_alone() {
    let sampled = Sampled::new().await;
    let (one, other) = (&sampled.one, &sampled.other);
    let of_one = json!([3, 6, 3.0, 1, 4, 3]);
    for query in [
        format!("?tenant={}", one.bound.tenant.id),
        format!("?instance={}", one.instance()),
    ] {
        let answered = sampled.look(&query).await;
        assert_eq!(pick(&answered, &WHOLE), of_one, "{query}");
        assert_eq!(
            answered.body["instances"],
            json!([uptime(one, 66.66, 1)]),
            "{query}"
        );
    }
    let answered = sampled.look(&format!("?tenant={}", other.bound.tenant.id)).await;
    assert_eq!(pick(&answered, &WHOLE), json!([3, 30, 10.0, 0, 9, 9]));
}

#[tokio::test]
async fn a_tenants_token_sees_its_own_and_nothing_else() {
    let sampled = Sampled::new().await;
    let (one, other) = (&sampled.one.bound, &sampled.other.bound);
    let body = json!({"name": "looks", "role": "viewer", "tenant": one.tenant.id});
    let created = sampled.site.operate("POST", "/v1/tokens", &body).await;
    let token = created.body["secret"].as_str().unwrap();
    let own = sampled.look_as(token, "").await;
    assert_eq!(pick(&own, &WHOLE), json!([3, 6, 3.0, 1, 4, 3]));
    assert_eq!(own.body["instances"], json!([uptime(&sampled.one, 66.66, 1)]));
    for query in [
        format!("?tenant={}", other.tenant.id),
        format!("?instance={}", other.instance.id),
        format!("?tenant={}&instance={}", one.tenant.id, other.instance.id),
    ] {
        let answered = sampled.look_as(token, &query).await;
        assert_eq!(answered.status, StatusCode::NOT_FOUND, "{query}");
    }
}

#[tokio::test]
async fn a_disabled_instance_has_no_uptime() {
    let sampled = Sampled::new().await;
    let mut document = sampled.other.document();
    document.instances[0].disabled = true;
    succeed(put_configuration(&sampled.site.store, &document)).await;
    let answered = sampled.look("").await;
    assert_eq!(
        answered.body["instances"],
        json!([uptime(&sampled.one, 66.66, 1)])
    );
    let of_it = sampled
        .look(&format!("?instance={}", sampled.other.instance()))
        .await;
    assert_eq!(pick(&of_it, &["depth_max", "instances"]), json!([30, []]));
}

#[tokio::test]
async fn the_time_may_be_chosen_within_what_is_kept() {
    let sampled = Sampled::new().await;
    let parts = |answered: &Answered| answered.body["points"].as_array().unwrap().len();
    assert_eq!(parts(&sampled.look("?hours=48&step_minutes=30").await), 96);
    assert_eq!(parts(&sampled.look("?hours=1&step_minutes=1").await), 60);
    for wrong in [
        "?hours=0",
        "?hours=49",
        "?step_minutes=0",
        "?step_minutes=1441",
        "?hours=-1",
        "?day=1",
    ] {
        assert_eq!(
            sampled.look(wrong).await.status,
            StatusCode::BAD_REQUEST,
            "{wrong}"
        );
    }
    assert_eq!(
        sampled.look("?instance=nobody").await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(sampled.look("?tenant=nobody").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn without_samples_there_are_no_numbers() {
    let site = Site::in_memory().configured().await;
    let answered = site.operate("GET", "/v1/trends?hours=2", &Value::Null).await;
    assert_eq!(pick(&answered, &WHOLE), json!([0, 0, null, 0, 0, 0]));
    let instances = answered.body["instances"].as_array().unwrap();
    assert!(instances.iter().all(|one| one["uptime_percent"].is_null()) && instances.len() == 3);
}
