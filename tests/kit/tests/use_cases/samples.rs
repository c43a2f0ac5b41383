//! The samples that `reconcile` stores each minute.

use crate::setup;
use crate::world::Setup;
use recado_alerts::trends::{TrendRequest, read_trends};
use recado_domain::access::Caller;
use recado_domain::config::ConfigDocument;
use recado_domain::ids::TenantId;
use recado_domain::instance::{ConnectionStatus, InstanceChange};
use recado_domain::reason::Reason;
use recado_domain::sample::{MinuteSample, start_of_minute};
use recado_pipeline::ports::{ConnectionAnswer, SendOutcome};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::records::samples::list_samples;
use recado_testkit::builders::{BASE, Fixture, change_instance, seen};
use recado_testkit::ports::succeed;

async fn samples(setup: &Setup, tenant: Option<&TenantId>) -> Vec<MinuteSample> {
    succeed(list_samples(&setup.world.store, tenant, start_of_minute(BASE))).await
}

async fn pass_minute(setup: &Setup) -> MinuteSample {
    let report = reconcile(&setup.world).await.unwrap();
    assert_eq!(report.failed, 0);
    setup.pass(60);
    report.sample.unwrap()
}

#[tokio::test]
async fn an_idle_minute_stores_the_installations_sample_alone() {
    let setup = setup().await;
    let first = pass_minute(&setup).await;
    let second = pass_minute(&setup).await;
    assert_eq!((first.depth, first.configured, first.disconnected), (0, 1, 0));
    assert_eq!(samples(&setup, None).await, [first, second]);
    let tenant = &setup.fixture.bound.tenant.id;
    assert_eq!(samples(&setup, Some(tenant)).await, []);
}

#[tokio::test]
async fn what_waits_and_what_was_given_up_is_sampled_for_its_tenant() {
    let setup = setup().await;
    let other = Fixture::new();
    put_configuration(&setup.world.store, &other.document())
        .await
        .unwrap();
    let dead = setup.replied().await;
    setup.answers(SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "no".to_owned(),
    });
    setup.send(&dead.conversation).await;
    setup.replied().await;
    setup.replied().await;
    let whole = pass_minute(&setup).await;
    assert_eq!((whole.depth, whole.dead_letters, whole.configured), (2, 1, 2));
    let ours = samples(&setup, Some(&setup.fixture.bound.tenant.id)).await;
    let [minute] = &ours[..] else { panic!("{ours:?}") };
    assert_eq!((minute.depth, minute.dead_letters, minute.configured), (2, 1, 1));
    let listed = minute.find_instance(setup.fixture.instance()).unwrap();
    assert_eq!((listed.depth, listed.dead_letters, listed.slots), (2, 1, Some(1)));
    assert_eq!(samples(&setup, Some(&other.bound.tenant.id)).await, []);
    // One is sent in the next minute.
    setup.pass(-30);
    let reply = setup.replied().await;
    setup.send(&reply.conversation).await;
    setup.pass(30);
    let next = pass_minute(&setup).await;
    let slots = |sample: &MinuteSample| sample.find_instance(setup.fixture.instance())?.slots;
    assert_eq!((slots(&whole), slots(&next)), (Some(1), Some(2)));
}

#[tokio::test]
async fn an_instance_that_cannot_send_is_listed_while_it_lasts() {
    let setup = setup().await;
    setup.world.providers.is(ConnectionAnswer::Closed);
    let id = setup.fixture.instance();
    let closed = seen(ConnectionStatus::Closed, setup.now(), Some(setup.now()));
    change_instance(&setup.world.store, id, InstanceChange::Connection(closed)).await;
    let down = pass_minute(&setup).await;
    assert_eq!(down.disconnected, 1);
    assert_eq!(
        down.find_instance(id).unwrap().connection,
        ConnectionStatus::Closed
    );
    setup.world.providers.is(ConnectionAnswer::Open);
    for _ in 0..3 {
        pass_minute(&setup).await;
    }
    let all = samples(&setup, None).await;
    let down: Vec<u64> = all.iter().map(|sample| sample.disconnected).collect();
    assert_eq!(down, [1, 0, 0, 0], "the probe after a minute found it open");
}

#[tokio::test]
async fn trends_tell_the_uptime_and_the_new_dead_letters_of_a_tenant_that_was_idle_in_between() {
    let setup = setup().await;
    let (id, tenant) = (setup.fixture.instance(), &setup.fixture.bound.tenant.id);
    pass_minute(&setup).await;
    setup.world.providers.is(ConnectionAnswer::Closed);
    let closed = seen(ConnectionStatus::Closed, setup.now(), Some(setup.now()));
    change_instance(&setup.world.store, id, InstanceChange::Connection(closed)).await;
    pass_minute(&setup).await;
    setup.world.providers.is(ConnectionAnswer::Open);
    pass_minute(&setup).await;
    let dead = setup.replied().await;
    setup.answers(SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "no".to_owned(),
    });
    setup.send(&dead.conversation).await;
    pass_minute(&setup).await;
    setup.pass(-60);
    let request = TrendRequest {
        tenant: Some(tenant.clone()),
        instance: None,
        hours: 1,
        step_minutes: 1,
    };
    let caller = Caller::installation();
    let report = read_trends(&setup.world, &caller, &request)
        .await
        .unwrap()
        .unwrap();
    let whole = &report.trends.whole;
    assert_eq!((whole.minutes, whole.disconnected_max), (4, 1));
    assert_eq!((whole.dead_letters, whole.dead_letters_added), (1, 1));
    let [uptime] = &report.trends.uptimes[..] else {
        panic!("{report:?}")
    };
    assert_eq!((uptime.connected, uptime.percent()), (3, Some(75.0)));
    let last: Vec<u32> = report.trends.points[55..]
        .iter()
        .map(|one| one.summary.minutes)
        .collect();
    assert_eq!(last, [0, 1, 1, 1, 1], "the last part is the current minute");
}

#[tokio::test]
async fn no_more_than_a_hundred_samples_are_written_in_a_minute_and_those_of_closed_instances_first() {
    let setup = setup().await;
    let mut configured = ConfigDocument::default();
    let fixtures: Vec<Fixture> = (0..120).map(|_| Fixture::new()).collect();
    for fixture in &fixtures {
        let document = fixture.document();
        configured.tenants.extend(document.tenants);
        configured.agents.extend(document.agents);
        configured.instances.extend(document.instances);
    }
    put_configuration(&setup.world.store, &configured).await.unwrap();
    for fixture in &fixtures {
        setup.replied_to(fixture).await;
    }
    let down = &fixtures[100..];
    for fixture in down {
        let closed = seen(ConnectionStatus::Closed, setup.now(), Some(setup.now()));
        let change = InstanceChange::Connection(closed);
        change_instance(&setup.world.store, fixture.instance(), change).await;
    }
    // What is closed stays so, and what is open.
    setup.world.providers.is(ConnectionAnswer::Unclear);
    let whole = pass_minute(&setup).await;
    assert_eq!(
        (whole.depth, whole.instances.len(), whole.left_out),
        (120, 20, 100)
    );
    let mut stored = 0;
    for fixture in &fixtures {
        stored += samples(&setup, Some(&fixture.bound.tenant.id)).await.len();
    }
    assert_eq!((stored, whole.tenants_left_out), (99, 21));
    for fixture in down {
        let of_tenant = samples(&setup, Some(&fixture.bound.tenant.id)).await;
        assert_eq!(of_tenant.len(), 1, "its uptime is counted from the samples");
    }
}
