//! A database whose time passes only while somebody waits.

use async_trait::async_trait;
use jiff::Timestamp;
use recado_aws::{AwsError, DynamoStore};
use recado_domain::millis::add_millis;
use recado_dynamo_simulation::{Dynamo, Fault, Hooks, Operation, Options};
use recado_pipeline::ports::{PortError, PortResult, System};
use recado_testkit::builders::BASE;
use recado_testkit::own_kinds::list_all_kinds;
use std::error::Error;
use std::future::poll_fn;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// Time and chance. A wait is over at once and has taken its time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Virtual {
    passed: Arc<AtomicI64>,
    drawn: Arc<AtomicU64>,
}

impl Virtual {
    /// How long it has been since the beginning.
    pub(crate) fn passed(&self) -> Duration {
        Duration::from_millis(self.passed.load(Ordering::SeqCst).unsigned_abs())
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, duration: Duration) {
        let milliseconds = i64::try_from(duration.as_millis()).unwrap();
        self.passed.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

#[async_trait]
impl System for Virtual {
    fn now(&self) -> Timestamp {
        add_millis(BASE, self.passed.load(Ordering::SeqCst))
    }

    fn random_u64(&self) -> u64 {
        self.drawn
            .fetch_add(1, Ordering::SeqCst)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    async fn sleep(&self, duration: Duration) {
        self.pass(duration);
    }
}

/// A database, a store on it, and the faults that it is told. Clones are the same one.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) time: Virtual,
    pub(crate) dynamo: Dynamo,
    pub(crate) store: DynamoStore<Virtual>,
    faults: Arc<Faults>,
    /// How many records of transactions that are done item by item may still appear.
    appearing: Arc<AtomicI64>,
}

type Decide = Box<dyn Fn(&Operation) -> Fault + Send + Sync>;

#[derive(Default)]
struct Faults {
    decide: Mutex<Option<Decide>>,
    trace: Mutex<Vec<String>>,
}

impl World {
    /// One without faults, whose SDK tries everything once.
    pub(crate) fn new() -> Self {
        Self::with_attempts(1)
    }

    /// One without faults, whose SDK tries everything so often.
    pub(crate) fn with_attempts(attempts: u32) -> Self {
        let (time, faults) = (Virtual::default(), Arc::<Faults>::default());
        let (clock, told) = (time.clone(), Arc::clone(&faults));
        let appearing = Arc::new(AtomicI64::new(i64::MAX));
        let left = Arc::clone(&appearing);
        let hooks = Hooks::new(move || clock.now())
            .fault(move |operation| {
                told.trace.lock().unwrap().push(operation.to_string());
                let decide = told.decide.lock().unwrap();
                decide.as_ref().map_or(Fault::None, |decide| decide(operation))
            })
            .between(move |_| {
                let left = Arc::clone(&left);
                Box::pin(poll_fn(move |_| match left.fetch_sub(1, Ordering::SeqCst) {
                    1.. => Poll::Ready(()),
                    _ => Poll::Pending,
                }))
            });
        let dynamo = Dynamo::new(hooks).unwrap();
        let options = Options {
            config_ttl: Duration::ZERO,
            attempts,
        };
        Self {
            store: dynamo.store(time.clone(), &options).with_kinds(list_all_kinds()),
            time,
            dynamo,
            faults,
            appearing,
        }
    }

    /// From here on so many records of transactions that are done item by item appear, and no more.
    pub(crate) fn appear(&self, records: i64) {
        self.appearing.store(records, Ordering::SeqCst);
    }

    /// What goes wrong from here on.
    pub(crate) fn fails(&self, decide: impl Fn(&Operation) -> Fault + Send + Sync + 'static) {
        *self.faults.decide.lock().unwrap() = Some(Box::new(decide));
    }

    /// From here on `fault` happens to the next `times` requests.
    pub(crate) fn fails_times(&self, times: i64, fault: Fault) {
        let left = AtomicI64::new(times);
        self.fails(move |_| match left.fetch_sub(1, Ordering::SeqCst) {
            1.. => fault,
            _ => Fault::None,
        });
    }

    /// From here on all is well.
    pub(crate) fn recovers(&self) {
        *self.faults.decide.lock().unwrap() = None;
    }

    /// All requests that reached the database.
    pub(crate) fn trace(&self) -> Vec<String> {
        self.faults.trace.lock().unwrap().clone()
    }
}

/// The code of an operation that may succeed later.
pub(crate) fn unavailable<T>(outcome: PortResult<T>) -> String {
    let Err(error) = outcome else {
        panic!("it succeeded")
    };
    assert!(matches!(error, PortError::Unavailable { .. }), "{error:?}");
    code(&error)
}

/// What AWS called an operation's failure.
pub(crate) fn code(error: &PortError) -> String {
    let cause = error
        .source()
        .and_then(|source| source.downcast_ref::<AwsError>());
    cause
        .unwrap_or_else(|| panic!("{error:?} is not of AWS"))
        .code
        .clone()
}
