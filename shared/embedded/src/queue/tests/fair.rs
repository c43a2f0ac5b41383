//! Turns between owners.

use super::*;
use recado_testkit::ports::succeed;
use std::time::Instant;

impl Bench {
    /// Messages of `instance`, each of a contact of its own, named by the instance's first letter and their number.
    async fn flood(&self, instance: &str, count: usize) {
        let initial = &instance[..1];
        let events: Vec<InboundEntry> = (1..=count)
            .map(|number| {
                event_of(
                    instance,
                    &format!("{instance}-{number}"),
                    &format!("{initial}{number}"),
                )
            })
            .collect();
        self.queues.enqueue_inbound(&events).await.unwrap();
    }

    /// As [`Self::flood`], for turns.
    async fn flood_turns(&self, tenant: &str, ordinals: std::ops::Range<u64>) {
        for ordinal in ordinals {
            let job = turn_for(tenant, ordinal);
            self.queues.enqueue_turns_job(&job, Duration::ZERO).await.unwrap();
        }
    }
}

fn turn_of(received: &DequeuedMessage) -> (String, u64) {
    match turns_job_in(received) {
        TurnsJob::Turn(job) => (job.tenant.as_str().to_owned(), job.ordinal.0),
        other => panic!("no turn: {other:?}"),
    }
}

#[test]
fn owners_take_turns_and_each_keeps_its_own_order() {
    let bench = Bench::new();
    block_on(async {
        bench.flood("a-loja", 4).await;
        bench.flood("b-loja", 2).await;
        bench.flood("c-loja", 1).await;
        assert_eq!(bench.ids(6).await, ["a1", "b1", "c1", "a2", "b2", "a3"]);
        assert_eq!(bench.ids(6).await, ["a4"]);
    });
}

#[test]
fn who_receives_one_at_a_time_goes_round_as_well() {
    let bench = Bench::new();
    block_on(async {
        bench.flood("b-loja", 4).await;
        assert_eq!(bench.ids(1).await, ["b1"]);
        bench.flood("a-loja", 2).await;
        bench.flood("c-loja", 2).await;
        let mut order = Vec::new();
        for _ in 0..7 {
            order.extend(bench.ids(1).await);
        }
        assert_eq!(order, ["c1", "a1", "b2", "c2", "a2", "b3", "b4"]);
        assert!(bench.ids(1).await.is_empty());
    });
}

#[test]
fn an_owner_whose_groups_are_all_in_flight_or_put_off_gives_its_turn_away() {
    let bench = Bench::new();
    block_on(async {
        bench.flood("a-loja", 1).await;
        bench.send("x", "l1").await;
        bench.send("x", "l2").await;
        let [a, l] = &bench.receive(QueueName::Inbound, 2).await[..] else {
            panic!("both of them")
        };
        assert_eq!((id_of(a).as_str(), id_of(l).as_str()), ("a1", "l1"));
        succeed(
            bench
                .queues
                .change_visibility(&l.receipt, Duration::from_secs(60)),
        )
        .await;
        bench.flood("b-loja", 2).await;
        assert_eq!(bench.ids(10).await, ["b1", "b2"]);
        bench.pass(60);
        assert_eq!(
            bench.ids(10).await,
            ["l1", "a1", "b1", "b2"],
            "all of them are back"
        );
    });
}

#[test]
fn turns_go_round_between_tenants_and_those_to_come_are_no_turn() {
    let bench = Bench::new();
    block_on(async {
        bench.flood_turns("b", 1..4).await;
        bench.pass(1);
        bench.flood_turns("a", 4..6).await;
        let later = turn_for("aa", 9);
        succeed(bench.queues.enqueue_turns_job(&later, Duration::from_secs(60))).await;
        let of = |tenant: &str, ordinal| (tenant.to_owned(), ordinal);
        let come = bench.receive(QueueName::Turns, 3).await;
        let come: Vec<_> = come.iter().map(turn_of).collect();
        assert_eq!(come, [of("a", 4), of("b", 1), of("a", 5)]);
        let come = bench.receive(QueueName::Turns, 3).await;
        assert_eq!(
            come.iter().map(turn_of).collect::<Vec<_>>(),
            [of("b", 2), of("b", 3)]
        );
    });
}

#[test]
fn send_jobs_go_round_between_the_instances_of_their_conversations() {
    let bench = Bench::new();
    block_on(async {
        let job = |instance: &str, contact: &str| {
            let thread = IdentityKey::from_bytes([7; 32])
                .derive_thread_id(&InstanceId::parse(instance).unwrap(), contact);
            SendJob::new(
                ConversationId::new(thread, 1),
                Ordinal(1),
                CorrelationId::parse("k").unwrap(),
            )
        };
        for (instance, contact) in [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1")] {
            let job = job(instance, contact);
            put_conversation(&bench.queues, &job.conversation, instance).await;
            bench.send_job(&job, contact).await;
        }
        let come = bench.receive(QueueName::Outbound, 2).await;
        let come: Vec<SendJob> = come.iter().map(send_job_in).collect();
        assert_eq!(come, [job("a", "1"), job("b", "1")]);
    });
}

/// Stores the conversation as its row says: this test needs nothing else of it.
async fn put_conversation(queues: &Embedded, id: &ConversationId, instance: &str) {
    let (id, instance) = (id.clone(), instance.to_owned());
    let put = move |c: &Connection| {
        let sql = "INSERT INTO conversations
            (id, thread, number, instance, mode, status, epoch, rev, last_at, body)
            VALUES (?1, ?2, 1, ?3, 'ai', 'open', 0, 1, 0, '{}')";
        execute_sql(c, sql, params![id.to_string(), id.thread_id().as_str(), instance])
    };
    queues.run_write("put", put).await.unwrap();
}

#[test]
fn a_room_of_workers_keeps_place_for_others_while_one_owner_works_slowly() {
    let bench = Bench::new();
    block_on(async {
        let mut room = FairShare::for_workers(8);
        bench.flood("a-loja", 20).await;
        let come = async |room: &mut FairShare| {
            let received = succeed(
                bench
                    .queues
                    .receive_for_share(QueueName::Inbound, room.clone(), HIDDEN),
            )
            .await;
            for received in &received {
                room.start_work(&received.owner);
            }
            received.iter().map(id_of).collect::<Vec<_>>()
        };
        assert_eq!(come(&mut room).await, ["a1", "a2", "a3", "a4", "a5", "a6"]);
        assert!(come(&mut room).await.is_empty(), "it has its share");
        bench.flood("b-loja", 1).await;
        assert_eq!(come(&mut room).await, ["b1"]);
        bench.flood("c-loja", 1).await;
        assert_eq!(come(&mut room).await, ["c1"]);
        assert_eq!(room.free_workers(), 0);
    });
}

#[test]
fn what_lies_there_from_before_owners_were_known_comes_too() {
    let bench = Bench::new();
    block_on(async {
        bench.flood("a-loja", 2).await;
        let forget = |c: &Connection| {
            execute_sql(c, "UPDATE queue_messages SET owner = ''", [])?;
            execute_sql(c, "UPDATE queue_groups SET owner = ''", [])
        };
        bench.queues.run_write("forget", forget).await.unwrap();
        bench.flood("b-loja", 2).await;
        succeed(
            bench
                .queues
                .enqueue_inbound(&[event_of("a-loja", "a-loja-2", "a3")]),
        )
        .await;
        let come = bench.receive(QueueName::Inbound, 10).await;
        assert_eq!(
            come.iter().map(id_of).collect::<Vec<_>>(),
            ["a1", "b1", "a2", "b2"]
        );
        bench.queues.delete_received(&come[2].receipt).await.unwrap();
        assert_eq!(bench.ids(10).await, ["a3"]);
    });
}

/// Not a proof but a measurement: `cargo test -p recado-embedded -- --ignored --nocapture backlog`.
#[test]
#[ignore = "measures"]
fn a_receive_beside_a_backlog_of_ten_thousand_groups() {
    const RECEIVES: u32 = 200;
    let bench = Bench::new();
    block_on(async {
        bench.flood("a-loja", 10_000).await;
        bench.flood("b-loja", 1).await;
        let (mut met, began) = (None, Instant::now());
        for number in 1..=RECEIVES {
            for received in bench.receive(QueueName::Inbound, 1).await {
                if id_of(&received) == "b1" {
                    met = Some(number);
                }
                bench.queues.delete_received(&received.receipt).await.unwrap();
            }
        }
        let each = began.elapsed() / RECEIVES;
        println!("receive and delete: {each:?}; the other's came at receive {met:?}");
        let began = Instant::now();
        let most = bench.receive(QueueName::Inbound, 5_000).await.len();
        println!("a receive of {most}: {:?}", began.elapsed());
        let began = Instant::now();
        for _ in 0..RECEIVES {
            bench.receive(QueueName::Inbound, 1).await;
        }
        println!(
            "a receive beside {most} in flight: {:?}",
            began.elapsed() / RECEIVES
        );
    });
}
