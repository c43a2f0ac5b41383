use super::*;
use futures::FutureExt;

fn address(last: u8) -> IpAddr {
    [203, 0, 113, last].into()
}

async fn filled(connections: &ConnectionPool, of: &[(u8, ConnectionPhase)]) -> Vec<AdmittedConnection> {
    let mut entered = Vec::new();
    for (last, phase) in of {
        let one = connections.admit_connection(address(*last)).await;
        one.connection.enter_phase(*phase);
        entered.push(one);
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    entered
}

fn gone(entered: &mut [AdmittedConnection]) -> Vec<usize> {
    let gone = entered.iter_mut().enumerate();
    gone.filter_map(|(place, one)| one.given_up.try_recv().is_ok().then_some(place))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_makes_room_before_who_is_served() {
    use ConnectionPhase::{Answering, Ending, Idle, Opening, Receiving};
    let connections = ConnectionPool::with_capacity(5);
    let phases = [
        (1, Answering),
        (1, Receiving),
        (1, Idle),
        (1, Opening),
        (1, Ending),
    ];
    let mut entered = filled(&connections, &phases).await;
    tokio::time::advance(Duration::from_secs(2)).await;
    let mut newer = Vec::new();
    for expected in [vec![4], vec![3], vec![2], vec![1]] {
        let one = connections.admit_connection(address(2)).await;
        one.connection.enter_phase(Answering);
        newer.push(one);
        assert_eq!(gone(&mut entered), expected);
    }
    assert!(
        connections.admit_connection(address(2)).now_or_never().is_none(),
        "nobody who is served makes room"
    );
    drop(newer.pop());
    assert!(connections.admit_connection(address(2)).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_oldest_of_the_address_with_the_most_makes_room() {
    let connections = ConnectionPool::with_capacity(4);
    let phases = [1, 2, 2, 3].map(|last| (last, ConnectionPhase::Opening));
    let mut entered = filled(&connections, &phases).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let _fifth = connections.admit_connection(address(4)).await;
    assert_eq!(gone(&mut entered), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_has_a_moment_for_its_headers() {
    let connections = ConnectionPool::with_capacity(2);
    let mut entered = filled(
        &connections,
        &[(1, ConnectionPhase::Opening), (1, ConnectionPhase::Opening)],
    )
    .await;
    let begun = Instant::now();
    let _third = connections.admit_connection(address(2)).await;
    let waited = begun.elapsed();
    assert!(
        waited >= Duration::from_millis(20) && waited <= Duration::from_millis(30),
        "{waited:?}"
    );
    assert_eq!(gone(&mut entered), [0]);
}

#[tokio::test(start_paused = true)]
async fn each_phase_has_its_own_time() {
    let limits = ServerLimits::default();
    let connections = ConnectionPool::with_capacity(8);
    for (phase, seconds) in [
        (ConnectionPhase::Opening, Some(10)),
        (ConnectionPhase::Idle, Some(75)),
        (ConnectionPhase::Receiving, Some(31)),
        (ConnectionPhase::Ending, Some(1)),
        (ConnectionPhase::Answering, None),
    ] {
        let one = connections.admit_connection(address(1)).await;
        one.connection.enter_phase(phase);
        let begun = Instant::now();
        let overdue = tokio::time::timeout(
            Duration::from_secs(600),
            one.connection.wait_until_overdue(&limits),
        )
        .await;
        let took = overdue.is_ok().then(|| begun.elapsed().as_secs());
        assert_eq!(took, seconds, "{phase:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn headers_that_begin_after_a_pause_have_the_time_of_headers() {
    let limits = ServerLimits::default();
    let one = ConnectionPool::with_capacity(8)
        .admit_connection(address(1))
        .await;
    one.connection.enter_phase(ConnectionPhase::Answering);
    assert!(!one.connection.note_answered());
    tokio::time::advance(Duration::from_secs(60)).await;
    one.connection.note_bytes_received();
    tokio::time::advance(Duration::from_secs(5)).await;
    one.connection.note_bytes_received();
    let begun = Instant::now();
    one.connection.wait_until_overdue(&limits).await;
    assert_eq!(begun.elapsed().as_secs(), 5, "more bytes give no more time");
}
