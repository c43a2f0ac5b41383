//! What each function uses, against what `template.yaml` gives it and what its role there may do.

use super::*;
use recado_aws::OwnParameters;
use std::collections::BTreeSet;

mod functions;

const TEMPLATE: &str = include_str!("../../../../template.yaml");

/// The lines of a resource.
fn resource(name: &str) -> Vec<&'static str> {
    let heading = format!("  {name}:");
    let mut lines = TEMPLATE.lines().skip_while(|line| **line != heading);
    assert!(lines.next().is_some(), "{name} is there");
    lines
        .take_while(|line| line.starts_with("   ") || line.trim().is_empty())
        .collect()
}

/// The variables that a function has of its own.
fn variables(function: &str) -> BTreeSet<&'static str> {
    let lines = resource(&format!("{function}Function")).into_iter();
    let own = lines.skip_while(|line| line.trim() != "Variables:").skip(1);
    own.take_while(|line| line.starts_with("          "))
        .filter(|line| !line.trim().starts_with('#'))
        .filter_map(|line| line.trim().split(':').next())
        .collect()
}

fn role(function: &str) -> String {
    resource(&format!("{function}Role")).join("\n")
}

#[test]
fn each_function_is_given_what_its_use_cases_read_and_nothing_else() {
    for needs in FUNCTIONS {
        let function = needs.name;
        let given = variables(function);
        let mut expected: BTreeSet<&str> = needs.list_required_variables().into_iter().collect();
        expected.extend(needs.read.iter().copied().flatten());
        assert_eq!(given, expected, "{function}");
    }
}

/// What a text allows: each action with each resource that it is allowed on.
fn allowed(text: &str) -> BTreeSet<(String, String)> {
    let mut pairs = BTreeSet::new();
    for statement in text.split("- Sid: ").skip(1) {
        let statement = without_comments(statement);
        if statement.contains("Effect: Deny") {
            continue;
        }
        assert!(statement.contains("Effect: Allow"), "{statement}");
        let (_, rest) = statement.split_once("Action:").expect("a statement has actions");
        let (actions, rest) = rest.split_once("Resource:").expect("a statement has resources");
        let resources = rest.split("Condition:").next().unwrap_or_default();
        let actions = match list(actions).as_slice() {
            [alias] if alias == "*consume" => CONSUME.map(str::to_owned).to_vec(),
            listed => listed
                .iter()
                .map(|one| one.replace("&consume", "").trim().to_owned())
                .collect(),
        };
        for resource in list(resources) {
            for action in actions.iter().filter(|action| !action.is_empty()) {
                let twice = !pairs.insert((action.clone(), resource.clone()));
                assert!(!twice, "{action} on {resource} is allowed twice");
            }
        }
    }
    pairs
}

fn without_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// The members of a list of YAML in either form, or its one value.
fn list(text: &str) -> Vec<String> {
    let trimmed = text.trim();
    let inner = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let parts: Vec<&str> = match inner {
        Some(inner) => inner.split(", ").collect(),
        None => trimmed.split('\n').collect(),
    };
    let members = parts.into_iter().map(|part| part.trim().trim_start_matches("- "));
    members
        .filter(|member| !member.is_empty())
        .map(str::to_owned)
        .collect()
}

/// What a function does with the queue that feeds it.
const CONSUME: [&str; 4] = [
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibility",
    "sqs:GetQueueAttributes",
];

/// The queue of a variable, as a role names it.
fn queue_of(variable: &str) -> String {
    let name = variable.strip_prefix("RECADO_").unwrap_or_default();
    let (queue, kind) = name.split_once('_').expect("a queue and its kind");
    let (first, rest) = queue.split_at(1);
    let kind = if kind == "DLQ_URL" { "DeadLetters" } else { "Queue" };
    format!("!GetAtt {first}{}{kind}.Arn", rest.to_lowercase())
}

/// The account's own resource of a service.
fn of_account(service: &str, name: &str) -> String {
    format!("!Sub \"arn:${{AWS::Partition}}:{service}:${{AWS::Region}}:${{AWS::AccountId}}:{name}\"")
}

/// The secret that a variable names, with the action that reads it.
fn secret_of(variable: &str) -> Option<(&'static str, String)> {
    let managed = |name: &str| Some(("secretsmanager:GetSecretValue", name.to_owned()));
    match variable {
        "RECADO_WEBHOOK_SECRET_ARN" => managed("!GetAtt WebhookMaster.Id"),
        "RECADO_TOKEN_SECRET_ARN" => managed("!GetAtt OperatorToken.Id"),
        _ => None,
    }
}

/// What the table says that a function does, in the words of its role.
fn needed(needs: &FunctionNeeds) -> BTreeSet<(String, String)> {
    let mut pairs = BTreeSet::new();
    let mut add = |action: &str, resource: &str| {
        pairs.insert((action.to_owned(), resource.to_owned()));
    };
    for action in ["logs:CreateLogStream", "logs:PutLogEvents"] {
        add(action, &format!("!GetAtt {}Logs.Arn", needs.name));
    }
    for action in needs.actions {
        add(&format!("dynamodb:{action}"), "!GetAtt Table.Arn");
    }
    for index in needs.indexes {
        let queried = format!("!Sub \"${{Table.Arn}}/index/{index}\"");
        add("dynamodb:Query", &queried);
    }
    if let Some(queue) = needs.fed_by {
        for action in CONSUME {
            add(action, &queue_of(queue));
        }
    }
    if needs.is_fed_by_stream {
        for action in ["GetRecords", "GetShardIterator", "DescribeStream"] {
            add(&format!("dynamodb:{action}"), "!GetAtt Table.StreamArn");
        }
        add("dynamodb:ListStreams", "\"*\"");
    }
    for queue in needs.sends_to {
        add("sqs:SendMessage", &queue_of(queue));
    }
    for queue in needs.redrives_from {
        add("sqs:ReceiveMessage", &queue_of(queue));
        add("sqs:DeleteMessage", &queue_of(queue));
    }
    for queue in needs.counts {
        add("sqs:GetQueueAttributes", &queue_of(queue));
    }
    for (folder, actions) in needs.objects {
        for action in *actions {
            let objects = format!("!Sub \"${{Bucket.Arn}}/{folder}/*\"");
            add(&format!("s3:{action}"), &objects);
        }
    }
    if needs
        .objects
        .iter()
        .any(|(_, actions)| actions.contains(&"GetObject"))
    {
        // Without it S3 calls what is gone forbidden.
        add("s3:ListBucket", "!GetAtt Bucket.Arn");
    }
    for (action, secret) in needs
        .read
        .iter()
        .copied()
        .flatten()
        .filter_map(|name| secret_of(name))
    {
        add(action, &secret);
    }
    for secret in needs.own_secrets.iter().copied().flatten() {
        let name = OwnParameters::name_parameter("${ParameterPrefix}", secret);
        add(
            "ssm:GetParameter",
            &of_account("ssm", &format!("parameter{name}")),
        );
    }
    for path in needs.configured_secrets {
        add(
            "ssm:GetParameter",
            &of_account("ssm", &format!("parameter${{ParameterPrefix}}{path}")),
        );
    }
    if needs.schedules {
        add(
            "scheduler:CreateSchedule",
            &of_account("scheduler", "schedule/${Schedules}/*"),
        );
        add("iam:PassRole", "!GetAtt SchedulerRole.Arn");
    }
    if needs.pushes {
        let connections = of_account("execute-api", "${PushApi}/live/POST/@connections/*");
        add("execute-api:ManageConnections", &connections);
    }
    pairs
}

#[test]
fn each_role_allows_what_its_function_does_and_nothing_else() {
    let shared = resource("RecordsPolicy").join("\n");
    let shared = allowed(&shared);
    assert!(!shared.is_empty());
    for needs in &FUNCTIONS {
        let role = role(needs.name);
        let mut allowed = allowed(&role);
        if role.contains("!Ref RecordsPolicy") {
            let twice: Vec<_> = allowed.intersection(&shared).collect();
            assert!(twice.is_empty(), "{}: {twice:?} is allowed already", needs.name);
            allowed.extend(shared.iter().cloned());
        }
        let needed = needed(needs);
        let lacking: Vec<_> = needed.difference(&allowed).collect();
        let beyond: Vec<_> = allowed.difference(&needed).collect();
        assert!(
            lacking.is_empty(),
            "{} may not, and must: {lacking:#?}",
            needs.name
        );
        assert!(beyond.is_empty(), "{} may, and need not: {beyond:#?}", needs.name);
    }
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
fn each_index_is_queried_by_a_function_and_is_in_the_table() {
    let table = resource("Table").join("\n");
    let made: BTreeSet<&str> = names_after(&table, "IndexName: ").into_iter().collect();
    let queried: BTreeSet<&str> = FUNCTIONS
        .iter()
        .flat_map(|needs| needs.indexes)
        .copied()
        .collect();
    assert_eq!(made, queried);
}

/// The installation's own secrets lie under another prefix than credentials of instances.
#[test]
fn what_configuration_can_name_is_no_secret_of_the_installation() {
    for needs in &FUNCTIONS {
        for path in needs.configured_secrets {
            let named = path.starts_with("instances/") || path.starts_with("alerts/");
            assert!(named, "{}: {path}", needs.name);
        }
        let speaks = needs.read.contains(&PROVIDERS);
        assert_eq!(
            needs.configured_secrets.contains(&INSTANCE_SECRETS),
            speaks,
            "{}",
            needs.name
        );
    }
}

#[test]
fn what_publishes_writes_the_log_alone_and_what_posts_its_results() {
    let results = r#""endpoints#*", "endpoints.all#*", "failed-posts#*", "failed-posts.due#*""#;
    for (function, keys) in [("Publisher", r#""Z*""#), ("Poster", results)] {
        let role = role(function);
        let writes = role
            .split("- Sid: ")
            .filter(|statement| statement.contains("dynamodb:PutItem"));
        let limited: Vec<bool> = writes
            .map(|statement| statement.contains(&format!("dynamodb:LeadingKeys: [{keys}]")))
            .collect();
        assert_eq!(limited, [true], "{function}");
    }
    let role = role("Publisher");
    let deletes = role
        .split("- Sid: ")
        .filter(|statement| statement.contains("dynamodb:DeleteItem"));
    let limited: Vec<bool> = deletes
        .map(|statement| statement.contains("dynamodb:LeadingKeys: [\"ZL#*\"]"))
        .collect();
    assert_eq!(limited, [true], "of the rest it deletes push connections alone");
}

/// The statements of a role that refuse something.
fn refused(role: &str) -> Vec<&str> {
    let statements = role.split("- Sid: ").skip(1);
    statements
        .filter(|statement| statement.contains("Effect: Deny"))
        .collect()
}

#[test]
fn what_strangers_reach_writes_no_token_no_configuration_and_no_message() {
    let webhook = role("Webhook");
    let on_table = webhook
        .split("- Sid: ")
        .filter(|statement| statement.contains("Resource: !GetAtt Table.Arn"));
    let keys: Vec<&str> = on_table
        .map(|statement| {
            let (_, keys) = statement
                .split_once("ForAllValues:StringLike: { dynamodb:LeadingKeys: [")
                .unwrap();
            keys.split(']').next().unwrap()
        })
        .collect();
    let [read, written] = keys.as_slice() else {
        panic!("{keys:?}")
    };
    assert!(read.contains("\"instances#*\"") && !read.contains("C#"), "{read}");
    for (name, key) in [
        ("token", "tokens#clinic"),
        ("token by its hash", "tokens.by-hash#"),
        ("tenant", "tenants#"),
        ("instance", "instances#"),
        ("instance by its name", "instances.by-external#"),
        ("audit", "audit#clinic"),
        ("audit of all tenants", "audit.all#"),
        ("opt-out", "opt-outs#clinic"),
        ("message", "C#x"),
    ] {
        let may_write = written.split(", ").any(|pattern| {
            let pattern = pattern.trim_matches('"');
            let beginning = pattern.strip_suffix('*');
            beginning.map_or(pattern == key, |beginning| key.starts_with(beginning))
        });
        assert!(!may_write, "{name}: {written}");
    }
}

#[test]
fn what_works_on_words_of_strangers_makes_no_token_and_proves_no_webhook() {
    for function in ["Processor", "DeferredReply", "Sender"] {
        let role = role(function);
        let refused = refused(&role);
        let mut on_table = refused.iter().filter(|one| one.contains("dynamodb:LeadingKeys"));
        let writes = on_table.next().unwrap();
        for action in ["PutItem", "UpdateItem", "DeleteItem"] {
            assert!(
                writes.contains(&format!("dynamodb:{action}")),
                "{function}: {action}"
            );
        }
        for key in [
            "tokens#*",
            "tokens.*",
            "sessions#*",
            "removed-instances#*",
            "tenants#*",
            "tenants.*",
            "calendars#*",
            "tools#*",
            "agents#*",
            "instances#*",
            "instances.*",
            "configuration.*",
            "alert-config#*",
            "prices#*",
        ] {
            assert!(writes.contains(&format!("\"{key}\"")), "{function}: {key}");
        }
    }
    for needs in &FUNCTIONS {
        let reads_all = needs.configured_secrets.contains(&INSTANCE_SECRETS);
        let role = role(needs.name);
        let refuses = refused(&role).join("\n").contains("instances/*/app-secret*");
        // The API shows whether an instance's webhooks can be proven.
        assert_eq!(refuses, reads_all && needs.name != "Api", "{}", needs.name);
    }
}

#[test]
fn a_list_of_the_bucket_stays_in_the_folders_that_the_function_reads() {
    for needs in &FUNCTIONS {
        let role = role(needs.name);
        let lists = role
            .split("- Sid: ")
            .filter(|statement| statement.contains("s3:ListBucket"));
        for statement in lists {
            let folders: Vec<String> = needs
                .objects
                .iter()
                .filter(|(_, actions)| actions.contains(&"GetObject"))
                .map(|(folder, _)| format!("\"{folder}/*\""))
                .collect();
            let (_, prefixes) = statement
                .split_once("s3:prefix: [")
                .expect("a condition on the prefix");
            let prefixes = prefixes.split(']').next().unwrap_or_default();
            assert_eq!(prefixes.split(", ").count(), folders.len(), "{}", needs.name);
            for folder in folders {
                assert!(prefixes.contains(&folder), "{}: {folder}", needs.name);
            }
        }
    }
}

#[test]
fn what_works_behind_the_webhook_has_the_concurrency_of_its_queue_for_itself() {
    let default = resource("WorkersReserved").join("\n");
    assert!(default.contains("Default: \"yes\""), "{default}");
    for (function, parameter) in [
        ("ProcessorFunction", "InboundConcurrency"),
        ("DeferredReplyFunction", "TurnsConcurrency"),
        ("SenderFunction", "OutboundConcurrency"),
    ] {
        let lines = resource(function).join("\n");
        let reserved = format!("ReservedConcurrentExecutions: !If [ReservesWorkers, !Ref {parameter},");
        assert!(lines.contains(&reserved), "{function}");
        assert!(
            lines.contains(&format!("MaximumConcurrency: !Ref {parameter}")),
            "{function}"
        );
    }
}
