//! What was made before for the same person under another identity leaves first.

use super::{Context, Step, one, parking};
use crate::World;
use crate::ports::{Ambient, OutboxStore, PortResult};
use crate::verdict::Verdict;
use recado_domain::message::Message;
use recado_domain::millis::shift;

/// How soon a message comes back that waits for one which is parked.
const WHILE_PARKED_MS: i64 = 60_000;

/// Finishes what leaves before `message` in the person's other threads. Costs nothing unless it has some.
pub(super) async fn first<W: World>(world: &W, context: Context<'_>, message: &Message) -> PortResult<Step> {
    for beside in message.out.iter().flat_map(|out| &out.beside) {
        let open = world.store().open(beside.thread()).await?;
        let last = open.iter().rposition(|other| other.leaves_before(message));
        // Whatever the clocks say, a thread keeps its own order.
        for other in open.into_iter().take(last.map_or(0, |last| last + 1)) {
            match one(world, context, other).await? {
                Step::Next | Step::Void => {}
                // It is parked, and its release is no kick for this one.
                Step::Stop(Verdict::Done) => {
                    let at = shift(world.ambient().now(), WHILE_PARKED_MS);
                    return parking::park(world, message, Some(at)).await;
                }
                waits @ Step::Stop(_) => return Ok(waits),
            }
        }
    }
    Ok(Step::Next)
}
