#![allow(clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)]
use aws_sdk_dynamodb::config::*;
use aws_sdk_dynamodb::config::interceptors::BeforeSerializationInterceptorContextRef;
use aws_sdk_dynamodb::types::*;
use recado_aws::*;
use recado_domain::config::*;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::conversation::*;
use recado_domain::delivery::*;
use recado_domain::event::*;
use recado_domain::ids::*;
use recado_domain::instance::*;
use recado_domain::message::*;
use recado_domain::millis::{instant, shift};
use recado_domain::outbox::*;
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_domain::dead_letter::*;
use recado_pipeline::ports::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Duration;
use serde_json::json;

#[derive(Debug, Clone, Default)]
struct Count(Arc<AtomicU32>);
impl Intercept for Count {
    fn name(&self) -> &'static str { "Count" }
    fn read_before_execution(&self, _c: &BeforeSerializationInterceptorContextRef<'_>, _f: &mut ConfigBag) -> Result<(), aws_sdk_dynamodb::error::BoxError> {
        self.0.fetch_add(1, Ordering::SeqCst); Ok(())
    }
}
impl Count { fn take(&self) -> u32 { self.0.swap(0, Ordering::SeqCst) } }

async fn table(client: &aws_sdk_dynamodb::Client, name: &str) {
    let a = |n: &str, t| AttributeDefinition::builder().attribute_name(n).attribute_type(t).build().unwrap();
    let k = |n: &str, t| KeySchemaElement::builder().attribute_name(n).key_type(t).build().unwrap();
    let g = |n: &str, h: &str, r: &str| GlobalSecondaryIndex::builder().index_name(n).key_schema(k(h, KeyType::Hash)).key_schema(k(r, KeyType::Range))
        .projection(Projection::builder().projection_type(ProjectionType::All).build()).build().unwrap();
    client.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(vec![a("pk", ScalarAttributeType::S), a("sk", ScalarAttributeType::S), a("open_shard", ScalarAttributeType::S), a("open_due", ScalarAttributeType::N), a("list_key", ScalarAttributeType::S), a("list_at", ScalarAttributeType::N)]))
        .key_schema(k("pk", KeyType::Hash)).key_schema(k("sk", KeyType::Range))
        .global_secondary_indexes(g("open", "open_shard", "open_due")).global_secondary_indexes(g("lists", "list_key", "list_at"))
        .send().await.unwrap();
}

fn doc(x: &str) -> Document {
    serde_json::from_value(json!({"tenants":[{"id":"clinic"}],"agents":[{"id":"ana","tenant":"clinic","model":"m","system_prompt":"p"}],
      "instances":[{"id":"desk","tenant":"clinic","agent":"ana","provider":"meta","external_id":x,"rate":{"per_second":2.0,"burst":3},"debounce_seconds":1.5}]})).unwrap()
}

#[tokio::test]
async fn smoke() {
    unsafe { std::env::set_var("AWS_ENDPOINT_URL", std::env::var("EP").unwrap()); std::env::set_var("AWS_ACCESS_KEY_ID", "111111111111"); std::env::set_var("AWS_SECRET_ACCESS_KEY", "x"); std::env::set_var("AWS_REGION", "us-east-1"); }
    let clients = Clients::load().await;
    let name = format!("t{}", SystemAmbient.random());
    let count = Count::default();
    let conf = clients.dynamodb.config().to_builder().interceptor(count.clone()).build();
    let client = aws_sdk_dynamodb::Client::from_conf(conf);
    table(&client, &name).await;
    let s = DynamoStore::new(client.clone(), &name, SystemAmbient, Duration::ZERO, Duration::from_secs(1000));
    count.take();
    // directory
    let ext = ExternalId::parse("100").unwrap();
    assert!(s.bound(Provider::Meta, &ext).await.unwrap().is_none());
    s.apply(&doc("100")).await.unwrap();
    let bound = s.bound(Provider::Meta, &ext).await.unwrap().unwrap();
    s.apply(&doc("200")).await.unwrap();
    assert!(s.bound(Provider::Meta, &ext).await.unwrap().is_none());
    assert_eq!(s.bound(Provider::Meta, &ExternalId::parse("200").unwrap()).await.unwrap().unwrap().instance, doc("200").instances[0]);
    assert!(s.bound_by_id(&bound.instance.id).await.unwrap().is_some());
    assert_eq!(s.configuration().await.unwrap(), doc("200"));
    // event
    let now = instant(1_800_000_000_000);
    let job = InboundJob { event: event_id(Provider::Meta, &ext, EventKind::Message, "e1"), provider: Provider::Meta, external: ext.clone(), kind: EventKind::Message, group: "g".into(),
        correlation: CorrelationId::parse("r").unwrap(), received_at: now, payload: Payload::Inline(json!({"":{"a":[1,null,1.0]}})), redrive: false };
    count.take();
    assert_eq!(s.record_event(&job).await.unwrap(), Recorded::New); assert_eq!(count.take(), 1);
    assert_eq!(s.record_event(&job).await.unwrap(), Recorded::Pending); assert_eq!(count.take(), 1);
    assert_eq!(s.event(&job.event).await.unwrap().unwrap(), EventRecord::pending(job.clone()));
    assert_eq!(s.count_attempt(&job.event).await.unwrap(), 1);
    assert_eq!(s.count_attempt(&job.event).await.unwrap(), 2);
    assert_eq!(s.note_again(&job.event, shift(now, 120_000)).await.unwrap(), 1);
    // conversation
    let address = ContactAddress::parse("551190000000").unwrap();
    let thread = ThreadId::of(&bound.instance.id, address.as_str());
    let id = ConversationId::new(thread.clone(), 1);
    count.take();
    assert!(s.latest(&thread).await.unwrap().is_none()); assert_eq!(count.take(), 1);
    let mut c = Conversation::begin(id.clone(), &bound, address.clone(), None, now);
    let o = c.receive(true, now).unwrap(); c.rev = 1;
    let msg = |ordinal, role, out: Option<Outbox>| Message { conversation: id.clone(), ordinal, tenant: c.tenant.clone(), instance: c.instance.clone(), role, content: Content::text("olá"), provider_message_id: None, written_at: now, stored_at: now,
        correlation: job.correlation.clone(), event: None, idempotency_key: None, unanswered: None, model: None, usage: None, out };
    let m1 = msg(o, Role::User, None);
    let w = || InboundWrite { event: &job.event, conversation: &c, message: &m1 };
    assert_eq!(s.store_inbound(w()).await.unwrap(), InboundStored::Yes); assert_eq!(count.take(), 1);
    assert_eq!(s.store_inbound(w()).await.unwrap(), InboundStored::Already(StoredAs { conversation: id.clone(), ordinal: o })); 
    assert_eq!(s.event(&job.event).await.unwrap().unwrap().stored.unwrap().ordinal, o);
    count.take();
    assert_eq!(s.latest(&thread).await.unwrap().unwrap(), c); assert_eq!(count.take(), 1);
    assert_eq!(s.with_history(&id, 5).await.unwrap().unwrap(), (c.clone(), vec![m1.clone()])); assert_eq!(count.take(), 1);
    s.settle_event(&job.event, Some(Reason::Poison), now, now).await.unwrap(); assert_eq!(count.take(), 1);
    assert_eq!(s.record_event(&job).await.unwrap(), Recorded::Settled);
    assert!(s.revive_event(&job.event).await.unwrap()); assert!(!s.revive_event(&job.event).await.unwrap());
    assert_eq!(s.event(&job.event).await.unwrap().unwrap().job, job);
    // overdue
    let due = s.overdue(shift(now, 86_400_000), 10).await.unwrap();
    assert!(due.iter().any(|w| matches!(w, OverdueWork::Event(_)))); assert!(due.contains(&OverdueWork::Owed(id.clone())));
    assert!(s.overdue(now, 10).await.unwrap().is_empty());
    s.settle_event(&job.event, None, now, shift(now, 1000)).await.unwrap();
    assert_eq!(s.event(&job.event).await.unwrap().unwrap().state, EventState::Applied);
    let mut later = job.clone(); later.received_at = shift(now, 5000);
    assert_eq!(s.record_event(&job).await.unwrap(), Recorded::Settled);
    assert_eq!(s.record_event(&later).await.unwrap(), Recorded::New);
    // update, commit
    count.take();
    let draft = c.lease(Nonce::parse("L").unwrap(), now, shift(now, 90_000)); c.rev += 1;
    assert_eq!(s.update(&c).await.unwrap(), Written::Yes); assert_eq!(count.take(), 1);
    assert_eq!(s.update(&c).await.unwrap(), Written::Conflict);
    let o2 = c.commit(&draft, now).unwrap(); c.rev += 1;
    let mut m2 = msg(o2, Role::Assistant, Some(Outbox::queued(address.clone(), Author::Ai, 0, o, now)));
    let key = KeyClaim { scope: "desk".into(), key: IdempotencyKey::parse("k").unwrap(), request_hash: "h".into(), expires: shift(now, 1000) };
    count.take();
    assert_eq!(s.commit(&c, &m2, Some(&key)).await.unwrap(), Committed::Yes); assert_eq!(count.take(), 1);
    assert_eq!(s.commit(&c, &m2, Some(&key)).await.unwrap(), Committed::KeyTaken(KeyRecord { request_hash: "h".into(), message: m2.id() }));
    assert_eq!(s.commit(&c, &m2, None).await.unwrap(), Committed::Conflict);
    assert_eq!(s.key("desk", &key.key).await.unwrap().unwrap().message, m2.id());
    count.take();
    assert_eq!(s.open(&id).await.unwrap(), vec![m2.clone()]); assert_eq!(count.take(), 1);
    // reserve
    let rate = bound.instance.rate(); let iid = bound.instance.id.clone();
    let mut arrival = None; count.take();
    for i in 0..8 { let t = shift(now, i * 100); let slot = rate.reserve(arrival, t); arrival = Some(slot.arrival);
        assert_eq!(s.reserve(&iid, rate, t).await.unwrap(), Reservation::Slot(slot.at), "{i}"); if i == 0 { assert_eq!(count.take(), 1) } else { assert_eq!(count.take(), 2) } }
    assert_eq!(s.instance_state(&iid).await.unwrap().arrival, arrival);
    assert!(s.set_connection(&iid, Connection::Closed, now, Some(shift(now, 5))).await.unwrap());
    assert!(!s.set_connection(&iid, Connection::Closed, now, None).await.unwrap());
    assert_eq!(s.reserve(&iid, rate, now).await.unwrap(), Reservation::NotOpen);
    let st = s.instance_state(&iid).await.unwrap(); assert_eq!((st.probes, st.since, st.probe_at), (1, Some(now), None));
    assert!(s.overdue(now, 10).await.unwrap().contains(&OverdueWork::Probe(iid.clone())));
    assert_eq!(s.note_timeout(&iid, true).await.unwrap(), 1); assert_eq!(s.note_timeout(&iid, true).await.unwrap(), 2); assert_eq!(s.note_timeout(&iid, false).await.unwrap(), 0);
    assert!(s.set_connection(&iid, Connection::Open, now, None).await.unwrap());
    assert!(!s.set_connection(&iid, Connection::Open, now, None).await.unwrap());
    assert!(!s.overdue(now, 10).await.unwrap().contains(&OverdueWork::Probe(iid.clone())));
    assert!(s.set_llm_needs_credentials(&iid, true).await.unwrap()); assert!(!s.set_llm_needs_credentials(&iid, true).await.unwrap()); assert!(s.set_llm_needs_credentials(&iid, false).await.unwrap());
    assert!(!s.set_llm_needs_credentials(&InstanceId::parse("never").unwrap(), false).await.unwrap());
    // claim
    let nonce = Nonce::parse("N1").unwrap();
    let before = m2.clone();
    m2.out.as_mut().unwrap().claim(nonce.clone(), now, shift(now, 35_000)).unwrap();
    let flight = InFlight { message: m2.id(), nonce: nonce.clone(), claimed_at: now, until: shift(now, 35_000), text_hash: "x".into() };
    let bad = Guard { conversation: id.clone(), epoch: 9 }; let guard = Guard { conversation: id.clone(), epoch: 0 };
    assert_eq!(s.claim(&m2, Some(&bad), &flight).await.unwrap(), Claimed::Stopped);
    count.take();
    assert_eq!(s.claim(&m2, Some(&guard), &flight).await.unwrap(), Claimed::Yes); assert_eq!(count.take(), 1);
    assert_eq!(s.claim(&m2, Some(&guard), &flight).await.unwrap(), Claimed::Yes, "same nonce");
    let mut other = before.clone(); other.out.as_mut().unwrap().claim(Nonce::parse("N2").unwrap(), now, now).unwrap();
    assert_eq!(s.claim(&other, None, &flight).await.unwrap(), Claimed::Conflict);
    assert_eq!(s.in_flight(&iid).await.unwrap(), vec![flight.clone()]);
    assert_eq!(s.message(&m2.id()).await.unwrap().unwrap(), m2);
    let page = s.messages(&id, &PageRequest { limit: 1, cursor: None }).await.unwrap();
    assert_eq!(page.items, vec![m2.clone()]);
    let page = s.messages(&id, &PageRequest { limit: 1, cursor: page.next_cursor }).await.unwrap();
    assert_eq!((page.items, page.next_cursor), (vec![m1.clone()], None));
    // settle
    m2.out.as_mut().unwrap().accept(now, None).unwrap();
    let dk = DeliveryKey::own(&m2.id());
    let link = DeliveryLink { key: dk.clone(), provider_message_id: Some("P".into()) };
    c.rev += 1;
    count.take();
    assert_eq!(s.settle(&m2, Some(&flight), Some(&link), Some(&c)).await.unwrap(), Written::Yes); assert_eq!(count.take(), 1);
    assert_eq!(s.settle(&m2, Some(&flight), Some(&link), None).await.unwrap(), Written::Conflict);
    assert!(s.open(&id).await.unwrap().is_empty()); assert!(s.in_flight(&iid).await.unwrap().is_empty());
    assert_eq!(s.message(&m2.id()).await.unwrap().unwrap(), m2);
    // deliveries
    let up = |status| StatusUpdate { key: dk.clone(), status, at: now, provider_message_id: None };
    count.take();
    s.record_status(&up(DeliveryStatus::Read), shift(now, 1000)).await.unwrap(); assert_eq!(count.take(), 1);
    s.record_status(&up(DeliveryStatus::Sent), shift(now, 1000)).await.unwrap();
    let d = s.delivery(&dk).await.unwrap().unwrap();
    assert_eq!((d.status, d.message, d.provider_message_id.as_deref()), (Some(DeliveryStatus::Read), Some(m2.id()), Some("P")));
    let none = DeliveryKey::own(&m1.id());
    let ds = s.deliveries(&[none.clone(), dk.clone(), dk.clone()]).await.unwrap(); assert!(ds[0].is_none() && ds[1].is_some() && ds[2].is_some());
    assert!(s.deliveries(&[]).await.unwrap().is_empty());
    // amend
    m2.out.as_mut().unwrap().give_up(now, Reason::WhatsappPermanentError, None).unwrap();
    assert_eq!(s.amend(&m2).await.unwrap(), Written::Yes); assert_eq!(s.amend(&m2).await.unwrap(), Written::Conflict);
    assert_eq!(s.open(&id).await.unwrap(), vec![m2.clone()]);
    m2.out.as_mut().unwrap().mark_copied();
    assert_eq!(s.settle(&m2, None, None, None).await.unwrap(), Written::Yes);
    assert!(s.open(&id).await.unwrap().is_empty());
    m2.out.as_mut().unwrap().revive(now).unwrap();
    assert_eq!(s.amend(&m2).await.unwrap(), Written::Yes);
    m2.out.as_mut().unwrap().hold_slot(now);
    assert_eq!(s.save_open(&m2, None).await.unwrap(), Written::Yes); assert_eq!(s.save_open(&m2, None).await.unwrap(), Written::Conflict);
    m2.out.as_mut().unwrap().cancel(now, Reason::TakenOver).unwrap();
    assert_eq!(s.settle(&m2, None, None, None).await.unwrap(), Written::Yes);
    // parking
    let p = |v: &str, at, nb| Parked { instance: iid.clone(), conversation: id.clone(), version: Nonce::parse(v).unwrap(), since: at, not_before: nb };
    s.park(&p("v1", now, None)).await.unwrap(); s.park(&p("v2", shift(now, 9), None)).await.unwrap();
    assert_eq!(s.parked(&iid, 10).await.unwrap(), vec![p("v2", now, None)]);
    assert!(s.overdue(shift(now, 72 * 3_600_000), 10).await.unwrap().contains(&OverdueWork::Parked(p("v2", now, None))));
    assert!(!s.overdue(shift(now, 72 * 3_600_000 - 1), 10).await.unwrap().contains(&OverdueWork::Parked(p("v2", now, None))));
    s.park(&p("v3", shift(now, 9), Some(shift(now, 7)))).await.unwrap();
    assert!(s.overdue(shift(now, 7), 10).await.unwrap().contains(&OverdueWork::Parked(p("v3", now, Some(shift(now, 7))))));
    assert!(!s.unpark(&p("v1", now, None)).await.unwrap()); assert!(s.unpark(&p("v3", now, None)).await.unwrap());
    // lists, dead letters
    let l = s.list(&ConversationFilter::default(), &PageRequest { limit: 10, cursor: None }).await.unwrap();
    assert_eq!(l.items, vec![c.clone()]);
    assert!(s.list(&ConversationFilter { mode: Some(Mode::Manual), ..Default::default() }, &PageRequest { limit: 10, cursor: None }).await.unwrap().items.is_empty());
    for i in 0..5 { s.put_dead_letter(&DeadLetter { id: format!("d{i}"), queue: QueueName::Inbound, reason: Reason::Poison, at: shift(now, i / 2), attempts: 1, last_error: None, correlation: job.correlation.clone(), instance: (i > 0).then(|| iid.clone()), what: DeadWhat::Event(Box::new(job.clone())) }).await.unwrap(); }
    assert_eq!((s.count_dead_letters(None).await.unwrap(), s.count_dead_letters(Some(&iid)).await.unwrap()), (5, 4));
    let mut cursor = None; let mut seen = vec![];
    loop { let p = s.dead_letters(&DeadLetterFilter::default(), &PageRequest { limit: 2, cursor }).await.unwrap(); seen.extend(p.items.into_iter().map(|d| d.id)); cursor = p.next_cursor; if cursor.is_none() { break } }
    assert_eq!(seen, ["d4", "d3", "d2", "d1", "d0"]);
    assert_eq!(s.dead_letter("d1").await.unwrap().unwrap().what, DeadWhat::Event(Box::new(job.clone())));
    assert!(s.remove_dead_letter("d1").await.unwrap()); assert!(!s.remove_dead_letter("d1").await.unwrap());
    // concurrency: everyone updates
    let s = Arc::new(s);
    let racers = (0..8).map(|i| { let s = s.clone(); let id = id.clone(); let iid = iid.clone(); async move {
        let mut done = 0; while done < 5 { let mut c = s.conversation(&id).await.unwrap().unwrap(); c.rev += 1; c.last = c.last.next();
            let mut m = s.messages(&id, &PageRequest { limit: 1, cursor: None }).await.unwrap().items.remove(0); m.ordinal = c.last; m.out = None;
            if s.commit(&c, &m, None).await.unwrap() == Committed::Yes { done += 1 } let _ = (i, &iid); } } });
    let start = std::time::Instant::now();
    futures::future::join_all(racers).await;
    eprintln!("race {:?}", start.elapsed());
    let (c2, ms) = s.with_history(&id, 100).await.unwrap().unwrap();
    assert_eq!(c2.last.0, c.last.0 + 40); assert_eq!(ms.len() as u64, c2.last.0); assert!(ms.windows(2).all(|w| w[0].ordinal < w[1].ordinal));
    let slots = futures::future::join_all((0..10).map(|_| s.reserve(&iid, Rate { per_second: 1.0, burst: 1 }, shift(now, 100_000)))).await;
    let mut slots: Vec<_> = slots.into_iter().map(|r| match r.unwrap() { Reservation::Slot(t) => t.as_millisecond() - now.as_millisecond(), _ => panic!() }).collect(); slots.sort();
    assert_eq!(slots, (0..10).map(|i| 100_000 + i * 1000).collect::<Vec<i64>>());
    queues(clients, job, id).await;
}

async fn queues(clients: Clients, job: InboundJob, id: ConversationId) {
    let fifo = |n: &'static str| { let c = clients.sqs.clone(); async move { c.create_queue().queue_name(n).attributes(aws_sdk_sqs::types::QueueAttributeName::FifoQueue, "true").send().await.unwrap().queue_url.unwrap() } };
    let (inb, out, dlq) = (fifo("i.fifo").await, fifo("o.fifo").await, fifo("d.fifo").await);
    let turns = clients.sqs.create_queue().queue_name("turns").send().await.unwrap().queue_url.unwrap();
    let arn = clients.sqs.get_queue_attributes().queue_url(&turns).attribute_names(aws_sdk_sqs::types::QueueAttributeName::QueueArn).send().await.unwrap().attributes.unwrap()[&aws_sdk_sqs::types::QueueAttributeName::QueueArn].clone();
    clients.s3.create_bucket().bucket("bkt").send().await.unwrap();
    let group = clients.scheduler.create_schedule_group().name("grp").send().await; let _ = group;
    let config = AwsConfig { bucket: Some("bkt".into()), inbound_queue_url: Some(inb.clone()), outbound_queue_url: Some(out.clone()), turns_queue_url: Some(turns.clone()), turns_queue_arn: Some(arn), outbound_dlq_url: Some(dlq.clone()), schedule_group: Some("grp".into()), scheduler_role_arn: Some("arn:aws:iam::111111111111:role/x".into()), ..Default::default() };
    let q = AwsQueues::new(clients.clone(), config, SystemAmbient);
    let mut job = job; job.payload = Payload::Inline(json!("olá \u{0} 😀"));
    let e: Vec<Enqueue> = (0..13).map(|i| Enqueue { job: job.clone(), deduplication: format!("{i}") }).collect();
    q.send_inbound(&e).await.unwrap(); q.send_inbound(&e[..1]).await.unwrap();
    assert_eq!(q.depth(QueueName::Inbound).await.unwrap().waiting, 13);
    let m = clients.sqs.receive_message().queue_url(&inb).send().await.unwrap().messages.unwrap().remove(0);
    assert_eq!(serde_json::from_str::<InboundJob>(m.body.as_deref().unwrap()).unwrap(), job);
    q.change_visibility(QueueName::Inbound, m.receipt_handle.as_deref().unwrap(), 0).await.unwrap();
    let k = TurnKick { conversation: id.clone(), ordinal: Ordinal(1), correlation: job.correlation.clone(), due: None };
    q.send_turn(&k, Duration::from_millis(500)).await.unwrap();
    assert_eq!(q.depth(QueueName::Turns).await.unwrap().delayed, 1);
    let at = shift(SystemAmbient.now(), 600_000);
    q.schedule_turn(&k, at).await.unwrap(); q.schedule_turn(&k, at).await.unwrap();
    let all = clients.scheduler.list_schedules().group_name("grp").send().await.unwrap().schedules; assert_eq!(all.len(), 1);
    q.send_kick(&SendKick { conversation: id.clone(), upto: Ordinal(2), correlation: job.correlation.clone(), redrive: None }, "a b").await.unwrap();
    q.put_payload("abc", &json!({"x": "olá"})).await.unwrap();
    assert_eq!(q.payload("abc").await.unwrap().unwrap(), json!({"x": "olá"})); assert!(q.payload("none").await.unwrap().is_none());
    q.send_dead(&DeadLetter { id: "d".into(), queue: QueueName::Outbound, reason: Reason::Poison, at: instant(5), attempts: 1, last_error: Some("e".into()), correlation: job.correlation.clone(), instance: None, what: DeadWhat::Message { message: id.message(Ordinal(3)) } }).await.unwrap();
    let d = q.receive_dead(QueueName::Outbound, 30).await.unwrap(); assert_eq!((d.len(), d[0].receives), (1, 1));
    q.remove_dead(QueueName::Outbound, &d[0].receipt).await.unwrap();
    assert!(q.dead_depth(QueueName::Inbound).await.is_err());
    // secrets
    clients.ssm.put_parameter().name("/r/k").value("s3cret").r#type(aws_sdk_ssm::types::ParameterType::SecureString).send().await.unwrap();
    let arn = clients.secrets.create_secret().name("w").secret_string("one").send().await.unwrap().arn.unwrap();
    unsafe { std::env::set_var("KEYX_PARAMETER", "/r/k"); std::env::set_var("RECADO_WEBHOOK_SECRET_ARN", &arn); }
    let sec = AwsSecrets::new(&clients, SystemAmbient);
    let r = |t: &str| CredentialRef::try_from(t.to_owned()).unwrap();
    assert_eq!(sec.resolve(&r("env:KEYX")).await.unwrap().unwrap().expose(), "s3cret");
    assert_eq!(sec.resolve(&r("ssm:/r/k")).await.unwrap().unwrap().expose(), "s3cret");
    assert!(sec.resolve(&r("ssm:/r/none")).await.unwrap().is_none()); assert!(sec.resolve(&r("env:NOPE")).await.unwrap().is_none());
    assert_eq!(sec.webhook_masters().await.unwrap().len(), 1);
    clients.secrets.put_secret_value().secret_id(&arn).secret_string("two").send().await.unwrap();
    let both: Vec<_> = AwsSecrets::new(&clients, SystemAmbient).webhook_masters().await.unwrap().iter().map(|s| s.expose().to_owned()).collect();
    assert_eq!(both, ["two", "one"]);
    eprintln!("queues done");
}
