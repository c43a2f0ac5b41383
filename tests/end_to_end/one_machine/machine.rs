//! A running `recado` with stand-ins around it.

use recado_domain::provider::Provider;
use recado_testkit::sample_configuration::{META_NUMBER, write_sample_configuration};
use recado_testkit::servers::{Behaviour, Delivered, StandIns};
use recado_testkit::webhooks::{configured_secret, evolution_text};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const MASTER: &str = "master-of-this-test";
pub(crate) const TOKEN: &str = "token-of-this-test-of-32-characters";
pub(crate) const APP_SECRET: &str = "app-secret-of-this-test";
pub(crate) const VERIFY_TOKEN: &str = "verify-token-of-this-test";
pub(crate) const D360_KEY: &str = "d360-key-of-this-test";
pub(crate) const INSTANCE: &str = "suporte-01";
pub(crate) const PHONE_NUMBER_ID: &str = META_NUMBER;

/// A debounce that no pause in a burst outlasts, also on a busy machine.
pub(crate) const BURST: [(&str, &str); 2] = [
    ("RECADO_DEBOUNCE_SECONDS", "5"),
    ("RECADO_DEBOUNCE_MAX_SECONDS", "120"),
];

/// How long anything may take before the test fails: a machine may be busy with other work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Longer than any test: what hangs so long waits to be let go.
pub(crate) const UNTIL_LET_GO: Duration = Duration::from_secs(3_600);

/// What a running `recado` is started with and where its data is; restarted, it finds the same.
pub(crate) struct Machine {
    pub(crate) stand_ins: StandIns,
    pub(crate) http: Client,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
    /// What the shell does that becomes the process, if one does.
    pub(crate) before: Option<String>,
    /// The socket that is handed over at each start, as a service manager does.
    pub(crate) socket: Option<TcpListener>,
    running: Option<Running>,
    secrets: Mutex<BTreeMap<(Provider, String), String>>,
}

struct Running {
    child: Child,
    url: String,
    output: Arc<Mutex<String>>,
    log: Arc<Mutex<String>>,
}

impl Machine {
    /// All stand-ins, keys for them, and a debounce of 300 ms; changed by `variables`. Not started yet.
    pub(crate) fn prepared(variables: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "recado-e2e-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let stand_ins = StandIns::start();
        let mut all = BTreeMap::new();
        let mut set = |name: &str, value: &str| all.insert(name.to_owned(), value.to_owned());
        set("RECADO_ADDR", "127.0.0.1:0");
        set("RECADO_DATA", &folder.join("data").display().to_string());
        set("RECADO_TOKEN", TOKEN);
        set("RECADO_WEBHOOK_SECRET", MASTER);
        set("RECADO_DEBOUNCE_SECONDS", "0.3");
        set("RECADO_DEBOUNCE_MAX_SECONDS", "5");
        set("EVOLUTION_API_URL", &stand_ins.evolution.url());
        set("EVOLUTION_API_KEY", "evolution-key");
        set("META_BASE_URL", &stand_ins.meta.url());
        set("META_ACCESS_TOKEN", "meta-token");
        set("META_APP_SECRET", APP_SECRET);
        set("META_VERIFY_TOKEN", VERIFY_TOKEN);
        set("D360_BASE_URL", &stand_ins.dialog360.url());
        set("D360_API_KEY", D360_KEY);
        set("ANTHROPIC_BASE_URL", &stand_ins.anthropic.url());
        set("ANTHROPIC_API_KEY", "anthropic-key");
        for (name, value) in variables {
            set(name, value);
        }
        let http = recado_http_client::build_http_client().unwrap();
        let mut machine = Self {
            stand_ins,
            http,
            folder,
            variables: all,
            before: None,
            socket: None,
            running: None,
            secrets: Mutex::default(),
        };
        machine.configure_sample();
        machine
    }

    /// As [`Machine::prepared`], and serving.
    pub(crate) fn serving(variables: &[(&str, &str)]) -> Self {
        let mut machine = Self::prepared(variables);
        machine.start("serve");
        machine
    }

    /// As [`Machine::serving`], with one message of `jid` in, which the model is thinking about until it is let go.
    pub(crate) async fn thinking(jid: &str) -> Self {
        let machine = Self::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
        machine.stand_ins.anthropic.next(Behaviour::Hang(UNTIL_LET_GO));
        machine
            .evolution(&evolution_text(INSTANCE, jid, "THINK", "Oi", seconds()))
            .await;
        machine.stand_ins.anthropic.wait_for_requests(1, PATIENCE).await;
        machine
    }

    /// Writes the configuration that the next start applies.
    pub(crate) fn configure(&mut self, document: &str) {
        let file = self.folder.join("recado.toml");
        std::fs::write(&file, document).unwrap();
        self.set("RECADO_CONFIG", &file.display().to_string());
    }

    /// Takes the sample configuration for the next start, with a number of Meta.
    pub(crate) fn configure_sample(&mut self) {
        self.configure(&Self::sample());
    }

    /// The sample configuration, with a number of Meta.
    pub(crate) fn sample() -> String {
        write_sample_configuration()
    }

    /// Changes a setting for the next start.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Removes a setting for the next start.
    pub(crate) fn unset(&mut self, name: &str) {
        self.variables.remove(name);
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The binary with this machine's environment and no other.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recado"));
        command
            .args(arguments)
            .env_clear()
            .envs(&self.variables)
            .current_dir(&self.folder);
        command
    }

    /// Starts it and waits until it listens. Without a command: pass "".
    pub(crate) fn start(&mut self, command: &str) {
        let arguments: Vec<&str> = [command].into_iter().filter(|word| !word.is_empty()).collect();
        let mut command = self.command(&arguments);
        if self.before.is_some() || self.socket.is_some() {
            let mut limited = Command::new("sh");
            let before = self.before.as_deref().unwrap_or("true");
            let handed = if let Some(socket) = &self.socket {
                limited.stdin(OwnedFd::from(socket.try_clone().unwrap()));
                "export LISTEN_PID=$$ LISTEN_FDS=1 && exec \"$0\" \"$@\" 3<&0 0</dev/null"
            } else {
                "exec \"$0\" \"$@\""
            };
            limited
                .arg("-c")
                .arg(format!("{before} && {handed}"))
                .arg(env!("CARGO_BIN_EXE_recado"))
                .args(&arguments)
                .env_clear()
                .envs(&self.variables)
                .current_dir(&self.folder);
            command = limited;
        }
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = collect(child.stdout.take().unwrap());
        let log = collect(child.stderr.take().unwrap());
        let began = Instant::now();
        let url = loop {
            let so_far = output.lock().unwrap().clone();
            if let Some(rest) = so_far.split("Recado listens on ").nth(1)
                && let Some(url) = rest.split_whitespace().next()
            {
                break url.to_owned();
            }
            let ended = child.try_wait().unwrap();
            let said = || format!("{so_far}{}", log.lock().unwrap());
            assert!(
                ended.is_none() && began.elapsed() < PATIENCE,
                "recado does not start: {}",
                said()
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        self.running = Some(Running {
            child,
            url,
            output,
            log,
        });
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("recado is running")
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.running().child.id()
    }

    /// Its address.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.running().url)
    }

    /// What it printed.
    pub(crate) fn output(&self) -> String {
        self.running().output.lock().unwrap().clone()
    }

    /// What it logged.
    pub(crate) fn log(&self) -> String {
        self.running().log.lock().unwrap().clone()
    }

    /// Ends it without warning.
    pub(crate) fn kill(&mut self) {
        let mut running = self.running.take().expect("recado is running");
        running.child.kill().unwrap();
        running.child.wait().unwrap();
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let running = self.running.as_ref().expect("recado is running");
        let asked = Command::new("kill")
            .args([signal, &running.child.id().to_string()])
            .status()
            .unwrap();
        assert!(asked.success());
    }

    /// Asks it to stop, and waits until it says that it finishes what it has begun.
    pub(crate) async fn told_to_stop(&self) {
        self.signal("-TERM");
        eventually("the signal to be heard", || async {
            self.output().contains("Finishing what was begun").then_some(())
        })
        .await;
    }

    /// Asks it to stop and waits until it has.
    pub(crate) fn stop(&mut self, signal: &str) -> ExitStatus {
        self.signal(signal);
        self.stopped()
    }

    /// Waits until it has stopped.
    pub(crate) fn stopped(&mut self) -> ExitStatus {
        let mut running = self.running.take().expect("recado is running");
        let began = Instant::now();
        loop {
            if let Some(status) = running.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "recado does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The webhook secret of an Evolution instance, as the running process first told what it is made of.
    pub(crate) fn secret(&self, instance: &str) -> String {
        self.secret_at(Provider::Evolution, instance)
    }

    /// The same of an instance of this provider.
    pub(crate) fn secret_at(&self, provider: Provider, instance: &str) -> String {
        let mut known = self.secrets.lock().unwrap();
        let read = || configured_secret(MASTER, (provider, instance), &self.read_configuration());
        known
            .entry((provider, instance.to_owned()))
            .or_insert_with(read)
            .clone()
    }

    /// Reads the configuration without an async runtime: closures of tests need it, too.
    fn read_configuration(&self) -> Value {
        let url = self.url("");
        let mut stream = TcpStream::connect(url.trim_start_matches("http://").trim_end_matches('/')).unwrap();
        let head = "GET /v1/config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer";
        write!(stream, "{head} {TOKEN}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Posts a webhook of Evolution API with its proof.
    pub(crate) async fn evolution(&self, body: &Value) -> StatusCode {
        let instance = body["instance"]
            .as_str()
            .or(body["instanceName"].as_str())
            .unwrap_or(INSTANCE);
        let request = self
            .http
            .post(self.url("/webhooks/evolution"))
            .header("apikey", self.secret(instance));
        request.json(body).send().await.unwrap().status()
    }

    /// Calls the operators' API.
    pub(crate) async fn api(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let mut request = self.http.request(method, self.url(path)).bearer_auth(TOKEN);
        if let Some(body) = body {
            request = request.json(&body);
        }
        json_of(request.send().await.unwrap()).await
    }

    /// Reads from the operators' API.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.api(Method::GET, path, None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    /// The only conversation's id, once there is one.
    pub(crate) async fn conversation(&self) -> String {
        let list = eventually("a conversation", || async {
            let list = self.get("/v1/conversations").await;
            (!list["items"].as_array().unwrap().is_empty()).then_some(list)
        });
        let list = list.await;
        assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
        list["items"][0]["id"].as_str().unwrap().to_owned()
    }

    /// A conversation's messages, the oldest first.
    pub(crate) async fn messages(&self, conversation: &str) -> Vec<Value> {
        let list = self
            .get(&format!("/v1/conversations/{conversation}/messages"))
            .await;
        list["items"].as_array().unwrap().iter().rev().cloned().collect()
    }

    /// What Evolution's stand-in accepted, once there are `count`.
    pub(crate) async fn phone(&self, count: usize) -> Vec<Delivered> {
        let got = self.stand_ins.evolution.wait_for_phone(count, PATIENCE).await;
        assert_eq!(got.len(), count, "on the phone: {got:?}\n{}", self.log());
        got
    }

    /// Waits until nothing is queued and nothing is being done. A change of a message that is not known waits for it for a
    /// minute.
    pub(crate) async fn quiet(&self) {
        eventually_within(3 * PATIENCE, "quiet queues", || async {
            let health = self.get("/health/whatsapp").await;
            let idle = json!({"inbound": 0, "turns": 0, "outbound": 0});
            (health["queues"] == idle).then_some(())
        })
        .await;
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            if std::thread::panicking() {
                eprintln!("what it logged:\n{}", running.log.lock().unwrap());
            }
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn collect(stream: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let into = Arc::clone(&text);
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let _ = writeln!(into.lock().unwrap(), "{line}");
        }
    });
    text
}

/// A response's status and JSON body; text that is no JSON as a string.
pub(crate) async fn json_of(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (status, body)
}

/// Waits for a condition, with a limit.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, look: impl FnMut() -> F) -> T {
    eventually_within(PATIENCE, what, look).await
}

/// Waits for a condition, for as long as is said.
pub(crate) async fn eventually_within<T, F: Future<Output = Option<T>>>(
    patience: Duration,
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < patience, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The time in seconds, as providers write it.
pub(crate) fn seconds() -> i64 {
    jiff::Timestamp::now().as_second()
}
