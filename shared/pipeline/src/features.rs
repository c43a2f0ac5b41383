//! The features of an installation, in one list for each question that the path of a message asks of them ([`crate::hooks`]).

use crate::hooks::feature_timer::{FeatureJob, FeatureTimer};
use crate::hooks::reconcile_pass::ReconcilePass;
use crate::steps::agent_return::AgentReturnJobs;
use crate::steps::file_job::FileJobs;
use crate::usecases::deliver::BatchJobs;
use crate::usecases::reconcile::connection_looks::ConnectionLooks;
use crate::usecases::reconcile::contact_pictures::ContactPictures;
use crate::usecases::reconcile::dead_letter_retention::DeadLetterRetention;
use crate::usecases::reconcile::due_batches::DueBatches;
use crate::usecases::reconcile::due_files::DueFiles;
use crate::usecases::reconcile::due_messages::DueMessages;
use crate::usecases::reconcile::identity_attempts::IdentityAttempts;
use crate::usecases::reconcile::inactivity::Inactivity;
use crate::usecases::reconcile::missing_secrets::MissingSecrets;
use crate::usecases::reconcile::overdue_effects::OverdueEffects;
use crate::usecases::reconcile::overdue_emails::OverdueEmails;
use crate::usecases::reconcile::overdue_returns::OverdueReturns;
use crate::usecases::reconcile::retention::Retention;
use crate::usecases::reconcile::sampling::Sampling;
use crate::usecases::reconcile::standings::Standings;
use crate::usecases::send_email::EmailJobs;

/// The passes of a minute, in the order in which they run. Those that work on the reading of the installation come last.
pub(crate) static RECONCILE_PASSES: &[&dyn ReconcilePass] = &[
    &ContactPictures,
    &Inactivity,
    &MissingSecrets,
    &DeadLetterRetention,
    &Retention,
    // The sample keeps the looks at connections, so it is made after them.
    &ConnectionLooks,
    &Sampling,
    &Standings,
    &IdentityAttempts,
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

/// The jobs of features on the queues `turns` and `outbound`.
pub(crate) static FEATURE_JOBS: &[&dyn FeatureJob] = &[&AgentReturnJobs, &FileJobs, &BatchJobs, &EmailJobs];
