//! The step [`recado_domain::turn::TurnStep::Journal`]: reads what the agent's tools did for the contact so far.

use crate::Deps;
use crate::steps::effects::DraftedJournal;
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::effects::Journal;
use recado_domain::millis::add_duration;
use recado_domain::tools::Tool;
use recado_ports::records::effects::find_journal;
use recado_ports::table::Versioned;

/// Pause before a turn looks again at an effect whose time is over and that is to be settled. Who settles it asks for a turn.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(20);

/// Reads the journal of the thread, if it may have one or the agent has a tool that acts. Ends the turn while an effect is
/// under way: no attempt is counted, and the reply knows how it ended.
///
/// From now on the conversation says that it has a journal. The write of the lease stores that, before an effect can begin.
pub(in crate::usecases::reply) async fn read_journal(
    deps: &Deps,
    bound: &InstanceConfig,
    conversation: &mut Conversation,
) -> Result<Option<DraftedJournal>, TurnStop> {
    if !conversation.has_journal && !bound.tools.iter().any(Tool::acts) {
        return Ok(None);
    }
    let (thread, now) = (conversation.id.thread_id(), deps.system().now());
    let found = find_journal(deps.store(), &conversation.tenant, thread).await?;
    let journal = found.unwrap_or_else(|| {
        let (tenant, instance) = (conversation.tenant.clone(), conversation.instance.clone());
        Versioned::new(Journal::start_new(thread.clone(), tenant, instance, now))
    });
    if let Some(running) = journal.record.running_entry() {
        let is_overdue = running.until <= now;
        let until = if is_overdue {
            add_duration(now, LOOK_AGAIN)
        } else {
            running.until
        };
        return Err(TurnEnd::EffectUnderWay { until }.into());
    }
    conversation.has_journal = true;
    Ok(Some(DraftedJournal::from_read(journal)))
}
