//! A pass of `reconcile` begins nothing after a part of its minute: what comes after it must not wait.

use crate::world::Setup;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, InstanceChange};
use recado_pipeline::ports::{ConnectionAnswer, Instances};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::{Fixture, change_instance, seen};
use recado_testkit::ports::succeed;

/// Number of closed instances. Each question takes 0.3 s, so that a pass has no time for all of them.
const CLOSED: usize = 120;

#[tokio::test]
async fn what_a_pass_has_no_time_for_is_done_by_the_next() {
    let setup = Setup::set(Fixture::new()).await;
    let store = &setup.world.store;
    let mut document = setup.fixture.document();
    let instance = document.instances.remove(0);
    let ids: Vec<InstanceId> = (0..CLOSED)
        .map(|number| InstanceId::parse(&format!("closed-{number}")).unwrap())
        .collect();
    document.instances = ids
        .iter()
        .map(|id| recado_domain::config::Instance {
            id: id.clone(),
            external_id: None,
            ..instance.clone()
        })
        .collect();
    succeed(put_configuration(store, &document)).await;
    for id in &ids {
        let closed = seen(ConnectionStatus::Closed, setup.now(), Some(setup.now()));
        change_instance(store, id, InstanceChange::Connection(closed)).await;
    }
    setup.world.providers.is(ConnectionAnswer::Unclear);
    let mut asked = Vec::new();
    for _ in 0..3 {
        setup.pass(1);
        let began = setup.now();
        asked.push(
            succeed(Box::pin(reconcile(&setup.world)))
                .await
                .count_of("probes"),
        );
        let took = setup.now().as_second() - began.as_second();
        assert!(took < 25, "the pass took {took} s");
    }
    assert!(asked[0] > 0 && asked[0] < CLOSED, "{asked:?}");
    for id in &ids {
        let state = succeed(store.read_instance_state(id)).await;
        assert!(state.probes > 0, "{id} was never asked: {asked:?}");
    }
}
