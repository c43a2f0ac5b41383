//! A tenant that limits how many of its turns run at once has no more calls of the model at once.

use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// How long a turn may take from its reading to its model, in milliseconds. One that stalled for longer may call beside the next:
/// its place was over.
const STALLED_MS: i64 = 15_000;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for bound in &sim.bounds {
        let Some(limit) = bound.tenant.turns_at_once else {
            continue;
        };
        let calls = sim.fake_world.model_calls_of(&bound.tenant.id);
        let prompt: Vec<_> = calls
            .iter()
            .filter(|call| call.began_ms - call.read_ms < STALLED_MS)
            .collect();
        for call in &prompt {
            let beside = prompt
                .iter()
                .filter(|other| other.began_ms <= call.began_ms && call.began_ms < other.ends_ms);
            let began_ms: Vec<i64> = beside.map(|other| other.began_ms).collect();
            if u32::try_from(began_ms.len()).unwrap_or(u32::MAX) > limit.get() {
                sim.common.broken(format!(
                    "turns of {} ask the model at once, since {began_ms:?}, and {limit} may",
                    bound.tenant.id
                ));
            }
        }
    }
}
