//! Stories of endpoints: they fail, hang, are paused, get another secret, and are removed and made again while posts are under way.

use super::teller::Teller;
use crate::fake_world::PostBehaviour;
use crate::plan::{address, bound};
use crate::queue::WorkQueues;
use jiff::SignedDuration;
use recado_domain::access::Caller;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::TenantId;
use recado_domain::provider::Provider;
use recado_endpoints::list_endpoints;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// The stories of endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointStory {
    /// Two tenants have an endpoint each. One fails, hangs and answers late.
    Told,
    /// An endpoint is removed while a post hangs, and made again under its name with another URL.
    Replaced,
    /// The same by documents.
    ReplacedByDocuments,
    /// An endpoint is removed and made again while an event that it refused is tried again.
    RefusedReplaced,
    /// An endpoint gets other secrets, and is paused.
    Rotated,
    /// An endpoint fails for more than an hour, and people look at it.
    Fails,
    /// Passes of one endpoint run side by side.
    SideBySide,
    /// A tenant is removed while a post to its endpoint hangs.
    TenantRemoved,
}

impl EndpointStory {
    /// When all has happened that happens by itself, in milliseconds since the start.
    pub(super) fn calm_ms(self) -> i64 {
        match self {
            Self::Fails => 4_400_000,
            Self::RefusedReplaced => 700_000,
            Self::Rotated | Self::TenantRemoved => 400_000,
            _ => 160_000,
        }
    }

    /// Who is configured: two tenants with a number each, where nobody is removed.
    pub(super) fn bounds(self) -> Vec<InstanceConfig> {
        let count = if self == Self::TenantRemoved { 1 } else { 2 };
        (0..count)
            .map(|number| bound(number, number, Provider::Evolution, None))
            .collect()
    }
}

/// The name of each endpoint.
const NAME: &str = "crm";

/// The longest time for which somebody waits for something in a story, in steps of 200 milliseconds.
const WAIT_STEPS: usize = 900;

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    fn tenant_of(&self, line: usize) -> TenantId {
        self.sim.bounds[line].instance.tenant.clone()
    }

    /// Contacts of both numbers write at these times.
    fn all_write(&self, at: &[i64]) {
        for line in 0..self.sim.bounds.len() {
            for (number, at) in at.iter().enumerate() {
                self.says_on(line, &address(line, 0), &format!("m{line}{number}"), (*at, *at));
            }
        }
    }

    /// Until it is so, or three minutes are over.
    async fn wait_until(&self, mut is_so: impl FnMut() -> bool) {
        for _ in 0..WAIT_STEPS {
            if is_so() {
                return;
            }
            self.sim.simulation().sleep(200).await;
        }
    }

    /// Until a stand-in got so many posts.
    async fn wait_for_posts(&self, number: usize, count: usize) {
        let world = &self.sim.fake_world;
        self.wait_until(|| world.stand_in(number, |stand_in| stand_in.posts.len()) >= Some(count))
            .await;
    }

    pub(super) fn endpoints(&self, story: EndpointStory) {
        match story {
            EndpointStory::Told => self.both_are_told(),
            EndpointStory::Replaced | EndpointStory::ReplacedByDocuments => self.is_replaced(story),
            EndpointStory::RefusedReplaced => self.is_replaced_with_refused(),
            EndpointStory::Rotated => self.is_rotated(),
            EndpointStory::Fails => self.fails_for_an_hour(),
            EndpointStory::SideBySide => self.side_by_side(),
            EndpointStory::TenantRemoved => self.is_removed_with_tenant(),
        }
    }

    fn both_are_told(&self) {
        self.all_write(&[5_000, 40_000, 90_000]);
        let tell = self.clone();
        self.happens(async move {
            for line in 0..2 {
                let number = tell.sim.make_endpoint(&tell.tenant_of(line), NAME).await;
                let behaviours = [
                    PostBehaviour::Accepted,
                    PostBehaviour::Fails,
                    PostBehaviour::Hangs,
                    PostBehaviour::Late,
                ];
                if line == 0 {
                    tell.sim
                        .fake_world
                        .stand_in(number, |stand_in| stand_in.let_posts_end(&behaviours));
                }
            }
        });
    }

    fn is_replaced(&self, story: EndpointStory) {
        self.all_write(&[5_000, 45_000, 80_000]);
        let (tell, tenant) = (self.clone(), self.tenant_of(0));
        let by_documents = story == EndpointStory::ReplacedByDocuments;
        self.happens(async move {
            let sim = &tell.sim;
            for round in 0..3 {
                let number = if by_documents {
                    sim.make_endpoint_by_document(&tenant, NAME).await
                } else {
                    sim.make_endpoint(&tenant, NAME).await
                };
                if round == 2 {
                    return;
                }
                // The second system answers: what comes for it goes on while it is replaced.
                if round == 0 {
                    let hang = [PostBehaviour::Hangs; 4];
                    sim.fake_world
                        .stand_in(number, |stand_in| stand_in.let_posts_end(&hang));
                }
                tell.wait_for_posts(number, 1).await;
                if by_documents {
                    sim.remove_endpoint_by_document(number).await;
                } else {
                    sim.remove_endpoint(number).await;
                }
            }
        });
    }

    fn is_replaced_with_refused(&self) {
        for number in 0..24_i64 {
            let contact = usize::try_from(number % 3).unwrap_or(0);
            let at = 5_000 + 4_000 * number;
            self.says_on(0, &address(0, contact), &format!("m{number}"), (at, at));
        }
        let (tell, tenant) = (self.clone(), self.tenant_of(0));
        self.happens(async move {
            let (sim, world) = (&tell.sim, &tell.sim.fake_world);
            let number = sim.make_endpoint(&tenant, NAME).await;
            world.stand_in(number, |stand_in| stand_in.refuse_first("turn.started"));
            let is_set_aside = || sim.count_failed(&tenant, NAME) > 0;
            tell.wait_until(is_set_aside).await;
            let before = world.stand_in(number, |stand_in| {
                stand_in.let_refused_hang();
                stand_in.count_refused()
            });
            tell.wait_until(|| world.stand_in(number, |stand_in| stand_in.count_refused()) > before)
                .await;
            sim.remove_endpoint(number).await;
            sim.make_endpoint(&tenant, NAME).await;
            tell.says_on(0, &address(0, 0), "m24", (0, 30_000));
        });
    }

    fn is_rotated(&self) {
        self.all_write(&[5_000, 27_000, 60_000, 105_000, 150_000, 200_000, 300_000]);
        let (tell, tenant) = (self.clone(), self.tenant_of(0));
        self.happens(async move {
            let sim = &tell.sim;
            let number = sim.make_endpoint(&tenant, NAME).await;
            let hang = [
                PostBehaviour::Accepted,
                PostBehaviour::Accepted,
                PostBehaviour::Hangs,
            ];
            sim.fake_world
                .stand_in(number, |stand_in| stand_in.let_posts_end(&hang));
            sim.simulation().sleep(25_000).await;
            sim.rotate_endpoint(number, SignedDuration::from_secs(60)).await;
            sim.simulation().sleep(60_000).await;
            sim.pause_endpoint(number, true).await;
            sim.simulation().sleep(40_000).await;
            sim.pause_endpoint(number, false).await;
            sim.simulation().sleep(40_000).await;
            sim.rotate_endpoint(number, SignedDuration::from_secs(60)).await;
        });
    }

    fn fails_for_an_hour(&self) {
        self.all_write(&[5_000, 60_000, 3_000_000, 4_300_000]);
        let (tell, tenant) = (self.clone(), self.tenant_of(0));
        self.happens(async move {
            let (sim, world) = (&tell.sim, &tell.sim.fake_world);
            let number = sim.make_endpoint(&tenant, NAME).await;
            world.stand_in(number, |stand_in| stand_in.let_all_fail(true));
            sim.simulation().sleep(4_000_000).await;
            let deps = sim.calm_deps();
            let listed = list_endpoints(&deps, &Caller::installation(), Some(&tenant)).await;
            let states = listed.into_iter().flatten().filter_map(|listed| listed.state);
            let mut since = states.filter_map(|state| state.reported_since(sim.simulation().now()));
            if since.next().is_none() {
                let broken = "an endpoint fails for an hour, and nobody is told";
                sim.common.broken(broken.to_owned());
            }
            world.stand_in(number, |stand_in| stand_in.let_all_fail(false));
        });
    }

    fn side_by_side(&self) {
        self.all_write(&[5_000, 6_000, 50_000]);
        let (tell, tenant) = (self.clone(), self.tenant_of(0));
        self.happens(async move {
            let sim = &tell.sim;
            let number = sim.make_endpoint(&tenant, NAME).await;
            let late = [PostBehaviour::Late, PostBehaviour::Accepted, PostBehaviour::Hangs];
            sim.fake_world
                .stand_in(number, |stand_in| stand_in.let_posts_end(&late));
            for _ in 0..10 {
                sim.simulation().sleep(4_000).await;
                sim.pass_beside(number);
                sim.pass_beside(number);
            }
        });
    }

    fn is_removed_with_tenant(&self) {
        self.all_write(&[5_000, 20_000]);
        let (tell, tenant) = (self.clone(), self.tenant_of(0));
        self.happens(async move {
            let sim = &tell.sim;
            let number = sim.make_endpoint(&tenant, NAME).await;
            sim.fake_world.stand_in(number, |stand_in| {
                stand_in.let_posts_end(&[PostBehaviour::Hangs; 8]);
            });
            tell.wait_for_posts(number, 1).await;
            sim.remove_tenant(&tenant).await;
        });
    }
}
