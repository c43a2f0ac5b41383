//! The steps of a turn. A step gets what it needs from the steps before it, and may end the turn with a
//! [`crate::steps::turn::turn_end::TurnEnd`].

pub(super) mod check_turn;
pub(super) mod commit_reply;
pub(super) mod model_reply;
pub(super) mod read_conversation;
pub(super) mod take_lease;
