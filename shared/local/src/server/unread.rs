//! The time for which a client may leave unread what was sent to it.

use std::time::Duration;
use tokio::net::TcpStream;

/// Has the system close a connection whose client takes in nothing for this time while something waits.
///
/// Without it, a page that reads nothing is noticed only once some megabytes fill the buffers of the system. Systems other than
/// Linux notice it then. Linux counts whole milliseconds (`TCP_USER_TIMEOUT` of tcp(7)); a failure to set it is logged alone.
pub(super) fn limit_unread_time(stream: &TcpStream, limit: Duration) {
    #[cfg(target_os = "linux")]
    if let Err(error) = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(limit)) {
        tracing::debug!(%error, "the time for which a client may read nothing was not limited");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (stream, limit);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_left_although_the_buffers_have_room() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        socket2::SockRef::from(&client)
            .set_recv_buffer_size(4096)
            .unwrap();
        let (mut served, _) = listener.accept().await.unwrap();
        limit_unread_time(&served, Duration::from_millis(200));
        // More than the client's buffer holds, and less than the server's.
        served.write_all(&vec![b'x'; 128 * 1024]).await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(30), served.read(&mut [0])).await;
        let ended = ended.expect("the connection ends").unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::TimedOut);
        drop(client);
    }
}
