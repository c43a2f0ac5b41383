//! A portfolio of Meta's: what WhatsApp tells of its numbers, and the part of its limit that batches use.

use crate::batches::{add_guests, request, run, stored, take};
use crate::invitations::setup_of;
use crate::world::Setup;
use recado_batches::BatchRequest;
use recado_domain::config::Portfolio;
use recado_domain::ids::{BatchId, ExternalId, InstanceId};
use recado_domain::instance::{InstanceChange, InstanceState, MessagingLimit, NumberQuality, SeenStanding};
use recado_domain::provider::Provider;
use recado_pipeline::Verdict;
use recado_pipeline::ports::Instances;
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::{Fixture, fresh};
use recado_testkit::ports::succeed;

/// A tenant with a number of Meta's and `count` guests.
async fn with_guests(count: usize) -> Setup {
    add_guests(setup_of(Fixture::on(Provider::Meta)).await, count).await
}

fn seen(quality: NumberQuality, people: u32) -> SeenStanding {
    SeenStanding {
        quality,
        limit: Some(MessagingLimit::People(people)),
    }
}

async fn state_of(setup: &Setup, instance: &InstanceId) -> InstanceState {
    succeed(setup.world.store.read_instance_state(instance)).await
}

/// Meta told this of the number.
async fn tell(setup: &Setup, seen: SeenStanding) {
    let change = InstanceChange::Standing {
        seen,
        now: setup.now(),
    };
    let (instance, before) = (setup.fixture.instance(), InstanceState::default());
    let store = &setup.world.store;
    succeed(store.change_instance_state(instance, &before, &change)).await;
}

/// Runs the batch's jobs for a second. Returns how far it is then.
async fn work(setup: &Setup, id: &BatchId) -> usize {
    for _ in 0..5 {
        let batch = stored(setup, id).await;
        if batch.is_expanding() {
            let _ = run(setup, &batch.make_job(batch.expanded), 1).await;
        }
        setup.pass(3);
    }
    stored(setup, id).await.expanded
}

#[tokio::test]
async fn a_batch_uses_its_part_of_the_limit_and_goes_on_when_a_day_is_over() {
    let setup = with_guests(30).await;
    tell(&setup, seen(NumberQuality::Green, 20)).await;
    let id = take(&setup, request(0..30, None)).await.unwrap().batch.id;
    // 80 % of 20 people; the rest is left to conversations.
    assert_eq!(work(&setup, &id).await, 16);
    let waits = stored(&setup, &id).await;
    assert_eq!(run(&setup, &waits.make_job(16), 1).await, Verdict::Done);
    for _ in 0..23 {
        setup.pass(3_600);
        reconcile(&setup.world).await.unwrap();
        assert_eq!(work(&setup, &id).await, 16);
    }
    setup.pass(2 * 3_600);
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("batches"), 1);
    assert_eq!(work(&setup, &id).await, 30);
}

#[tokio::test]
async fn a_limit_that_rises_lets_a_batch_go_on_within_the_hour() {
    let setup = with_guests(30).await;
    tell(&setup, seen(NumberQuality::Green, 20)).await;
    let id = take(&setup, request(0..30, None)).await.unwrap().batch.id;
    assert_eq!(work(&setup, &id).await, 16);
    tell(&setup, seen(NumberQuality::Green, 2_000)).await;
    setup.pass(3_600);
    reconcile(&setup.world).await.unwrap();
    assert_eq!(work(&setup, &id).await, 30);
}

#[tokio::test]
async fn the_numbers_of_a_portfolio_share_the_budget_that_one_of_them_keeps() {
    let setup = with_guests(30).await;
    let budget_owner = InstanceId::parse(&fresh("budget-owner")).unwrap();
    let mut document = setup.fixture.document();
    let mut other = document.instances[0].clone();
    other.id = budget_owner.clone();
    other.external_id = Some(ExternalId::parse(&fresh("line")).unwrap());
    document.instances[0].portfolio = Some(Portfolio {
        instance: Some(budget_owner.clone()),
        people_per_day: Some(20),
    });
    document.instances.push(other);
    succeed(put_configuration(&setup.world.store, &document)).await;
    // The own batches of the budget's owner used a part.
    let change = InstanceChange::ReservePeople {
        limit: 20,
        count: 10,
        now: setup.now(),
    };
    let (store, before) = (&setup.world.store, InstanceState::default());
    succeed(store.change_instance_state(&budget_owner, &before, &change)).await;
    let first = take(&setup, request(0..6, None)).await.unwrap().batch.id;
    assert_eq!(work(&setup, &first).await, 6);
    let second = take(&setup, request(6..30, None)).await.unwrap().batch.id;
    assert_eq!(work(&setup, &second).await, 0);
    assert_eq!(
        state_of(&setup, &budget_owner)
            .await
            .campaigns
            .count_people(setup.now()),
        16
    );
    let own = state_of(&setup, setup.fixture.instance()).await;
    assert_eq!(own.campaigns.count_people(setup.now()), 0);
}

#[tokio::test]
async fn a_budget_of_another_tenant_is_not_touched() {
    let setup = with_guests(3).await;
    let stranger = Fixture::on(Provider::Meta);
    let store = &setup.world.store;
    succeed(put_configuration(store, &stranger.document())).await;
    let mut document = setup.fixture.document();
    document.instances[0].portfolio = Some(Portfolio {
        instance: Some(stranger.instance().clone()),
        people_per_day: Some(20),
    });
    succeed(put_configuration(store, &document)).await;
    let named = BatchRequest {
        tenant: Some(setup.fixture.bound.tenant.id.clone()),
        ..request(0..3, None)
    };
    let id = take(&setup, named).await.unwrap().batch.id;
    assert_eq!(work(&setup, &id).await, 3);
    let people = |state: InstanceState| state.campaigns.count_people(setup.now());
    assert_eq!(people(state_of(&setup, stranger.instance()).await), 0);
    assert_eq!(people(state_of(&setup, setup.fixture.instance()).await), 3);
}

#[tokio::test]
async fn each_number_is_asked_for_once_an_hour() {
    let setup = with_guests(0).await;
    *setup.world.providers.standing.lock().unwrap() = Some(seen(NumberQuality::Yellow, 250));
    let mut told = 0;
    for _ in 0..60 {
        told += reconcile(&setup.world).await.unwrap().count_of("standings");
        setup.pass(60);
    }
    assert_eq!(told, 1);
    let standing = state_of(&setup, setup.fixture.instance()).await.standing.unwrap();
    assert_eq!(
        (standing.quality, standing.limit),
        (NumberQuality::Yellow, Some(MessagingLimit::People(250)))
    );
}
