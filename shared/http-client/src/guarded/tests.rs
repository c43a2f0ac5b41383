use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const LIMITS: FetchLimits = FetchLimits {
    time: Duration::from_secs(20),
    bytes: 1_000,
    redirects: 3,
};

/// Starts a server on loopback that answers each path with `answer`; returns its port.
async fn start_server(answer: impl Fn(&str) -> String + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..read]).into_owned();
            let path = text.split(' ').nth(1).unwrap_or_default();
            let _ = stream.write_all(answer(path).as_bytes()).await;
        }
    });
    port
}

fn page(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

async fn fetch(reach: HostReach, url: &str) -> Result<FetchedPage, FetchError> {
    GuardedClient::new(reach).unwrap().fetch_page(url, LIMITS).await
}

#[test]
fn a_client_of_a_reach_is_built_once_and_only_if_it_is_asked_for() {
    let clients = GuardedClients::default();
    assert!(clients.built.iter().all(|client| client.get().is_none()));
    let first: *const GuardedClient = clients.client_for(HostReach::Public).unwrap();
    assert!(std::ptr::eq(
        first,
        clients.clone().client_for(HostReach::Public).unwrap()
    ));
    let built = clients.built.iter().filter(|client| client.get().is_some());
    assert_eq!(built.count(), 1);
}

#[tokio::test]
async fn a_public_client_asks_no_private_address_in_any_spelling() {
    for url in [
        "http://127.0.0.1:9/",
        "http://127.1:9/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://0.0.0.0/",
        "HTTP://LocalHost/",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://172.31.0.1/",
        "http://100.64.1.1/",
        "http://intranet/",
        "http://db.internal/",
        "http://[::1]/",
        "http://[fd12::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://①②⑦.0.0.1/",
    ] {
        assert_eq!(
            fetch(HostReach::Public, url).await,
            Err(UrlRefusal::Private.into()),
            "{url}"
        );
    }
}

#[tokio::test]
async fn no_client_asks_a_metadata_service_or_another_scheme() {
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://[fd00:ec2::254]/",
        "http://[fd20:ce::254]/",
        "http://100.100.100.200/",
        "http://192.0.0.192/",
        "http://168.63.129.16/",
        "http://metadata.google.internal/",
    ] {
        assert_eq!(
            fetch(HostReach::Private, url).await,
            Err(UrlRefusal::LinkLocal.into()),
            "{url}"
        );
    }
    for url in [
        "file:///etc/passwd",
        "ftp://example.org/",
        "x",
        "http://a:b@example.org/",
    ] {
        assert_eq!(
            fetch(HostReach::Private, url).await,
            Err(UrlRefusal::Malformed.into()),
            "{url}"
        );
    }
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_not_asked() {
    // `localhost` is refused by its text, so the resolver is asked directly: as for a public name with such an address.
    let port = start_server(|_| page("secret")).await;
    let client = GuardedClient::new(HostReach::Public).unwrap();
    let request = client.http.get(format!("http://localhost:{port}/"));
    let error = request.send().await.unwrap_err();
    assert_eq!(RequestFailure::from_error(&error), RequestFailure::PrivateAddress);
}

#[tokio::test]
async fn redirects_are_followed_to_their_limit_and_each_is_judged() {
    let port = start_server(|path| match path {
        "/a" => redirect("/b"),
        "/b" => page("<h1>Prices</h1>"),
        "/loop" => redirect("/loop"),
        "/away" => redirect("http://169.254.169.254/latest/meta-data/"),
        "/file" => redirect("file:///etc/passwd"),
        "/nowhere" => "HTTP/1.1 302 Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
        _ => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
    })
    .await;
    let ask = |path: &'static str| async move {
        fetch(HostReach::Private, &format!("http://127.0.0.1:{port}{path}")).await
    };
    let fetched = ask("/a").await.unwrap();
    assert_eq!(fetched.bytes, b"<h1>Prices</h1>");
    assert_eq!(fetched.content_type.as_deref(), Some("text/html"));
    assert_eq!(ask("/loop").await, Err(FetchError::TooManyRedirects(3)));
    assert_eq!(ask("/away").await, Err(UrlRefusal::LinkLocal.into()));
    assert_eq!(ask("/file").await, Err(UrlRefusal::Malformed.into()));
    assert_eq!(ask("/nowhere").await, Err(FetchError::NoDestination));
    assert_eq!(ask("/absent").await, Err(FetchError::Status(404)));
}

#[tokio::test]
async fn a_body_is_read_to_its_limit_and_an_answer_waited_for_to_its_own() {
    let port = start_server(|path| match path {
        "/fits" => page(&"a".repeat(1_000)),
        "/large" => page(&"a".repeat(1_001)),
        // Without a length the body is counted while it comes.
        _ => format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}",
            "a".repeat(5_000)
        ),
    })
    .await;
    let ask = |path: &'static str| async move {
        fetch(HostReach::Private, &format!("http://127.0.0.1:{port}{path}")).await
    };
    assert_eq!(ask("/fits").await.unwrap().bytes.len(), 1_000);
    assert_eq!(ask("/large").await, Err(FetchError::TooLarge(1_000)));
    assert_eq!(ask("/endless").await, Err(FetchError::TooLarge(1_000)));
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let limits = FetchLimits {
        time: Duration::from_millis(50),
        ..LIMITS
    };
    let late = GuardedClient::new(HostReach::Private).unwrap();
    let late = late.fetch_page(&url, limits).await;
    assert_eq!(late, Err(RequestFailure::TimedOut.into()));
}
