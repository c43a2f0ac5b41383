//! The binary under test: started, killed without warning, started again on the same data.

use super::{MASTER, TOKEN, eventually};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a start may take.
const START_MAX: Duration = Duration::from_secs(60);

/// See the module. Ended, and its folder removed, when dropped; the folder of a failed run is kept.
#[derive(Debug)]
pub struct Process {
    binary: PathBuf,
    folder: PathBuf,
    variables: Vec<(String, String)>,
    starts: u32,
    child: Option<Child>,
    kept: bool,
}

impl Process {
    /// A binary with a folder of its own, this configuration (TOML) and these variables and no others. Not started yet.
    ///
    /// # Panics
    /// When the folder cannot be made.
    pub fn new(binary: &Path, configuration: &str, variables: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("recado-soak-{}-{count}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let document = folder.join("recado.toml");
        fs::write(&document, configuration).unwrap();
        let own = [
            ("RECADO_ADDR", "127.0.0.1:0".to_owned()),
            ("RECADO_DATA", folder.join("data").display().to_string()),
            ("RECADO_CONFIG", document.display().to_string()),
            ("RECADO_TOKEN", TOKEN.to_owned()),
            ("RECADO_WEBHOOK_SECRET", MASTER.to_owned()),
            ("EVOLUTION_API_KEY", "evolution-key".to_owned()),
            ("ANTHROPIC_API_KEY", "anthropic-key".to_owned()),
        ];
        let given = variables.iter().map(|(name, value)| (*name, (*value).to_owned()));
        Self {
            binary: binary.to_owned(),
            variables: own
                .into_iter()
                .chain(given)
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            folder,
            starts: 0,
            child: None,
            kept: false,
        }
    }

    /// Starts it and waits until it listens; its address.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start(&mut self) -> String {
        self.starts += 1;
        let output = self.folder.join(format!("output-{}", self.starts));
        let log = File::create(self.folder.join(format!("log-{}", self.starts))).unwrap();
        let child = Command::new(&self.binary)
            .arg("serve")
            .env_clear()
            .envs(self.variables.iter().cloned())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(File::create(&output).unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
        eventually(START_MAX, "recado to listen", || async {
            let said = fs::read_to_string(&output).unwrap_or_default();
            let rest = said.split("Recado listens on ").nth(1)?;
            rest.contains('\n')
                .then(|| rest.split_whitespace().next().unwrap_or_default().to_owned())
        })
        .await
    }

    /// Ends it without warning.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }

    /// Where its database is.
    pub fn database(&self) -> PathBuf {
        self.folder.join("data").join("recado.db")
    }

    /// Keeps the folder, with the database and the logs; where it is.
    pub fn keep(&mut self) -> &Path {
        self.kept = true;
        &self.folder
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            println!("the data and the logs are kept in {}", self.folder.display());
        } else if !self.kept {
            fs::remove_dir_all(&self.folder).ok();
        }
    }
}
