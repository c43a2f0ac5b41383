//! The features of a program: one list for each question that the path of a message asks ([`crate::hooks`]).

use crate::hooks::after_commit::AfterCommit;
use crate::hooks::beside_send::BesideSend;
use crate::hooks::feature_timer::FeatureTimer;
use crate::hooks::inbound_rule::InboundRule;
use crate::hooks::job_handler::JobHandler;
use crate::hooks::reconcile_pass::ReconcilePass;
use crate::hooks::reply_check::ReplyCheck;
use crate::hooks::send_form::SendForm;
use crate::hooks::send_gate::{SendGate, SendMoment};
use crate::hooks::turn_part::TurnPart;

/// Who answers the questions of the path of a message. A program names all of them in one value; each list is asked in its order.
#[allow(missing_debug_implementations)]
pub struct Features {
    /// The rules that say what an event means.
    pub inbound_rules: &'static [&'static dyn InboundRule],
    /// The parts of a turn. The model reads instructions in this order.
    pub turn_parts: &'static [&'static dyn TurnPart],
    /// The checks of a drafted reply before its commit.
    pub reply_checks: &'static [&'static dyn ReplyCheck],
    /// Gates that may keep a message back, each with the moments at which it is asked. At a moment they are asked in this order.
    pub send_gates: &'static [(&'static [SendMoment], &'static dyn SendGate)],
    /// Forms in which a message leaves. Each changes what those before it made.
    pub send_forms: &'static [&'static dyn SendForm],
    /// Work beside the request of an attempt.
    pub beside_send: &'static [&'static dyn BesideSend],
    /// What follows from the end of an attempt.
    pub after_commit: &'static [&'static dyn AfterCommit],
    /// The passes of a minute. Those that work on the reading of the installation come last.
    pub reconcile_passes: &'static [&'static ReconcilePass],
    /// The records of features that have a time of their own. They take turns in this order.
    pub feature_timers: &'static [&'static dyn FeatureTimer],
    /// Those who do the jobs of features.
    pub job_handlers: &'static [&'static dyn JobHandler],
}

/// No features: for a function that only records what comes in, or does nothing on the path of a message. It stays small then.
pub static NO_FEATURES: Features = Features {
    inbound_rules: &[],
    turn_parts: &[],
    reply_checks: &[],
    send_gates: &[],
    send_forms: &[],
    beside_send: &[],
    after_commit: &[],
    reconcile_passes: &[],
    feature_timers: &[],
    job_handlers: &[],
};
