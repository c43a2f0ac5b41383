//! The deployment's own programs, `infra/deploy.py` and `infra/stack.py`, run without an account: what would be run is listed instead,
//! and the account's answers are given.

#![expect(
    clippy::unwrap_used,
    reason = "test code: whatever is not as it should be ends the test"
)]

use serde_json::{Value, json};
use std::io::Write;
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

ran = []
deploy.run = lambda command: ran.append([str(word) for word in command])
arguments = deploy.parse_arguments()
config = type("Config", (), {"parameters": dict(stack.split_parameter(text) for text in arguments.parameter)})
deploy.deploy(arguments, config, Known())
print(json.dumps(ran))
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
    def parameters(self):
        return given["parameters"]

print(json.dumps(stack.look_at_concurrency(Known())))
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
fn who_deploys_is_told_if_full_queues_could_keep_webhooks_out() {
    let parameters = json!({"InboundConcurrency": "4", "TurnsConcurrency": "4", "OutboundConcurrency": "4"});
    let look = |given: Value| run_python(LOOK_AT_CONCURRENCY, &given);
    let told = look(json!({"limit": 10, "parameters": parameters}));
    let mend = told[1].as_str().unwrap();
    assert!(mend.contains("12 at a time and the account allows 10"), "{mend}");
    assert!(
        mend.contains("InboundConcurrency=2 TurnsConcurrency=2 OutboundConcurrency=2"),
        "{mend}"
    );
    assert_eq!(
        look(json!({"limit": 13, "parameters": parameters}))[1],
        json!(null)
    );
    let mut reserved = parameters.clone();
    reserved["WebhookReserved"] = json!("5");
    assert_eq!(look(json!({"limit": 10, "parameters": reserved}))[1], json!(null));
    let unknown = look(json!({"refused": "AccessDeniedException", "parameters": parameters}));
    assert!(
        unknown[0].as_str().unwrap().contains("not looked at"),
        "{unknown}"
    );
    let failed = look(json!({"refused": "InternalFailure", "parameters": parameters}));
    assert!(failed[1].is_string(), "{failed}");
}
