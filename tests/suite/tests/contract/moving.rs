//! An installation moves from one machine to AWS and back, by the programs that people run.

use crate::account::{REGION, clients, emulator};
use crate::dynamodb::make_table;
use crate::queues::make_bucket;
use recado_testkit::builders::fresh;
use recado_testkit::kept_answers::{PASSING, find_missing};
use recado_testkit::sample_configuration::write_sample_configuration;
use recado_testkit::servers::StandIns;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

const ACCOUNT: &str = "444444444444";

const TOKEN: &str = "token-of-this-test-of-32-characters";

/// A folder with a data folder and the answers of the program that wrote it.
const FORMATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats");

/// What moves, in a folder that goes with the test.
struct MovedInstallation {
    folder: PathBuf,
    stand_ins: StandIns,
    table: String,
    bucket: String,
}

impl Drop for MovedInstallation {
    fn drop(&mut self) {
        let _removed = fs::remove_dir_all(&self.folder);
    }
}

/// A program that was built beside this one.
fn program(name: &str) -> Command {
    let this = std::env::current_exe().unwrap();
    let program = this.parent().and_then(Path::parent).unwrap().join(name);
    assert!(
        program.exists(),
        "{} is not built: `make functions` builds it",
        program.display()
    );
    let mut command = Command::new(program);
    command.env_clear();
    command
}

/// Runs a program to its end, and returns what it prints as JSON.
fn run(mut command: Command) -> Value {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

impl MovedInstallation {
    async fn build() -> Self {
        let (aws, name) = (clients(ACCOUNT), fresh("moving"));
        make_table(&aws.dynamodb, &name).await;
        let folder = std::env::temp_dir().join(format!("recado-{name}"));
        fs::create_dir_all(&folder).unwrap();
        // A server applies the configuration of its folder, as the one that wrote the kept folder did.
        fs::write(folder.join("recado.toml"), write_sample_configuration()).unwrap();
        Self {
            folder,
            stand_ins: StandIns::start(),
            bucket: make_bucket(&aws, &name).await,
            table: name,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The program of one machine, on a data folder. Whatever it asks outside is a stand-in.
    fn on_machine(&self, data: &str, arguments: &[&str]) -> Command {
        let mut command = program("recado");
        let stand_ins = &self.stand_ins;
        let variables = [
            ("RECADO_ADDR", "127.0.0.1:0".to_owned()),
            ("RECADO_DATA", self.path(data).display().to_string()),
            ("RECADO_TOKEN", TOKEN.to_owned()),
            ("RECADO_WEBHOOK_SECRET", "master-of-this-test".to_owned()),
            ("RECADO_PUBLIC_URL", "http://127.0.0.1:9".to_owned()),
            ("RECADO_CREDENTIAL_SHOP_KEY", "evolution-key".to_owned()),
            ("EVOLUTION_API_URL", stand_ins.evolution.url()),
            ("EVOLUTION_API_KEY", "evolution-key".to_owned()),
            ("META_BASE_URL", stand_ins.meta.url()),
            ("META_ACCESS_TOKEN", "meta-token".to_owned()),
            ("META_APP_SECRET", "app-secret-of-this-test".to_owned()),
            ("META_VERIFY_TOKEN", "verify-token-of-this-test".to_owned()),
            ("D360_BASE_URL", stand_ins.dialog360.url()),
            ("D360_API_KEY", "d360-key-of-this-test".to_owned()),
            ("ANTHROPIC_BASE_URL", stand_ins.anthropic.url()),
            ("ANTHROPIC_API_KEY", "anthropic-key".to_owned()),
        ];
        command.args(arguments).envs(variables).current_dir(&self.folder);
        command
    }

    /// The program of AWS, on the table and the bucket.
    fn on_aws(&self, arguments: &[&str]) -> Command {
        let (mut command, endpoint) = (program("recado-on-aws"), emulator());
        let variables = [
            ("RECADO_TABLE", self.table.as_str()),
            ("RECADO_BUCKET", self.bucket.as_str()),
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", ACCOUNT),
            ("AWS_SECRET_ACCESS_KEY", "test"),
        ];
        command.args(arguments).envs(variables).current_dir(&self.folder);
        command
    }

    /// Makes a data folder of a released format. Returns what its program answered, by paths.
    fn unpack_folder(&self, data: &str) -> Map<String, Value> {
        let releases = fs::read_dir(FORMATS).unwrap();
        let release = releases.map(|release| release.unwrap().path()).max().unwrap();
        let data = self.path(data);
        fs::create_dir_all(&data).unwrap();
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(release.join("folder.tar.gz"));
        unpack.arg("--no-same-owner").arg("-C").arg(data);
        assert!(unpack.status().unwrap().success());
        let answers = fs::read_to_string(release.join("answers.json")).unwrap();
        serde_json::from_str(&answers).unwrap()
    }

    /// The content of an export: for each kind the number of records and their digest, and the files. Each store lists them in an order
    /// of its own.
    fn content(&self, export: &str) -> Value {
        let manifest = fs::read_to_string(self.path(export).join("manifest.json")).unwrap();
        let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
        for kind in manifest["kinds"].as_object_mut().unwrap().values_mut() {
            kind.as_object_mut().unwrap().remove("sha256");
        }
        let files = fs::read_to_string(self.path(export).join("files/files.jsonl")).unwrap();
        let files: BTreeSet<&str> = files.lines().collect();
        json!({"kinds": manifest["kinds"], "files": files})
    }

    /// Starts a server. Returns it with its URL.
    fn serve(&self, data: &str) -> (Server, String) {
        let log = self.path("log");
        let mut command = self.on_machine(data, &["serve"]);
        command.stdout(Stdio::piped());
        let mut child = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let url = loop {
            line.clear();
            let read = output.read_line(&mut line).unwrap();
            assert!(
                read > 0,
                "recado does not start: {}",
                fs::read_to_string(&log).unwrap()
            );
            if let Some((_, rest)) = line.split_once("Recado listens on ") {
                break rest.split_whitespace().next().unwrap().to_owned();
            }
        };
        let server = Server {
            child,
            _output: output,
        };
        (server, url)
    }
}

/// A server, killed with the test.
struct Server {
    child: Child,
    /// What it prints. It would end if nobody could read that.
    _output: BufReader<ChildStdout>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

#[tokio::test]
async fn an_installation_that_moves_to_aws_and_back_is_the_same() {
    let moved = MovedInstallation::build().await;
    let answers = moved.unpack_folder("old");
    let left = run(moved.on_machine("old", &["export", "there", "--json"]));
    let taken = run(moved.on_aws(&["import", "there", "--json"]));
    assert_eq!(taken["records"], left["records"]);
    assert_eq!(
        run(moved.on_aws(&["import", "there", "--json"]))["was_finished"],
        true
    );
    run(moved.on_aws(&["export", "back", "--json"]));
    let taken = run(moved.on_machine("new", &["import", "back", "--json"]));
    assert_eq!(taken["records"], left["records"]);
    run(moved.on_machine("new", &["export", "after", "--json"]));

    let there = moved.content("there");
    let kinds = there["kinds"].as_object().unwrap().values();
    assert!(kinds.filter(|kind| kind["count"] != 0).count() > 15, "{there}");
    assert!(there["files"].as_array().unwrap().len() > 1, "{there}");
    assert_eq!(moved.content("back"), there);
    assert_eq!(moved.content("after"), there);

    let (_server, url) = moved.serve("new");
    let http = recado_http_client::build_http_client().unwrap();
    for (path, before) in answers {
        let request = http.get(format!("{url}{path}")).bearer_auth(TOKEN);
        let now: Value = request.send().await.unwrap().json().await.unwrap();
        let passing = [&PASSING[..], &["media_url"]].concat();
        assert_eq!(find_missing(&before, &now, &passing), None, "{path}");
    }
}
