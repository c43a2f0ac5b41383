//! What each function uses, against what `template.yaml` gives it and what its role in `infra/permissions.yaml` may do.

use super::*;
use std::collections::BTreeSet;

const TEMPLATE: &str = include_str!("../../../../template.yaml");
const PERMISSIONS: &str = include_str!("../../../../infra/permissions.yaml");

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
    for FunctionNeeds {
        name: function,
        required,
        read,
        ..
    } in FUNCTIONS
    {
        let given = variables(function);
        let mut expected: BTreeSet<&str> = required.iter().copied().collect();
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
    for FunctionNeeds { name: function, .. } in FUNCTIONS {
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
    for FunctionNeeds { name: function, .. } in FUNCTIONS {
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
            (
                "RECADO_TRANSCRIPTION_KEY_PARAMETER",
                "${ParameterPrefix}own/transcription-key",
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

/// What a text allows of DynamoDB, by resource: the actions on the table, and the indexes that may be queried.
fn allowed_of_records(text: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut actions, mut indexes) = (BTreeSet::new(), BTreeSet::new());
    for statement in text
        .split("- Sid: ")
        .skip(1)
        .filter(|one| one.contains("dynamodb:"))
    {
        let of_statement: Vec<&str> = names_after(statement, "dynamodb:");
        let of_indexes = names_after(statement, "${TableArn}/index/");
        if of_indexes.is_empty() {
            assert!(statement.contains("Resource: !Ref TableArn"), "{statement}");
            actions.extend(of_statement);
        } else {
            assert_eq!(
                of_statement,
                ["Query"],
                "an index is queried and nothing else: {statement}"
            );
            indexes.extend(of_indexes);
        }
    }
    (actions, indexes)
}

/// The names that follow this beginning, wherever it stands.
fn names_after<'a>(text: &'a str, beginning: &str) -> Vec<&'a str> {
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    let parts = text.split(beginning).skip(1);
    parts
        .map(|rest| rest.split(|c| !is_letter(c)).next().unwrap_or_default())
        .collect()
}

#[test]
fn each_role_may_do_with_the_records_what_its_function_does_and_nothing_else() {
    let shared = resource(PERMISSIONS, "RecordsPolicy").join("\n");
    let (shared_actions, shared_indexes) = allowed_of_records(&shared);
    assert_eq!(shared_indexes, BTreeSet::new());
    assert!(!shared_actions.is_empty());
    for needs in FUNCTIONS {
        let role = role(needs.name);
        let (mut actions, indexes) = allowed_of_records(&role);
        if role.contains("!Ref RecordsPolicy") {
            let twice: Vec<_> = actions.intersection(&shared_actions).collect();
            assert!(twice.is_empty(), "{}: {twice:?} is allowed already", needs.name);
            actions.extend(&shared_actions);
        }
        assert_eq!(actions, needs.actions.iter().copied().collect(), "{}", needs.name);
        assert_eq!(indexes, needs.indexes.iter().copied().collect(), "{}", needs.name);
    }
    assert!(!PERMISSIONS.contains("dynamodb:*") && !PERMISSIONS.contains("dynamodb:Scan"));
}

#[test]
fn each_index_is_queried_by_a_function_and_is_in_the_table() {
    let table = resource(TEMPLATE, "Table").join("\n");
    let made: BTreeSet<&str> = names_after(&table, "IndexName: ").into_iter().collect();
    let queried: BTreeSet<&str> = FUNCTIONS
        .iter()
        .flat_map(|needs| needs.indexes)
        .copied()
        .collect();
    assert_eq!(made, queried);
}

#[test]
fn what_configuration_can_name_is_no_secret_of_the_installation() {
    for FunctionNeeds {
        name: function, read, ..
    } in FUNCTIONS
    {
        let role = role(function);
        assert!(!role.contains(":parameter${ParameterPrefix}*"), "{function}");
        assert!(!role.contains("own/*"), "{function}");
        let speaks = read.contains(&PROVIDERS);
        let instances = role.contains(":parameter${ParameterPrefix}instances/*\"");
        assert_eq!(instances, speaks, "{function}");
        let apps = role.contains(":parameter${ParameterPrefix}instances/*/app-secret*\"");
        assert_eq!(apps, function == "Webhook", "{function}");
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
    for FunctionNeeds { name: function, .. } in FUNCTIONS {
        let role = role(function);
        if role.contains("s3:GetObject") {
            assert!(role.contains("s3:ListBucket"), "{function}");
        }
    }
}
