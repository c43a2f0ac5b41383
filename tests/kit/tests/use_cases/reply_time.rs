//! From the webhook to the reply, nothing is waited for but the debounce and the model.

use crate::world::Setup;
use recado_domain::dead_letter::QueueName;
use recado_pipeline::ports::System;
use recado_pipeline::{Settings, Verdict, handle_outbound_message, handle_turns_message};
use recado_testkit::builders::Fixture;
use recado_testkit::idle::Idle;
use recado_testkit::ports::succeed;
use std::time::Duration;

/// The debounce of a complete question, unless set otherwise, in milliseconds.
const DEBOUNCE: i64 = 900;

/// The time that the model takes, in milliseconds.
const MODEL: i64 = 2_000;

#[tokio::test]
async fn a_single_question_waits_for_its_debounce_and_the_model_and_for_nothing_else() {
    let mut setup = Setup::set(Fixture::new()).await;
    setup.world.deps_mut().settings_mut().debounce = Settings::default().debounce;
    *setup.world.llm.says.lock().unwrap() = Some("Das nove às seis.".to_owned());
    let time = setup.world.system.clone();
    let thinks = time.clone();
    setup.world.llm.meanwhile.set(async move { thinks.pass(MODEL) });
    let arrived = time.now();
    setup
        .message(&setup.fixture, "A", "Vocês abrem amanhã?", false)
        .await;
    time.pass(DEBOUNCE - 1);
    assert!(setup.due_turns().await.is_empty(), "more may come");
    time.pass(1);
    let job = setup.due_turns().await.pop().unwrap();
    let body = serde_json::to_string(&job).unwrap();
    let turned = handle_turns_message(&setup.world, &body, 1, None).await;
    assert_eq!(turned, Verdict::Done);
    let queues = &setup.world.queues;
    let visibility = Duration::from_secs(30);
    let due = succeed(queues.receive_messages(QueueName::Outbound, 10, visibility)).await;
    let sent = handle_outbound_message(&setup.world, &Idle, &due[0].body, 1, None).await;
    assert_eq!((sent, setup.world.providers.sent()), (Verdict::Done, 1));
    let took = time.now().duration_since(arrived);
    assert_eq!(took.as_millis(), i128::from(DEBOUNCE + MODEL));
}
