//! A mail server that speaks SMTP (RFC 5321) without TLS. It keeps what it takes, byte by byte, and refuses commands out of order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// An e-mail as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mail {
    /// The path of `MAIL FROM`.
    pub from: String,
    /// The paths of `RCPT TO`.
    pub to: Vec<String>,
    /// The content, with its dots as sent.
    pub data: String,
    /// The user that signed in.
    pub user: Option<String>,
}

/// What the server says to the next command that begins so, in place of its usual answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// To a command that begins so, this line.
    To(&'static str, &'static str),
    /// To the content, this line. The e-mail is taken if it begins with 2.
    AtTheEnd(&'static str),
    /// Takes the content and breaks the connection without an answer.
    TakesAndBreaks,
    /// Breaks the connection at a command that begins so.
    BreaksAt(&'static str),
    /// Takes the content and never answers.
    TakesAndHangs,
}

#[derive(Debug, Default)]
struct State {
    mails: Vec<Mail>,
    violations: Vec<String>,
    script: Vec<Says>,
    login: Option<String>,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct MailServer {
    /// Where it listens, such as `smtp://127.0.0.1:40001`.
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl MailServer {
    /// Starts one on a free port. It does each part of `script` once, when it fits.
    ///
    /// # Panics
    /// When there is no port.
    #[expect(
        clippy::unwrap_used,
        reason = "a test on a machine without a free port cannot go on"
    )]
    pub async fn start(script: Vec<Says>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            url: format!("smtp://{}", listener.local_addr().unwrap()),
            state: Arc::default(),
        };
        server.state().script = script;
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move { serving.serve(stream).await });
            }
        });
        server
    }

    /// Lets in only who signs in with `AUTH PLAIN` as this, base64 of `\0user\0password`.
    pub fn expect_login(&self, encoded: &str) {
        self.state().login = Some(encoded.to_owned());
    }

    /// What it took, in order.
    pub fn mails(&self) -> Vec<Mail> {
        self.state().mails.clone()
    }

    /// Commands that were wrong or out of order.
    pub fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a part of the script that fits, out of it.
    fn take(&self, fits: impl Fn(&Says) -> bool) -> Option<Says> {
        let mut state = self.state();
        let found = state.script.iter().position(fits)?;
        Some(state.script.remove(found))
    }

    /// Speaks with one client, until it leaves or the connection is broken.
    async fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        let (mut mail, mut user) = (Mail::default(), None);
        stream.write_all(b"220 mail.example ESMTP\r\n").await.ok()?;
        loop {
            let line = read_line(&mut stream).await?;
            let said = line.trim_end_matches("\r\n");
            let scripted = self.take(|part| match part {
                Says::To(begin, _) | Says::BreaksAt(begin) => said.starts_with(begin),
                _ => false,
            });
            let answer = match scripted {
                Some(Says::To(_, answer)) => answer.to_owned(),
                Some(_) => return None,
                None if said == "DATA" && !mail.to.is_empty() => {
                    stream.write_all(b"354 go on\r\n").await.ok()?;
                    mail.data = read_content(&mut stream).await?;
                    mail.user.clone_from(&user);
                    self.end_content(std::mem::take(&mut mail)).await?
                }
                None => self.answer(said, &mut mail, &mut user),
            };
            stream.write_all(format!("{answer}\r\n").as_bytes()).await.ok()?;
        }
    }

    /// Returns the answer to a command.
    fn answer(&self, said: &str, mail: &mut Mail, user: &mut Option<String>) -> String {
        let login = self.state().login.clone();
        let is_in = login.is_none() || user.is_some();
        if said.starts_with("EHLO ") {
            return "250-mail.example\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME".to_owned();
        }
        if let Some(shown) = said.strip_prefix("AUTH PLAIN ") {
            if login.is_none_or(|login| login == shown) {
                *user = Some(shown.to_owned());
                return "235 welcome".to_owned();
            }
            return "535 5.7.8 not these".to_owned();
        }
        if let Some(path) = said.strip_prefix("MAIL FROM:") {
            if !is_in {
                return "530 5.7.0 sign in first".to_owned();
            }
            path.split(' ')
                .next()
                .unwrap_or_default()
                .clone_into(&mut mail.from);
            return "250 ok".to_owned();
        }
        match said.strip_prefix("RCPT TO:") {
            Some(path) if !mail.from.is_empty() => {
                mail.to.push(path.to_owned());
                "250 ok".to_owned()
            }
            None if matches!(said, "QUIT" | "NOOP" | "RSET") => "250 ok".to_owned(),
            _ => {
                self.state().violations.push(said.to_owned());
                "503 5.5.1 not now".to_owned()
            }
        }
    }

    /// Ends the content of an e-mail as the script says. `None`: the connection breaks.
    async fn end_content(&self, mail: Mail) -> Option<String> {
        let is_end = |part: &Says| {
            matches!(
                part,
                Says::AtTheEnd(_) | Says::TakesAndBreaks | Says::TakesAndHangs
            )
        };
        let scripted = self.take(is_end);
        let is_taken = !matches!(&scripted, Some(Says::AtTheEnd(line)) if !line.starts_with('2'));
        if is_taken {
            self.state().mails.push(mail);
        }
        match scripted {
            Some(Says::AtTheEnd(line)) => Some(line.to_owned()),
            Some(Says::TakesAndHangs) => {
                tokio::time::sleep(Duration::from_secs(600)).await;
                None
            }
            Some(_) => None,
            None => Some("250 2.0.0 taken".to_owned()),
        }
    }
}

async fn read_line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let read = stream.read_line(&mut line).await.ok()?;
    (read > 0).then_some(line)
}

async fn read_content(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut data = String::new();
    loop {
        let line = read_line(stream).await?;
        if line == ".\r\n" {
            return Some(data);
        }
        data.push_str(&line);
    }
}
