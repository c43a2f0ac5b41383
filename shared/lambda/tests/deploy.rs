//! The deployment's own programs, `infra/deploy.py` and `infra/stack.py`, run without an account: what would be run is listed instead,
//! and the account's answers are given.

#![expect(
    clippy::unwrap_used,
    reason = "test code: whatever is not as it should be ends the test"
)]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Prints the commands that a deployment with the given arguments would run, in order.
const LIST_COMMANDS: &str = r#"
import json, sys
sys.argv = ["deploy.py", *given["arguments"]]
import deploy
import stack

class Known:
    name = "recado"
    def parameters(self):
        return given["parameters"]

def show_word(word):
    if not word.startswith("file://"):
        return word
    return " ".join(f"{name}={value}" for name, value in json.load(open(word.removeprefix("file://"))).items())

ran = []
deploy.run = lambda command: ran.append([show_word(str(word)) for word in command])
deploy.refuse_what_cannot_be = lambda parameters, stack: None
arguments = deploy.parse_arguments()
pairs = dict(stack.split_parameter(text) for text in arguments.parameter)
config = type("Config", (), {
    "parameters": {name: value for name, value in pairs.items() if "_" not in name},
    "settings": {name: value for name, value in pairs.items() if "_" in name},
})
deploy.deploy(arguments, config, Known())
print(json.dumps(ran))
"#;

/// Prints what ends a deployment before anything is built.
const REFUSE: &str = r#"
import deploy

class Session:
    region_name = "sa-east-1"
    def get_partition_for_region(self, region):
        return "aws"

class Known:
    name = "recado"
    session = Session()

deploy.look_at_concurrency = lambda stack, parameters: ("concurrency", None)
try:
    deploy.refuse_what_cannot_be(deploy.defaults() | given, Known())
    print(json.dumps(None))
except SystemExit as refused:
    print(json.dumps(str(refused)))
"#;

/// Prints the sizes of the functions' environments in a stack with the longest names.
const MEASURE: &str = r#"
from environment import Environments
longest = {"region": "ap-northeast-1", "partition": "aws-us-gov", "suffix": "amazonaws.com.cn"}
print(json.dumps(Environments(given, "s" * 49, **longest).sizes()))
"#;

/// Prints what a deployment is told of the account's concurrency.
const LOOK_AT_CONCURRENCY: &str = r#"
import json, sys, types

class ClientError(Exception):
    def __init__(self, code):
        self.response = {"Error": {"Code": code}}

exceptions = types.ModuleType("botocore.exceptions")
exceptions.ClientError = ClientError
sys.modules["botocore"] = types.ModuleType("botocore")
sys.modules["botocore.exceptions"] = exceptions
import stack

class Lambda:
    def get_account_settings(self):
        if given.get("refused"):
            raise ClientError(given["refused"])
        return {"AccountLimit": {"ConcurrentExecutions": given["limit"]}}

class Known:
    def client(self, service):
        assert service == "lambda"
        return Lambda()

print(json.dumps(stack.look_at_concurrency(Known(), given["parameters"])))
"#;

/// Runs a program of Python in the folder `infra`, with `given`, and returns the JSON that it prints.
fn run_python(program: &str, given: &Value) -> Value {
    let infra = concat!(env!("CARGO_MANIFEST_DIR"), "/../../infra");
    let begin = format!("import json, sys\nsys.path.insert(0, {infra:?})\ngiven = json.load(sys.stdin)\n");
    let mut python = Command::new("python3")
        .args(["-B", "-c", &format!("{begin}{program}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = python.stdin.take().unwrap();
    input.write_all(given.to_string().as_bytes()).unwrap();
    drop(input);
    let done = python.wait_with_output().unwrap();
    assert!(done.status.success(), "the program failed");
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The commands that a deployment would run, each as one text without the folders of its program.
fn list_commands(arguments: &[&str], parameters: &Value) -> Vec<String> {
    let ran = run_python(
        LIST_COMMANDS,
        &json!({"arguments": arguments, "parameters": parameters}),
    );
    let ran: Vec<Vec<String>> = serde_json::from_value(ran).unwrap();
    let shown = |command: &Vec<String>| {
        let program = command[0].rsplit('/').next().unwrap().to_owned();
        [vec![program], command[1..].to_vec()].concat().join(" ")
    };
    ran.iter().map(shown).collect()
}

#[test]
fn archives_are_deployed_as_they_lie_there_for_the_processor_of_the_stack() {
    let there = json!({"Architecture": "x86_64"});
    assert_eq!(
        list_commands(&["--no-build", "AlarmEmail=ops@example.org"], &there),
        [
            "check-architecture.sh x86_64",
            "sam deploy --config-env default --parameter-overrides AlarmEmail=ops@example.org Architecture=x86_64",
        ],
        "nothing is built, and the archives must be of the stack's processor"
    );
    let built = list_commands(&["Architecture=arm64"], &there);
    assert!(
        built[0].starts_with("cargo lambda build --release --arm64 --package webhook"),
        "{built:?}"
    );
    assert_eq!(built.len(), 3, "without the option it is built first: {built:?}");
}

#[test]
fn a_setting_that_is_given_changes_one_of_those_that_the_stack_has() {
    let there = json!({"Architecture": "arm64", "Settings": "RECADO_TOOL_CALLS=8;RECADO_TURN_MESSAGES=40"});
    let ran = list_commands(
        &["--no-build", "RECADO_TURN_MESSAGES=", "RECADO_RATE_BURST=9"],
        &there,
    );
    assert!(
        ran[1].ends_with("Settings=RECADO_TOOL_CALLS=8;RECADO_RATE_BURST=9 Architecture=arm64"),
        "{ran:?}"
    );
}

#[test]
fn what_cannot_be_is_said_before_anything_is_built() {
    assert_eq!(run_python(REFUSE, &json!({})), json!(null));
    let wrong = json!({
        "Settings": "RECADO_TURN_MESSAGES=400;RECADO_TURN_MESAGES=40;RECADO_REWRITE=often",
        "AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:on-call",
        "VectorBucket": "recado-vectors",
        "OtlpHeaders": "\"".repeat(2000),
        "OtlpEndpoint": "https://traces.example",
    });
    let refused = run_python(REFUSE, &wrong);
    for told in [
        "RECADO_TURN_MESSAGES=400: must be a number from 1 to 200",
        "RECADO_TURN_MESAGES is no setting",
        "RECADO_REWRITE=often: must be model or rules or off",
        "AlarmTopicArn is in us-east-1, and the stack goes to sa-east-1",
        "VectorBucket is no parameter of template.yaml",
        "the environment of Poster would have",
    ] {
        assert!(refused.as_str().unwrap().contains(told), "{told}: {refused}");
    }
}

/// The sizes of the functions' environments with these parameters, in a stack with the longest names.
fn measure(parameters: &Value) -> BTreeMap<String, usize> {
    serde_json::from_value(run_python(MEASURE, parameters)).unwrap()
}

#[test]
fn the_longest_names_leave_room_in_each_environment() {
    let names = json!({
        "ParameterPrefix": format!("/{}/", "p".repeat(38)),
        "SocialTopicArn": format!("arn:aws-us-gov:sns:ap-northeast-1:123456789012:{}", "t".repeat(256)),
        "DomainName": "d".repeat(253),
    });
    let sizes = measure(&names);
    assert_eq!(sizes.len(), 8, "{sizes:?}");
    assert!(
        sizes.values().all(|size| (300..=3000).contains(size)),
        "{sizes:?}"
    );
    let mut all = names;
    for (name, longest) in [
        ("Settings", 700),
        ("OtlpEndpoint", 200),
        ("OtlpHeaders", 300),
        ("TraceUrl", 200),
        ("EvolutionApiUrl", 200),
    ] {
        all[name] = json!("x".repeat(longest));
        let template = include_str!("../../../template.yaml");
        let parameter = template.split(&format!("\n  {name}:\n")).nth(1).unwrap();
        let parameter = parameter.split("    Description:").next().unwrap();
        assert!(
            parameter.contains(&format!("MaxLength: {longest}")),
            "{name}: {parameter}"
        );
    }
    let sizes = measure(&all);
    assert!(
        sizes.values().all(|size| *size <= 4096),
        "no deployment can pass Lambda's limit: {sizes:?}"
    );
}

/// A folder of this test's own, which is there and empty.
fn make_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("recado-{name}-{}", std::process::id()));
    let _absent = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a program that can be run.
fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn make_deploy_has_the_region_of_the_configuration_and_parameters_of_any_character() {
    let folder = make_folder("make-deploy");
    fs::write(folder.join("Makefile"), include_str!("../../../Makefile")).unwrap();
    for file in [".tools/venv/.installed", "tests/requirements.txt"] {
        fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
        fs::write(folder.join(file), "").unwrap();
    }
    fs::write(folder.join(".tools/venv/.installed"), "newer").unwrap();
    let show =
        r#"printf '%s|' "${AWS_DEFAULT_REGION-none}" "${AWS_EC2_METADATA_DISABLED-none}" "$PARAMETERS" "$@""#;
    write_program(&folder.join("infra/deploy.py"), &format!("#!/bin/sh\n{show}\n"));
    let parameters = "TraceUrl=https://t.example/x?a=1&id={trace_id} A=\"x y;(z\" B=$c$(HOME)`d`#";
    let done = Command::new("make")
        .args([
            "-s",
            "deploy",
            "CONFIG_ENV=staging",
            &format!("PARAMETERS={parameters}"),
        ])
        .current_dir(&folder)
        .env_remove("AWS_DEFAULT_REGION")
        .env_remove("AWS_EC2_METADATA_DISABLED")
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .output()
        .unwrap();
    let told = String::from_utf8(done.stdout).unwrap();
    assert_eq!(
        told,
        format!("none|none|{parameters}|--config-env|staging|"),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    fs::remove_dir_all(folder).unwrap();
}

/// Runs `infra/adopt.sh --settings table` with an AWS CLI that answers so, and returns the changes that it asked for.
fn set_table(name: &str, answers: &[(&str, &str)]) -> Vec<String> {
    let folder = make_folder(name);
    let cases = answers
        .iter()
        .map(|(asked, answer)| format!("*{asked}*) echo {answer} ;;\n"));
    let cases = cases.collect::<Vec<_>>().concat();
    let program = format!("#!/bin/sh\ncase \"$*\" in\n{cases}*) echo \"$*\" >> \"$CHANGES\" ;;\nesac\n");
    write_program(&folder.join("aws"), &program);
    let changes = folder.join("changes");
    fs::write(&changes, "").unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let adopt = concat!(env!("CARGO_MANIFEST_DIR"), "/../../infra/adopt.sh");
    let done = Command::new(adopt)
        .args(["--settings", "restored"])
        .env("PATH", path)
        .env("CHANGES", &changes)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let asked = fs::read_to_string(&changes).unwrap();
    fs::remove_dir_all(folder).unwrap();
    asked
        .lines()
        .filter(|line| !line.contains(" wait "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_restored_table_gets_back_what_a_restore_loses_and_another_stays_as_it_is() {
    let restored = [
        ("Table.StreamSpecification", "None"),
        ("Table.DeletionProtectionEnabled", "False"),
        ("describe-time-to-live", "DISABLED"),
        ("describe-continuous-backups", "DISABLED"),
    ];
    let changes = set_table("restored-table", &restored);
    for change in [
        "--stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES",
        "--deletion-protection-enabled",
        "--time-to-live-specification Enabled=true,AttributeName=ttl",
        "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
    ] {
        assert!(
            changes.iter().any(|asked| asked.contains(change)),
            "{change}: {changes:?}"
        );
    }
    assert_eq!(changes.len(), 4, "{changes:?}");
    let kept = [
        ("Table.StreamSpecification", "NEW_AND_OLD_IMAGES"),
        ("Table.DeletionProtectionEnabled", "True"),
        ("describe-time-to-live", "ENABLED"),
        ("describe-continuous-backups", "ENABLED"),
    ];
    assert_eq!(set_table("kept-table", &kept), Vec::<String>::new());
}

#[test]
fn who_deploys_is_told_if_full_queues_could_keep_webhooks_out() {
    let parameters = json!({"InboundConcurrency": "3", "TurnsConcurrency": "3", "OutboundConcurrency": "3", "PosterConcurrency": "3"});
    let look = |given: Value| run_python(LOOK_AT_CONCURRENCY, &given);
    let told = look(json!({"limit": 10, "parameters": parameters}));
    let mend = told[1].as_str().unwrap();
    assert!(mend.contains("12 at a time and the account allows 10"), "{mend}");
    assert!(
        mend.contains("InboundConcurrency=2 TurnsConcurrency=2 OutboundConcurrency=2 PosterConcurrency=2 WorkersReserved="),
        "{mend}"
    );
    assert_eq!(
        look(json!({"limit": 13, "parameters": parameters}))[1],
        json!(null)
    );
    let mut reserved = parameters.clone();
    reserved["WebhookReserved"] = json!("5");
    assert_eq!(
        look(json!({"limit": 105, "parameters": reserved}))[1],
        json!(null)
    );
    reserved["WorkersReserved"] = json!("yes");
    let refused = look(json!({"limit": 105, "parameters": reserved}));
    let refused = refused[1].as_str().unwrap();
    assert!(
        refused.contains("14 are reserved and Lambda keeps 100 unreserved"),
        "{refused}"
    );
    let unknown = look(json!({"refused": "AccessDeniedException", "parameters": parameters}));
    assert!(
        unknown[0].as_str().unwrap().contains("not looked at"),
        "{unknown}"
    );
    let failed = look(json!({"refused": "InternalFailure", "parameters": parameters}));
    assert!(failed[1].is_string(), "{failed}");
}
