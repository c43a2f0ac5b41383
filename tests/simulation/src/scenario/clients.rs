//! Stories of what clients ask of the API: orders, the erasure of a contact, the removal of a tenant.

use super::teller::Teller;
use crate::fake_world::SendBehaviour;
use crate::plan::address;
use crate::queue::WorkQueues;
use recado_domain::contact::ContactAddress;
use recado_domain::millis::to_millis;
use recado_domain::service_window::WINDOW;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// The contact is erased while its second message waits for an answer and a message to it is scheduled.
    pub(super) fn erasure(&self) {
        self.crowd(2);
        self.says("m2", 20_000, 20_000);
        let (tell, instance) = (self.clone(), self.bound().instance.id.clone());
        let ordered = self
            .sim
            .order_of(&instance, &address(0, 0), "client-1".to_owned(), Some(90_000));
        self.sim.order(ordered, None);
        self.happens(async move {
            tell.sim.simulation().sleep(22_000).await;
            tell.sim
                .erase(&tell.bound().instance.tenant, &address(0, 0))
                .await;
            tell.says("m3", 0, 5_000);
        });
    }

    /// Two orders for a contact that has just written, and one for a contact whose day is over. Meta's contacts are digits alone.
    pub(super) fn clients_at_meta(&self) {
        let contacts = ["5500000000000", "5500000000001"];
        let contacts = contacts.map(|digits| ContactAddress::parse(digits).expect("an address"));
        self.says_to(&contacts[0], "m1", false, 0, 0);
        self.says_to(&contacts[1], "m2", false, 10_000 - to_millis(WINDOW), 0);
        let (tell, instance) = (self.clone(), self.bound().instance.id.clone());
        self.happens(async move {
            tell.sim.simulation().sleep(25_000).await;
            for (contact, words, ahead) in [
                (0, "client-1", None),
                (0, "client-2", Some(30_000)),
                (1, "client-3", None),
            ] {
                let order = tell
                    .sim
                    .order_of(&instance, &contacts[contact], words.to_owned(), ahead);
                tell.sim.order(order, None);
            }
        });
    }

    /// The contact is erased as soon as nobody waits for the provider's answer any more.
    pub(super) fn erasure_in_flight(&self) {
        self.on_line(|line| line.script.push_back(SendBehaviour::Late));
        self.messages(&[0]);
        let tell = self.clone();
        self.happens(async move {
            tell.wait_for_requests(1).await;
            tell.sim.simulation().sleep(19_000).await;
            tell.sim
                .erase(&tell.bound().instance.tenant, &address(0, 0))
                .await;
            tell.says("m2", 75_000, 75_000);
        });
    }

    /// The tenant is removed while two contacts wait for an answer; one writes on meanwhile, and one after the end.
    pub(super) fn removal(&self) {
        self.crowd(3);
        self.says("m3", 28_000, 28_000);
        self.says("m4", 90_000, 90_000);
        let tell = self.clone();
        self.happens(async move {
            tell.sim.simulation().sleep(30_000).await;
            tell.sim.remove_tenant(&tell.bound().instance.tenant).await;
            tell.says_to(&address(0, 1), "m5", false, 0, 5_000);
        });
    }
}
