//! The checks of a drafted reply: what must be true of it, and of the records, for its commit.

use crate::Deps;
use crate::steps::turn::LeasedTurn;
use crate::steps::turn::draft::DraftedReply;
use crate::steps::turn::turn_end::TurnEnd;
use async_trait::async_trait;
use recado_domain::conversation::Conversation;
use recado_ports::ports::PortResult;
use recado_ports::table::Write;

/// Looks at a drafted reply before its commit, and after a commit that was lost.
#[async_trait]
pub trait ReplyCheck: Send + Sync {
    /// Completes a drafted reply, and the turn's record, with what the draft did.
    fn complete_reply(&self, turn: &mut LeasedTurn<'_>, reply: DraftedReply) -> DraftedReply;

    /// Returns the writes that are made beside the reply: the commit holds only with them. `None`: it is lost already.
    fn list_commit_conditions(&self, turn: &LeasedTurn<'_>) -> Option<Vec<Write>>;

    /// Returns the end of a turn whose commit was lost and whose reply must be drafted anew. `None`: the same reply may be committed
    /// with `conversation`, which was read again.
    async fn find_end_after_lost_commit(
        &self,
        deps: &Deps,
        turn: &LeasedTurn<'_>,
        conversation: &Conversation,
    ) -> PortResult<Option<TurnEnd>>;
}
