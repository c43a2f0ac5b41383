use super::*;
use futures::FutureExt;

fn address(last: u8) -> IpAddr {
    [203, 0, 113, last].into()
}

async fn filled(connections: &Connections, of: &[(u8, Phase)]) -> Vec<Entered> {
    let mut entered = Vec::new();
    for (last, phase) in of {
        let one = connections.enter(address(*last)).await;
        one.connection.enter(*phase);
        entered.push(one);
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    entered
}

fn gone(entered: &mut [Entered]) -> Vec<usize> {
    let gone = entered.iter_mut().enumerate();
    gone.filter_map(|(place, one)| one.given_up.try_recv().is_ok().then_some(place))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_makes_room_before_who_is_served() {
    use Phase::{Answering, Ending, Idle, Opening, Receiving};
    let connections = Connections::of(5);
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
        let one = connections.enter(address(2)).await;
        one.connection.enter(Answering);
        newer.push(one);
        assert_eq!(gone(&mut entered), expected);
    }
    assert!(
        connections.enter(address(2)).now_or_never().is_none(),
        "nobody who is served makes room"
    );
    drop(newer.pop());
    assert!(connections.enter(address(2)).now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_oldest_of_the_address_with_the_most_makes_room() {
    let connections = Connections::of(4);
    let phases = [1, 2, 2, 3].map(|last| (last, Phase::Opening));
    let mut entered = filled(&connections, &phases).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let _fifth = connections.enter(address(4)).await;
    assert_eq!(gone(&mut entered), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_has_a_moment_for_its_headers() {
    let connections = Connections::of(2);
    let mut entered = filled(&connections, &[(1, Phase::Opening), (1, Phase::Opening)]).await;
    let begun = Instant::now();
    let _third = connections.enter(address(2)).await;
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
    let connections = Connections::of(8);
    for (phase, seconds) in [
        (Phase::Opening, Some(10)),
        (Phase::Idle, Some(75)),
        (Phase::Receiving, Some(31)),
        (Phase::Ending, Some(1)),
        (Phase::Answering, None),
    ] {
        let one = connections.enter(address(1)).await;
        one.connection.enter(phase);
        let begun = Instant::now();
        let overdue = tokio::time::timeout(Duration::from_secs(600), one.connection.overdue(&limits)).await;
        let took = overdue.is_ok().then(|| begun.elapsed().as_secs());
        assert_eq!(took, seconds, "{phase:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn headers_that_begin_after_a_pause_have_the_time_of_headers() {
    let limits = ServerLimits::default();
    let one = Connections::of(8).enter(address(1)).await;
    one.connection.enter(Phase::Answering);
    assert!(!one.connection.answered());
    tokio::time::advance(Duration::from_secs(60)).await;
    one.connection.came();
    tokio::time::advance(Duration::from_secs(5)).await;
    one.connection.came();
    let begun = Instant::now();
    one.connection.overdue(&limits).await;
    assert_eq!(begun.elapsed().as_secs(), 5, "more bytes give no more time");
}
