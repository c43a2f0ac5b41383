//! Reads the jobs of `turns` in dead letters of exports from before such a job named its kind.

use crate::ids::{BatchId, ConversationId, CorrelationId, Ordinal, TenantId};
use crate::trace_context::ParentSpan;
use crate::wake_up::{BatchJob, FileJob, TurnJob, TurnsJob};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// A job with its kind, or without it.
#[derive(Deserialize)]
#[serde(untagged)]
enum KeptJob {
    Named(TurnsJob),
    Unnamed(UnnamedJob),
}

/// A job without its kind: the fields that it has tell that.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnnamedJob {
    conversation: ConversationId,
    tenant: TenantId,
    ordinal: Ordinal,
    correlation: CorrelationId,
    parent: Option<ParentSpan>,
    /// The time of a schedule, which is over.
    #[serde(rename = "due")]
    _due: Option<IgnoredAny>,
    file: Option<Ordinal>,
    batch: Option<BatchId>,
}

impl From<UnnamedJob> for TurnsJob {
    fn from(job: UnnamedJob) -> Self {
        let UnnamedJob {
            conversation,
            tenant,
            correlation,
            parent,
            ..
        } = job;
        match (job.batch, job.file) {
            (Some(batch), _) => Self::Batch(BatchJob {
                tenant,
                batch,
                from: usize::try_from(job.ordinal.0).unwrap_or(usize::MAX),
                correlation,
            }),
            (None, Some(ordinal)) => Self::File(FileJob {
                conversation,
                tenant,
                ordinal,
                correlation,
                parent,
            }),
            (None, None) => Self::Turn(TurnJob {
                conversation,
                tenant,
                ordinal: job.ordinal,
                correlation,
                parent,
                due: None,
            }),
        }
    }
}

/// Reads a job, whether it names its kind or not.
pub(super) fn read_job<'de, D: Deserializer<'de>>(json: D) -> Result<Box<TurnsJob>, D::Error> {
    let job = match KeptJob::deserialize(json)? {
        KeptJob::Named(job) => job,
        KeptJob::Unnamed(job) => job.into(),
    };
    Ok(Box::new(job))
}

#[cfg(test)]
mod tests {
    use crate::dead_letter::DeadLetterContent;
    use serde_json::{Value, json};

    const CONVERSATION: &str = "c_0123456789abcdef0123456789abcdef-1";

    fn read(content: Value) -> Value {
        let content: DeadLetterContent = serde_json::from_value(content).unwrap();
        serde_json::to_value(content).unwrap()
    }

    #[test]
    fn a_job_that_does_not_name_its_kind_is_read_as_what_its_fields_tell() {
        let named = |kind: &str| json!({"job": kind, "tenant": "clinic", "correlation": "k"});
        let with = |mut job: Value, fields: Value| {
            job.as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            job
        };
        let turn = with(named("turn"), json!({"conversation": CONVERSATION, "ordinal": 7}));
        let file = with(named("file"), json!({"conversation": CONVERSATION, "ordinal": 3}));
        let batch = with(named("batch"), json!({"batch": "b", "from": 7}));
        for (extra, expected) in [
            (json!({}), turn.clone()),
            (json!({"due": 60_000}), turn.clone()),
            (
                json!({"parent": "00f067aa0ba902b7-01"}),
                with(turn, json!({"parent": "00f067aa0ba902b7-01"})),
            ),
            (json!({"file": 3}), file),
            (json!({"batch": "b"}), batch),
        ] {
            let old =
                json!({"conversation": CONVERSATION, "tenant": "clinic", "ordinal": 7, "correlation": "k"});
            let content = json!({"turn": with(old, extra)});
            assert_eq!(read(content), json!({"turns": expected}));
            assert_eq!(read(json!({"turns": expected})), json!({"turns": expected}));
        }
    }

    #[test]
    fn a_job_of_an_unknown_kind_is_not_taken_for_one_without_a_kind() {
        let job = json!({
            "job": "unknown", "conversation": CONVERSATION, "tenant": "clinic", "ordinal": 7, "correlation": "k",
        });
        assert!(serde_json::from_value::<DeadLetterContent>(json!({"turns": job})).is_err());
    }
}
