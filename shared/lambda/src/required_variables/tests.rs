//! What each function uses, against what `template.yaml` gives it and what its role in `infra/permissions.yaml` may do.

use super::*;
use std::collections::BTreeSet;

const TEMPLATE: &str = include_str!("../../../../template.yaml");
const PERMISSIONS: &str = include_str!("../../../../infra/permissions.yaml");

type Names = &'static [&'static str];

/// What speaks to providers reads where they are and the installation's own credentials.
const PROVIDERS: &[&str] = &[
    "EVOLUTION_API_URL",
    "EVOLUTION_API_KEY_PARAMETER",
    "META_BASE_URL",
    "META_API_VERSION",
    "META_ACCESS_TOKEN_PARAMETER",
    "D360_API_KEY_PARAMETER",
];
/// What proves webhooks, or shows whether they can be proven.
const PROOFS: &[&str] = &[
    "META_APP_SECRET_PARAMETER",
    "META_VERIFY_TOKEN_PARAMETER",
    "D360_PARTNER_SECRET_PARAMETER",
    "RECADO_WEBHOOK_SECRET_ARN",
];
const MODEL: &[&str] = &["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY_PARAMETER"];
/// A catch-up by API asks Evolution, which alone remembers.
const CATCH_UP: &[&str] = &["EVOLUTION_API_URL", "EVOLUTION_API_KEY_PARAMETER"];
/// The token, the address that is shown, and the installation's own hosts, which alone get its keys.
const OPERATORS: &[&str] = &["RECADO_TOKEN_SECRET_ARN", "RECADO_PUBLIC_URL", "META_BASE_URL"];
const SOCIAL: &[&str] = &[
    "RECADO_AWS_SOCIAL_QUEUE_ARN",
    "RECADO_AWS_SOCIAL_QUEUE_URL",
    "RECADO_AWS_SOCIAL_TOPICS",
];

/// The functions, what each cannot do without, and what its use cases read besides.
const FUNCTIONS: [(&str, Names, &[Names]); 6] = [
    ("Webhook", WEBHOOK, &[PROOFS]),
    ("Processor", PROCESSOR, &[PROVIDERS, SOCIAL]),
    ("DeferredReply", DEFERRED_REPLY, &[PROVIDERS, MODEL]),
    ("Sender", SENDER, &[PROVIDERS]),
    ("Api", API, &[PROOFS, CATCH_UP, OPERATORS]),
    ("Reconcile", RECONCILE, &[PROVIDERS]),
];

/// The lines of a resource.
fn resource<'a>(file: &'a str, name: &str) -> Vec<&'a str> {
    let heading = format!("  {name}:");
    let mut lines = file.lines().skip_while(|line| **line != heading);
    assert!(lines.next().is_some(), "{name} is there");
    lines
        .take_while(|line| !line.starts_with("  ") || line.starts_with("   ") || line.trim().is_empty())
        .collect()
}

/// The variables that a function has of its own.
fn variables(function: &str) -> BTreeSet<&'static str> {
    let lines = resource(TEMPLATE, &format!("{function}Function")).into_iter();
    let own = lines.skip_while(|line| line.trim() != "Variables:").skip(1);
    own.take_while(|line| line.starts_with("          "))
        .filter(|line| !line.trim().starts_with('#'))
        .filter_map(|line| line.trim().split(':').next())
        .collect()
}

fn role(function: &str) -> String {
    resource(PERMISSIONS, &format!("{function}Role")).join("\n")
}

/// The statement of a role with this name, without blanks and line ends.
fn statement(function: &str, sid: &str) -> String {
    let role = role(function);
    let (_, after) = role.split_once(&format!("- Sid: {sid}\n")).unwrap_or_default();
    let one = after.split("- Sid: ").next().unwrap_or_default();
    one.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_function_is_given_what_its_use_cases_read_and_nothing_else() {
    for (function, needed, read) in FUNCTIONS {
        let given = variables(function);
        let mut expected: BTreeSet<&str> = needed.iter().copied().collect();
        expected.extend(read.iter().copied().flatten());
        let known = |name: &&str| {
            // Their own: the size of a body; the version that the sender's SDK asks for.
            !["RECADO_WEBHOOK_MAX_BYTES", "RECADO_AWS_SOCIAL_API_VERSION"].contains(name)
        };
        let given: BTreeSet<&str> = given.into_iter().filter(known).collect();
        assert_eq!(given, expected, "{function}");
    }
}

#[test]
fn each_role_may_send_to_the_queues_that_its_function_is_given() {
    for (function, _, _) in FUNCTIONS {
        let sends = statement(function, "Enqueue");
        let reads_dead_letters = statement(function, "DeadLetters");
        for name in variables(function) {
            let Some(queue) = name.strip_prefix("RECADO_") else {
                continue;
            };
            let arn = match queue.split_once('_') {
                Some((queue, "QUEUE_URL")) if queue != "AWS" => format!("!Ref {}Arn", capital(queue)),
                Some((queue, "DLQ_URL")) => format!("!Ref {}DeadLettersArn", capital(queue)),
                _ => continue,
            };
            let allowed = |statement: &str| {
                let mut words = statement
                    .split([',', '[', ']'])
                    .flat_map(|part| part.split(" - "));
                words.any(|word| word.trim() == arn || word.trim().ends_with(&format!(" {arn}")))
            };
            assert!(
                allowed(&sends) || allowed(&reads_dead_letters),
                "{function} {name}: {sends}"
            );
        }
    }
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{first}{}", rest.to_lowercase())
}

#[test]
fn each_role_reads_the_credentials_that_its_function_names() {
    for (function, _, _) in FUNCTIONS {
        let role = role(function);
        for (variable, parameter) in [
            ("ANTHROPIC_API_KEY_PARAMETER", "${AnthropicApiKeyParameter}"),
            ("EVOLUTION_API_KEY_PARAMETER", "${EvolutionApiKeyParameter}"),
            ("META_ACCESS_TOKEN_PARAMETER", "${MetaAccessTokenParameter}"),
            ("META_APP_SECRET_PARAMETER", "${MetaAppSecretParameter}"),
            ("META_VERIFY_TOKEN_PARAMETER", "${MetaVerifyTokenParameter}"),
            ("D360_API_KEY_PARAMETER", "${ParameterPrefix}own/d360-api-key"),
            (
                "D360_PARTNER_SECRET_PARAMETER",
                "${ParameterPrefix}own/d360-partner-secret",
            ),
        ] {
            let reads = role.contains(&format!(":parameter{parameter}\""));
            assert_eq!(
                reads,
                variables(function).contains(variable),
                "{function} {variable}"
            );
        }
        for (variable, secret) in [
            ("RECADO_WEBHOOK_SECRET_ARN", "!Ref WebhookMasterArn"),
            ("RECADO_TOKEN_SECRET_ARN", "!Ref OperatorTokenArn"),
        ] {
            assert_eq!(
                role.contains(secret),
                variables(function).contains(variable),
                "{function} {variable}"
            );
        }
    }
}

#[test]
fn what_configuration_can_name_is_no_secret_of_the_installation() {
    for (function, _, read) in FUNCTIONS {
        let role = role(function);
        assert!(!role.contains(":parameter${ParameterPrefix}*"), "{function}");
        assert!(!role.contains("own/*"), "{function}");
        let speaks = read.contains(&PROVIDERS) || read.contains(&CATCH_UP);
        let instances = role.contains(":parameter${ParameterPrefix}instances/*");
        assert_eq!(instances, speaks, "{function}");
    }
    for parameter in [
        "AnthropicApiKey",
        "EvolutionApiKey",
        "MetaAppSecret",
        "MetaVerifyToken",
        "MetaAccessToken",
    ] {
        let lines = resource(TEMPLATE, &format!("{parameter}Parameter")).join("\n");
        assert!(lines.contains("Default: /recado/own/"), "{parameter}");
    }
}

#[test]
fn what_is_kept_aside_can_be_told_from_what_is_forbidden() {
    for (function, _, _) in FUNCTIONS {
        let role = role(function);
        if role.contains("s3:GetObject") {
            assert!(role.contains("s3:ListBucket"), "{function}");
        }
    }
}
