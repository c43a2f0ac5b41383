use super::*;
use crate::event::SqsAttributes;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Mutex;

/// A queue that remembers what it was told.
#[derive(Debug, Default)]
struct Told(Mutex<HashMap<String, u32>>);

impl MessageVisibility for Told {
    type Error = Infallible;

    async fn change_visibility(&self, receipt: &str, seconds: u32) -> Result<(), Infallible> {
        self.0.lock().unwrap().insert(receipt.to_owned(), seconds);
        Ok(())
    }
}

/// A queue that does not answer.
#[derive(Debug)]
struct Deaf;

impl MessageVisibility for Deaf {
    type Error = std::io::Error;

    async fn change_visibility(&self, _receipt: &str, _seconds: u32) -> Result<(), std::io::Error> {
        Err(std::io::Error::other("no answer"))
    }
}

fn record(id: &str, group: &str, body: &str) -> SqsRecord {
    SqsRecord {
        message_id: id.to_owned(),
        receipt_handle: format!("r-{id}"),
        body: body.to_owned(),
        attributes: SqsAttributes {
            approximate_receive_count: "2".to_owned(),
            message_group_id: Some(group.to_owned()),
        },
        queue_arn: String::new(),
    }
}

fn event(records: &[(&str, &str, &str)]) -> SqsEvent {
    SqsEvent {
        records: records
            .iter()
            .map(|(id, group, body)| record(id, group, body))
            .collect(),
    }
}

fn ids(response: &BatchResponse) -> Vec<&str> {
    response
        .batch_item_failures
        .iter()
        .map(|failure| failure.item_identifier.as_str())
        .collect()
}

/// Does what the body says, and writes down that it did.
async fn obey(done: &Mutex<Vec<String>>, received: BatchMessage) -> Verdict {
    done.lock().unwrap().push(received.body.clone());
    // Let the other groups have a go.
    tokio::task::yield_now().await;
    match received
        .body
        .split_once(':')
        .map_or(received.body.as_str(), |(word, _)| word)
    {
        "back" => Verdict::Retry {
            after: jiff::SignedDuration::from_millis(1_500),
        },
        "panic" => panic!("as told"),
        _ => Verdict::Done,
    }
}

async fn run(
    fifo: bool,
    records: &[(&str, &str, &str)],
) -> (BatchResponse, Vec<String>, HashMap<String, u32>) {
    let (done, told) = (Mutex::default(), Told::default());
    let response = run_batch(event(records), fifo, &told, None, |received| {
        obey(&done, received)
    })
    .await;
    (response, done.into_inner().unwrap(), told.0.into_inner().unwrap())
}

#[tokio::test]
async fn an_empty_batch_and_one_that_goes_well_name_nothing() {
    assert_eq!(ids(&run(true, &[]).await.0), [""; 0]);
    let (response, done, told) = run(true, &[("1", "a", "x:1"), ("2", "b", "x:2"), ("3", "a", "x:3")]).await;
    assert!(ids(&response).is_empty() && told.is_empty());
    assert_eq!(done.len(), 3);
}

#[tokio::test]
async fn after_a_message_that_comes_back_the_rest_of_its_group_comes_back_untouched_at_the_same_time() {
    let records = [
        ("1", "a", "x:1"),
        ("2", "a", "back:2"),
        ("3", "b", "x:3"),
        ("4", "a", "x:4"),
        ("5", "a", "x:5"),
    ];
    let (response, done, told) = run(true, &records).await;
    assert_eq!(ids(&response), ["2", "4", "5"]);
    assert_eq!(
        done,
        ["x:1", "x:3", "back:2"],
        "groups side by side, and 4 and 5 not begun"
    );
    assert_eq!(
        told,
        HashMap::from(["r-2", "r-4", "r-5"].map(|receipt| (receipt.to_owned(), 2)))
    );
}

#[tokio::test]
async fn a_panic_is_its_messages_failure_and_holds_up_only_its_own_group() {
    let records = [
        ("1", "a", "panic:1"),
        ("2", "b", "x:2"),
        ("3", "a", "x:3"),
        ("4", "b", "x:4"),
    ];
    let (response, done, told) = run(true, &records).await;
    assert_eq!(ids(&response), ["1", "3"]);
    assert!(told.is_empty(), "the queue's own time-out counts");
    assert_eq!(done, ["panic:1", "x:2", "x:4"]);
}

#[tokio::test]
async fn a_panic_before_the_first_await_is_caught_too() {
    let handle = |_: BatchMessage| -> std::future::Ready<Verdict> { panic!("at once") };
    let response = run_batch(
        event(&[("1", "a", "x"), ("2", "b", "x")]),
        true,
        &Deaf,
        None,
        handle,
    )
    .await;
    assert_eq!(ids(&response), ["1", "2"]);
}

#[tokio::test]
async fn messages_of_a_standard_queue_are_on_their_own_whatever_group_they_name() {
    let records = [("1", "a", "back:1"), ("2", "a", "panic:2"), ("3", "a", "x:3")];
    let (response, done, told) = run(false, &records).await;
    assert_eq!(ids(&response), ["1", "2"]);
    assert_eq!((done.len(), told.len()), (3, 1));
}

#[tokio::test]
async fn a_message_comes_back_even_if_its_visibility_cannot_be_changed() {
    let done = Mutex::default();
    let batch = event(&[("1", "a", "back:1"), ("2", "a", "x:2")]);
    let response = run_batch(batch, true, &Deaf, None, |received| obey(&done, received)).await;
    assert_eq!(ids(&response), ["1", "2"]);
}

#[tokio::test]
async fn failures_are_named_in_the_order_of_the_batch_and_once_each() {
    let records = [
        ("9", "c", "back:9"),
        ("1", "a", "back:1"),
        ("5", "b", "x:5"),
        ("9", "c", "x:9"),
        ("3", "a", "x:3"),
    ];
    assert_eq!(ids(&run(true, &records).await.0), ["9", "1", "3"]);
}

#[tokio::test]
async fn a_handler_learns_the_body_as_it_came_the_receives_and_the_deadline() {
    let deadline = Some(recado_domain::millis::from_unix_millis(77));
    let seen = Mutex::new(None);
    let handle = |received: BatchMessage| {
        *seen.lock().unwrap() = Some(received);
        std::future::ready(Verdict::Done)
    };
    let response = run_batch(event(&[("1", "a", "{not json")]), true, &Deaf, deadline, handle).await;
    assert!(ids(&response).is_empty());
    let expected = BatchMessage {
        body: "{not json".to_owned(),
        receives: 2,
        deadline,
    };
    assert_eq!(seen.into_inner().unwrap(), Some(expected));
}

#[test]
fn a_wait_is_never_shorter_than_asked_for_nor_longer_than_twelve_hours() {
    assert_eq!(whole_seconds(Duration::ZERO), 0);
    assert_eq!(whole_seconds(Duration::from_millis(1)), 1);
    assert_eq!(whole_seconds(Duration::from_secs(30)), 30);
    assert_eq!(whole_seconds(Duration::from_millis(30_001)), 31);
    assert_eq!(whole_seconds(Duration::MAX), 43_200);
}
