//! The lists of features, one for each question that the path of a message asks ([`crate::hooks`]).

use crate::gates::instance_state::{ConnectionGate, FirstContactGate, ThreadHoldGate};
use crate::gates::permission::{
    DueGate, ExpiryGate, HeldBackGate, IdentityGate, PausedBatchGate, PermissionGate, VoidReminderGate,
};
use crate::gates::sent_message::{ReadMarks, SentChange, SentFile, ServiceWindowForm, TemplateGate};
use crate::hooks::after_commit::AfterCommit;
use crate::hooks::beside_send::BesideSend;
use crate::hooks::feature_timer::FeatureTimer;
use crate::hooks::inbound_rule::InboundRule;
use crate::hooks::reconcile_pass::ReconcilePass;
use crate::hooks::reply_check::ReplyCheck;
use crate::hooks::send_form::SendForm;
use crate::hooks::send_gate::SendGate;
use crate::hooks::send_gate::SendMoment::{self, AfterSlot, BeforeClaim, BeforeSlot, OtherGroup, Queued};
use crate::hooks::turn_part::TurnPart;
use crate::parts::calendar_call::Calendars;
use crate::parts::effect_call::ActingTools;
use crate::parts::effect_journal::EffectJournal;
use crate::parts::http_agent::UserAgents;
use crate::parts::knowledge::Knowledge;
use crate::parts::message_files::MessageFiles;
use crate::parts::other_authors::OtherAuthors;
use crate::parts::ready_replies::{AgentPauses, FailedAttempts, UnsupportedContent};
use crate::parts::reminders::ReminderAnswers;
use crate::parts::script::Scripts;
use crate::parts::simulation::SimulatedInstances;
use crate::parts::spelling::SpellingCorrections;
use crate::parts::tool_calls::ToolsOfAgent;
use crate::rules::access_list::AccessListRule;
use crate::rules::chosen_option::ChosenOptionRule;
use crate::rules::first_contact_stop::FirstContactStopRule;
use crate::rules::guest_reply::GuestReplyRule;
use crate::rules::loop_pause::LoopPauseRule;
use crate::rules::opt_out::OptOutRule;
use crate::rules::other_agent::OtherAgentRule;
use crate::rules::phone_greeting::PhoneGreetingRule;
use crate::rules::quoted_message::QuotedMessageRule;
use crate::rules::target_change::TargetChangeRule;
use crate::usecases::reconcile::due_batches::DueBatches;
use crate::usecases::reconcile::due_records::{DueFiles, DueMessages, OverdueEmails, OverdueReturns};
use crate::usecases::reconcile::overdue_effects::OverdueEffects;
use crate::usecases::reconcile::{
    connection_looks, contact_pictures, dead_letter_retention, identity_attempts, inactivity,
    missing_secrets, retention, sampling, standings,
};

/// The parts of a turn, in the order in which each question is asked. The model reads instructions in this order.
pub(crate) static TURN_PARTS: &[&dyn TurnPart] = &[
    &SimulatedInstances,
    &SpellingCorrections,
    &FailedAttempts,
    &AgentPauses,
    &UnsupportedContent,
    &UserAgents,
    &Scripts,
    &ToolsOfAgent,
    &Calendars,
    &ActingTools,
    &ReminderAnswers,
    &OtherAuthors,
    &MessageFiles,
    &Knowledge,
    &EffectJournal,
];

/// The checks of a drafted reply before its commit.
pub(crate) static REPLY_CHECKS: &[&dyn ReplyCheck] = &[&EffectJournal];

/// The rules that say what an event means, in the order in which they are asked.
pub(crate) static INBOUND_RULES: &[&dyn InboundRule] = &[
    &OptOutRule,
    &OtherAgentRule,
    &AccessListRule,
    &PhoneGreetingRule,
    &QuotedMessageRule,
    &LoopPauseRule,
    &ChosenOptionRule,
    &GuestReplyRule,
    &TargetChangeRule,
    &FirstContactStopRule,
];

/// Gates that may keep a message back, each with the moments at which it is asked. At a moment they are asked in this order.
pub(crate) static SEND_GATES: &[(&[SendMoment], &dyn SendGate)] = &[
    (&[Queued], &IdentityGate),
    (&[OtherGroup, BeforeSlot, BeforeClaim], &ExpiryGate),
    (&[OtherGroup, BeforeSlot], &HeldBackGate),
    (&[OtherGroup], &PausedBatchGate),
    (&[BeforeSlot], &DueGate),
    (&[BeforeSlot], &TemplateGate),
    (&[AfterSlot], &ConnectionGate),
    (&[AfterSlot], &FirstContactGate),
    (&[AfterSlot], &ThreadHoldGate),
    (&[BeforeClaim], &VoidReminderGate),
    (&[BeforeClaim], &PermissionGate),
];

/// Forms in which a message leaves. The window comes before the file, because a template leaves without it.
pub(crate) static SEND_FORMS: &[&dyn SendForm] = &[&ServiceWindowForm, &SentFile];

/// Work beside the request of an attempt.
pub(crate) static BESIDE_SEND: &[&dyn BesideSend] = &[&ReadMarks];

/// What follows from the end of an attempt. A change is recorded before the file is expected.
pub(crate) static AFTER_COMMIT: &[&dyn AfterCommit] = &[
    &SentChange,
    &SentFile,
    &IdentityGate,
    &PermissionGate,
    &ConnectionGate,
];

/// The passes of a minute, in the order in which they run. Those that work on the reading of the installation come last.
pub(crate) static RECONCILE_PASSES: &[&ReconcilePass] = &[
    &contact_pictures::PASS,
    &inactivity::PASS,
    &missing_secrets::PASS,
    &dead_letter_retention::PASS,
    &retention::PASS,
    // The sample keeps the looks at connections, so it is made after them.
    &connection_looks::PASS,
    &sampling::PASS,
    &standings::PASS,
    &identity_attempts::PASS,
];

/// The records of features that have a time of their own. They take turns in this order.
pub(crate) static FEATURE_TIMERS: &[&dyn FeatureTimer] = &[
    &DueMessages,
    &OverdueEffects,
    &OverdueEmails,
    &DueBatches,
    &DueFiles,
    &OverdueReturns,
];
