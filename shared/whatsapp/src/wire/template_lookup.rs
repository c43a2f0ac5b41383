//! Remembers what providers said about message templates, so that a send seldom asks.

use jiff::{SignedDuration, Timestamp};
use recado_domain::config::Instance;
use recado_domain::content::{KnownTemplate, MessageTemplate};
use recado_domain::ids::InstanceId;
use recado_domain::millis::add_duration;
use recado_ports::ports::TemplateAnswer;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Longest time for which an answer is kept with which no message is sent, or that is not clear.
const DOUBT_KEPT: SignedDuration = SignedDuration::from_mins(1);

/// Number of answers that are kept.
const ANSWERS_MAX: usize = 1_000;

/// The answer of a provider about a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplateLookup {
    /// The template is there.
    Known(KnownTemplate),
    /// There is no such template.
    Missing,
    /// The provider could not be asked, or does not tell.
    Unclear,
}

impl TemplateLookup {
    /// Judges whether a message with `wanted` can be sent.
    pub(crate) fn judge(&self, wanted: &MessageTemplate) -> TemplateAnswer {
        let (name, language) = (&wanted.name, &wanted.language);
        match self {
            Self::Unclear => TemplateAnswer::Unclear,
            Self::Missing => TemplateAnswer::Unfit(format!("there is no template {name} in {language}")),
            Self::Known(known) => match known.explain_misfit(wanted) {
                Some(why) => TemplateAnswer::Unfit(format!("template {name} ({language}): {why}")),
                None if known.is_approved() => TemplateAnswer::Usable,
                None => {
                    TemplateAnswer::NotApproved(format!("template {name} ({language}) is {}", known.status))
                }
            },
        }
    }

    fn is_certain(&self) -> bool {
        matches!(self, Self::Known(known) if known.is_approved())
    }
}

/// The instance, its account, and the template's name and language.
type TemplateKey = (InstanceId, Option<String>, String, String);

/// The answers of this process. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct TemplateAnswers(Arc<Mutex<HashMap<TemplateKey, (Timestamp, TemplateLookup)>>>);

fn make_key(instance: &Instance, wanted: &MessageTemplate) -> TemplateKey {
    let account = instance.account_id.clone();
    (
        instance.id.clone(),
        account,
        wanted.name.clone(),
        wanted.language.clone(),
    )
}

impl TemplateAnswers {
    /// Returns the answer that is kept, if it is not older than `age_max`.
    pub(crate) fn find_answer(
        &self,
        instance: &Instance,
        wanted: &MessageTemplate,
        age_max: SignedDuration,
        now: Timestamp,
    ) -> Option<TemplateLookup> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, answer) = kept.get(&make_key(instance, wanted))?;
        let age_max = if answer.is_certain() {
            age_max
        } else {
            age_max.min(DOUBT_KEPT)
        };
        (now < add_duration(*at, age_max)).then(|| answer.clone())
    }

    /// Keeps an answer. When there are too many, all are forgotten: each is asked for again when it is needed.
    pub(crate) fn keep_answer(
        &self,
        instance: &Instance,
        wanted: &MessageTemplate,
        answer: TemplateLookup,
        now: Timestamp,
    ) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= ANSWERS_MAX {
            kept.clear();
        }
        kept.insert(make_key(instance, wanted), (now, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    fn instance(account: &str) -> Instance {
        let json = serde_json::json!({"id": "i", "tenant": "t", "provider": "meta", "external_id": "1", "agent": "a",
            "account_id": account});
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn an_answer_is_kept_for_as_long_as_it_may_be_old_and_a_doubt_for_a_minute() {
        let wanted = MessageTemplate {
            name: "volte".to_owned(),
            language: "pt_BR".to_owned(),
            components: Vec::new(),
        };
        let approved = TemplateLookup::Known(KnownTemplate {
            status: "APPROVED".to_owned(),
            ..KnownTemplate::default()
        });
        let paused = TemplateLookup::Known(KnownTemplate {
            status: "PAUSED".to_owned(),
            ..KnownTemplate::default()
        });
        let at = |seconds: i64| from_unix_millis(1_760_000_000_000 + seconds * 1_000);
        for (answer, kept_seconds) in [
            (approved, 900),
            (paused, 60),
            (TemplateLookup::Missing, 60),
            (TemplateLookup::Unclear, 60),
        ] {
            let answers = TemplateAnswers::default();
            answers.keep_answer(&instance("1"), &wanted, answer.clone(), at(0));
            let find = |account: &str, seconds| {
                let age_max = SignedDuration::from_mins(15);
                answers.find_answer(&instance(account), &wanted, age_max, at(seconds))
            };
            assert_eq!(find("1", kept_seconds - 1), Some(answer));
            assert_eq!(find("1", kept_seconds), None);
            assert_eq!(find("2", 0), None, "another account");
        }
    }
}
