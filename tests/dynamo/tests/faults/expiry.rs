//! Records that expire.

use crate::world::World;
use futures::executor::block_on;
use recado_domain::millis::add_millis;
use recado_dynamo_simulation::Fault;
use recado_pipeline::ports::{EventChange, Inbox, System};
use recado_testkit::builders::{BASE, Fixture};
use std::time::Duration;

#[test]
fn a_record_is_removed_when_its_time_is_over_and_somebody_sweeps() {
    let (world, fixture) = (World::new(), Fixture::new());
    let (settled, pending) = (fixture.job(), fixture.job());
    for job in [&settled, &pending] {
        let _ = block_on(world.store.record_event(job)).unwrap();
    }
    let expires = add_millis(BASE, 60_000);
    block_on(world.store.change_event(
        &settled.event,
        EventChange::Apply {
            at: world.time.now(),
            expires,
        },
    ))
    .unwrap();
    assert_eq!(world.dynamo.expire().unwrap(), 0);
    world.time.pass(Duration::from_secs(61));
    assert_eq!(world.dynamo.records().unwrap().len(), 2, "nothing goes by itself");
    assert_eq!(world.dynamo.expire().unwrap(), 1);
    assert_eq!(world.dynamo.records().unwrap().len(), 1);
    assert!(
        block_on(world.store.find_event(&pending.event))
            .unwrap()
            .is_some()
    );

    world.fails(|_| Fault::StaleIndex(Duration::ZERO));
    let requests = world.dynamo.requests();
    let _ = block_on(recado_pipeline::ports::Overviews::list_overdue(
        &world.store,
        world.time.now(),
        10,
    ))
    .unwrap();
    assert!(world.dynamo.requests() > requests, "the late copy sweeps, too");
}
