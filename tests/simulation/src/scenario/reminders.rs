//! The story of appointments whose contacts are reminded, and of an agent whose tool reads.

use super::teller::Teller;
use crate::fake_world::{LookupBehaviour, REMINDER_WORDS};
use crate::person::phone;
use crate::plan::address;
use crate::queue::WorkQueues;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// The time from the start to the first slot: the reminders of an appointment come soon.
const FIRST_SLOT_MS: i64 = 3 * 3_600_000;

/// WhatsApp is gone for so long from this time on, while two reminders are due. One of their contacts cancels meanwhile.
const GONE_MS: (i64, i64) = (10_700_000, 700_000);
const CANCELLED_MS: i64 = 11_000_000;

/// The time at which people delete an appointment: a moment before its first reminder, after the last look by the hour.
const DELETED_MS: i64 = 12_400_000;

impl<S, Q> Teller<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// One contact books, moves the appointment, is reminded and confirms; another one cancels when it is reminded; one cancels while
    /// its reminder waits for WhatsApp; people delete the appointment of the last.
    pub(super) fn reminds(&self) {
        let world = &self.sim.fake_world;
        world.let_slots_begin_after(FIRST_SLOT_MS);
        world.let_model_think(1_000);
        for (contact, words) in [(0, "m1"), (1, "m3"), (2, "m4"), (3, "m5")] {
            self.says_to(&address(0, contact), words, false, 0, 0);
        }
        self.says("m2-move", 120_000, 120_000);
        self.says_to(&address(0, 2), "m6-cancel", false, CANCELLED_MS, CANCELLED_MS);
        self.answers_reminder(0, "sim");
        self.answers_reminder(1, "cancelar");
        let tell = self.clone();
        self.happens(async move {
            tell.sim.simulation().sleep(DELETED_MS).await;
            tell.sim.fake_world.let_people_delete_last_event();
        });
        let tell = self.clone();
        self.happens(async move {
            let (from, length) = GONE_MS;
            tell.sim.simulation().sleep(from).await;
            tell.is_disconnected(0, length, 100).await;
        });
    }

    /// A contact books, and is reminded twice.
    pub(super) fn reminds_one(&self) {
        let world = &self.sim.fake_world;
        world.let_slots_begin_after(FIRST_SLOT_MS);
        world.let_model_think(1_000);
        self.says("m1", 0, 0);
    }

    /// A contact says these words within two minutes after its first reminder.
    fn answers_reminder(&self, contact: usize, words: &'static str) {
        let tell = self.clone();
        self.happens(async move {
            let to = (tell.bound().instance.id.clone(), phone(&address(0, contact)));
            while tell.sim.simulation().elapsed_ms() < DELETED_MS {
                tell.sim.simulation().sleep(60_000).await;
                let phones = tell.sim.fake_world.phones();
                let mut arrived = phones.get(&to).into_iter().flatten();
                if arrived.any(|one| one.text.starts_with(REMINDER_WORDS)) {
                    tell.says_to(&address(0, contact), words, false, 60_000, 60_000);
                    break;
                }
            }
        });
    }

    /// The agent's tool that reads answers, fails, hangs, refuses and is slow; the model calls it wrongly, and again and again.
    pub(super) fn looks_up(&self) {
        use LookupBehaviour::{Answered, Fails, Hangs, Refused, Slow};
        let world = &self.sim.fake_world;
        world.let_model_think(1_000);
        world.let_lookups_end(&[Answered, Fails, Hangs, Refused, Slow(4_000)]);
        let said = ["m1", "m2", "m3", "m4", "m5", "m6-wrong", "m7-often"];
        for (at, words) in (0..).step_by(60_000).zip(said) {
            self.says(words, at, at);
        }
    }
}
