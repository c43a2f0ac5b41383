//! The texts of the three languages.

use super::described_api::DescribedApi;
use crate::texts::load_language_texts;

#[test]
fn all_languages_have_the_same_texts_with_the_same_places() {
    let texts = load_language_texts().unwrap();
    let places = |text: &str| {
        let mut found: Vec<_> = text
            .split('{')
            .skip(1)
            .filter_map(|rest| rest.split_once('}'))
            .map(|(name, _)| name.to_owned())
            .collect();
        found.sort();
        found
    };
    for (language, own) in &texts {
        for (key, text) in &texts["en"] {
            let Some(translated) = own.get(key) else {
                panic!("{language} has no `{key}`");
            };
            assert_eq!(places(text), places(translated), "{language} {key}");
        }
        assert_eq!(
            own.len(),
            texts["en"].len(),
            "{language} has texts that English lacks"
        );
    }
}

/// The codes of the API, and the group of texts that pages show for each.
const LABELLED: [(&str, &str); 25] = [
    ("AlertKind", "alert"),
    ("AlertSeverity", "severity"),
    ("AnswerReason", "reason"),
    ("AuditActionSchema", "action"),
    ("ConnectionStatus", "connection"),
    ("ConversationMode", "mode"),
    ("ConversationStatus", "conversation"),
    ("DecidedState", "settle"),
    ("EffectState", "effect"),
    ("EndpointStatus", "endpoint_status"),
    ("EventKind", "event"),
    ("EventState", "event_state"),
    ("HealthStatus", "health"),
    ("InvitationChannel", "channel"),
    ("LimitReply", "limit_reply"),
    ("MessageStatus", "status"),
    ("NoticeKind", "notice"),
    ("OptOutSource", "opt_out"),
    ("ProblemCode", "refused"),
    ("Provider", "provider"),
    ("QueueName", "queue"),
    ("Reason", "reason"),
    ("ReplyFormat", "reply_format"),
    ("Role", "author"),
    ("TimelineStage", "stage"),
];

#[test]
fn every_code_of_the_api_that_pages_show_has_a_text_in_every_language() {
    let api = DescribedApi::shared();
    for (language, texts) in load_language_texts().unwrap() {
        for (schema, group) in LABELLED {
            let codes = api.codes_of(schema);
            assert!(!codes.is_empty(), "{schema}");
            for code in codes {
                let key = format!("{group}.{code}");
                assert!(texts.contains_key(&key), "{language} has no `{key}`");
            }
        }
    }
}

#[test]
fn translations_are_no_copies_of_english() {
    let texts = load_language_texts().unwrap();
    // Names of products stay.
    let long = texts["en"]
        .iter()
        .filter(|(key, text)| !key.starts_with("provider.") && text.split(' ').count() > 2);
    for (key, text) in long {
        for language in ["pt", "es"] {
            assert_ne!(text, &texts[language][key], "{language} {key}");
        }
    }
}
