//! A receiver of webhooks and a mail server, in this process. They keep what they get, byte by byte.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What a receiver does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Answers(u16),
    Redirects(String),
    Hangs,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap()
    }

    /// Returns whether the library of Standard Webhooks takes the request for one that was signed with the secret.
    pub(crate) fn is_proven_by(&self, secret: &str) -> bool {
        let library = standardwebhooks::Webhook::new(secret).unwrap();
        let mut headers = reqwest::header::HeaderMap::new();
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            headers.insert(name, self.header(name).parse().unwrap());
        }
        library.verify(self.body.as_bytes(), &headers).is_ok()
    }

    /// Signs the request once more with the library of Standard Webhooks, and compares.
    pub(crate) fn check_signature(&self, secret: &str) {
        let library = standardwebhooks::Webhook::new(secret).unwrap();
        let at: i64 = self.header("webhook-timestamp").parse().unwrap();
        let signed = library.sign(self.header("webhook-id"), at, self.body.as_bytes());
        assert_eq!(signed.unwrap(), self.header("webhook-signature"));
        let other = standardwebhooks::Webhook::new("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").unwrap();
        let signed = other.sign(self.header("webhook-id"), at, self.body.as_bytes());
        assert_ne!(signed.unwrap(), self.header("webhook-signature"));
    }
}

/// A receiver that does a script in turn; the last again and again.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    script: Arc<Mutex<Vec<Does>>>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Receiver {
    pub(crate) async fn start(script: Vec<Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            url: format!("http://{}/alerts", listener.local_addr().unwrap()),
            script: Arc::new(Mutex::new(script)),
            requests: Arc::default(),
        };
        let serving = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        receiver
    }

    /// Does this from now on.
    pub(crate) fn now_does(&self, does: Does) {
        *self.script.lock().unwrap() = vec![does];
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    fn next_step(&self) -> Does {
        let mut script = self.script.lock().unwrap();
        if script.len() > 1 {
            script.remove(0)
        } else {
            script[0].clone()
        }
    }

    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let (mut headers, mut line) = (Vec::new(), String::new());
        loop {
            line.clear();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
                None if line == "\r\n" => break,
                None => {}
            }
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let mut body = vec![0; length.unwrap().1.parse().unwrap()];
        stream.read_exact(&mut body).await.unwrap();
        let body = String::from_utf8(body).unwrap();
        self.requests.lock().unwrap().push(Request { headers, body });
        let answer = match self.next_step() {
            Does::Answers(status) => format!("HTTP/1.1 {status} X\r\n"),
            Does::Redirects(to) => format!("HTTP/1.1 307 X\r\nlocation: {to}\r\n"),
            Does::Hangs => std::future::pending().await,
        };
        let answer = format!("{answer}content-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

/// An e-mail as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mail {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) data: String,
}

/// A mail server that refuses the first e-mails for now.
#[derive(Debug, Clone)]
pub(crate) struct MailServer {
    pub(crate) url: String,
    refuses: Arc<Mutex<u32>>,
    mails: Arc<Mutex<Vec<Mail>>>,
}

impl MailServer {
    pub(crate) async fn start(refuses: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            url: format!("smtp://{}", listener.local_addr().unwrap()),
            refuses: Arc::new(Mutex::new(refuses)),
            mails: Arc::default(),
        };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        server
    }

    pub(crate) fn mails(&self) -> Vec<Mail> {
        self.mails.lock().unwrap().clone()
    }

    fn is_busy(&self) -> bool {
        let mut left = self.refuses.lock().unwrap();
        let busy = *left > 0;
        *left = left.saturating_sub(1);
        busy
    }

    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let (mut mail, mut line) = (Mail::default(), String::new());
        stream.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
        loop {
            line.clear();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            let said = line.trim_end();
            let answer = if said.starts_with("EHLO") {
                "250 mail.example"
            } else if let Some(from) = said.strip_prefix("MAIL FROM:") {
                from.split(' ').next().unwrap().clone_into(&mut mail.from);
                if self.is_busy() { "451 try again" } else { "250 ok" }
            } else if let Some(to) = said.strip_prefix("RCPT TO:") {
                mail.to.push(to.to_owned());
                "250 ok"
            } else if said == "DATA" {
                stream.write_all(b"354 go on\r\n").await.unwrap();
                mail.data = read_data(&mut stream).await;
                self.mails.lock().unwrap().push(std::mem::take(&mut mail));
                "250 taken"
            } else {
                "250 ok"
            };
            stream
                .write_all(format!("{answer}\r\n").as_bytes())
                .await
                .unwrap();
        }
    }
}

async fn read_data(stream: &mut BufReader<TcpStream>) -> String {
    let mut data = String::new();
    loop {
        let begun = data.len();
        stream.read_line(&mut data).await.unwrap();
        if &data[begun..] == ".\r\n" {
            data.truncate(begun);
            return data;
        }
    }
}
