//! A store is what one process has.

use crate::world::World;
use futures::executor::block_on;
use recado_dynamo_simulation::Options;
use recado_pipeline::ports::Store;
use recado_pipeline::records::configuration::find_config_by_id;
use recado_testkit::builders::Fixture;
use std::time::Duration;

/// The name of the fixture's tenant, as `store` knows it.
fn name<S: Store>(store: &S, fixture: &Fixture) -> Option<String> {
    let bound = block_on(find_config_by_id(store, fixture.instance())).unwrap();
    bound.unwrap().tenant.name.clone()
}

fn of_one_process<S: Store + Clone + Send + Sync + 'static>(store: &S) -> [S; 2] {
    [store.clone(), store.clone()]
}

#[test]
fn clones_remember_the_same_configuration_for_a_while_and_another_process_has_its_own() {
    let (world, mut fixture) = (World::new(), Fixture::new());
    let options = Options {
        config_ttl: Duration::from_secs(30),
        ..Options::default()
    };
    let warm = world.dynamo.store(world.time.clone(), &options);
    let [one, two] = of_one_process(&warm);
    block_on(recado_pipeline::records::configuration::put_configuration(
        &world.store,
        &fixture.document(),
    ))
    .unwrap();
    let old = name(&one, &fixture);
    fixture.bound.tenant.name = Some("Clínica Boreal".to_owned());
    block_on(recado_pipeline::records::configuration::put_configuration(
        &world.store,
        &fixture.document(),
    ))
    .unwrap();

    let requests = world.dynamo.requests();
    assert_eq!(name(&two, &fixture), old);
    assert_eq!(world.dynamo.requests(), requests, "it is remembered");
    let other = world.dynamo.store(world.time.clone(), &options);
    assert_eq!(name(&other, &fixture).as_deref(), Some("Clínica Boreal"));
    world.time.pass(Duration::from_secs(30));
    assert_eq!(name(&two, &fixture).as_deref(), Some("Clínica Boreal"));
}
