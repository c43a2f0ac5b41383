//! The features that answer the questions of the message path.

use recado_actions::calendar_call::Calendars;
use recado_actions::effect_call::ActingTools;
use recado_actions::effect_journal::EffectJournal;
use recado_actions::effect_notes::EffectNotes;
use recado_actions::overdue_effects::OverdueEffects;
use recado_actions::reminders::ReminderAnswers;
use recado_actions::tool_calls::ToolsOfAgent;
use recado_actions::void_reminder::VoidReminderGate;
use recado_alerts::{connection_checks, inactivity, sampling, standings};
use recado_batches::BatchJobs;
use recado_batches::due_batches::DueBatches;
use recado_batches::paused_batch::PausedBatchGate;
use recado_checks::missing_secrets;
use recado_contacts::{contact_pictures, retention};
use recado_dead_letters::dead_letter_retention;
use recado_delivery_rules::permission_gate::PermissionGate;
use recado_files::due_files::DueFiles;
use recado_files::file_job::FileJobs;
use recado_files::message_files::MessageFiles;
use recado_invitation_emails::EmailJobs;
use recado_invitation_emails::overdue_emails::OverdueEmails;
use recado_knowledge::spelling::SpellingCorrections;
use recado_knowledge::turn_part::Knowledge;
use recado_occasions::guest_reply::GuestReplyRule;
use recado_operators::agent_return::AgentReturns;
use recado_operators::overdue_returns::OverdueReturns;
use recado_opt_outs::opt_out::OptOutRule;
use recado_own_agents::http_agent::UserAgents;
use recado_pipeline::Features;
use recado_pipeline::gates::instance_state::{ConnectionGate, FirstContactGate, ThreadHoldGate};
use recado_pipeline::gates::permission::{DueGate, ExpiryGate, HeldBackGate, IdentityGate};
use recado_pipeline::gates::sent_message::{
    ReadMarks, SentChange, SentFile, ServiceWindowForm, TemplateGate,
};
use recado_pipeline::hooks::send_gate::SendMoment::{AfterSlot, BeforeClaim, BeforeSlot, OtherGroup, Queued};
use recado_pipeline::parts::other_authors::OtherAuthors;
use recado_pipeline::parts::ready_replies::{AgentPauses, FailedAttempts, UnsupportedContent};
use recado_pipeline::parts::script::Scripts;
use recado_pipeline::parts::simulation::SimulatedInstances;
use recado_pipeline::reconcile::identity_attempts;
use recado_pipeline::rules::access_list::AccessListRule;
use recado_pipeline::rules::chosen_option::ChosenOptionRule;
use recado_pipeline::rules::first_contact_stop::FirstContactStopRule;
use recado_pipeline::rules::loop_pause::LoopPauseRule;
use recado_pipeline::rules::other_agent::OtherAgentRule;
use recado_pipeline::rules::phone_greeting::PhoneGreetingRule;
use recado_pipeline::rules::quoted_message::QuotedMessageRule;
use recado_pipeline::rules::target_change::TargetChangeRule;
use recado_sends::due_messages::DueMessages;

/// All features, each in the lists of the questions that it answers, in the order in which they are asked.
pub static FEATURES: Features = Features {
    inbound_rules: &[
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
    ],
    turn_parts: &[
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
    ],
    reply_checks: &[&EffectJournal],
    send_gates: &[
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
    ],
    // The window comes before the file, because a template leaves without it.
    send_forms: &[&ServiceWindowForm, &SentFile],
    beside_send: &[&ReadMarks],
    // A change is recorded before the file is expected.
    after_commit: &[
        &SentChange,
        &SentFile,
        &IdentityGate,
        &PermissionGate,
        &ConnectionGate,
        &EffectNotes,
    ],
    reconcile_passes: &[
        &contact_pictures::PASS,
        &inactivity::PASS,
        &missing_secrets::PASS,
        &dead_letter_retention::PASS,
        &retention::PASS,
        // The sample keeps the looks at connections, so it is made after them.
        &connection_checks::PASS,
        &sampling::PASS,
        &standings::PASS,
        &identity_attempts::PASS,
    ],
    feature_timers: &[
        &DueMessages,
        &OverdueEffects,
        &OverdueEmails,
        &DueBatches,
        &DueFiles,
        &OverdueReturns,
    ],
    job_handlers: &[&AgentReturns, &FileJobs, &BatchJobs, &EmailJobs],
};
