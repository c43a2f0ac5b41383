//! The program that measures acknowledgements and memory (`benches/embedded.py`), run once with few messages: what it measures is there and
//! belongs to messages that were stored. Half of all webhooks are acknowledged far within what is promised, and 200 messages take little
//! memory, on any machine and in a debug build. The p99 and the memory of a release build are judged by `make figures`, on a quiet machine.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Prints what is measured of a server with 200 messages from two clients.
const MEASURE: &str = r"
import json, sys
sys.path.insert(0, sys.argv[1])
from embedded import measure
print(json.dumps(measure(sys.argv[2], 200, 2, sys.argv[3])))
";

/// Time within which a webhook is to be acknowledged, in milliseconds.
const ACKNOWLEDGED_MS: f64 = 100.0;

/// Most memory that 200 messages may add to that of an idle server, in KiB: for pages of the database and the stacks of its threads.
const ADDED_KIB_MAX: f64 = 40.0 * 1024.0;

#[test]
fn memory_and_the_times_to_acknowledge_are_measured_of_messages_that_were_stored() {
    let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches");
    let done = Command::new("python3")
        .args(["-B", "-c", MEASURE])
        .arg(benches)
        .arg(env!("CARGO_BIN_EXE_recado"))
        .arg(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
    let measured: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(measured["statuses"]["200"], 200, "{measured}");
    for table in ["messages", "events"] {
        assert_eq!(measured["stored"][table], 200, "{table}: {measured}");
    }
    let figure = |name: &str| measured[name].as_f64().unwrap();
    let times = ["p50_ms", "p99_ms", "max_ms"].map(figure);
    assert!(times[0] > 0.0 && times.is_sorted(), "{times:?}");
    // A process has more than a megabyte, and no more now than at most.
    let memory = ["rss_kib", "peak_kib"].map(figure);
    assert!(memory[0] > 1024.0 && memory.is_sorted(), "{memory:?}");
    assert!(figure("idle_rss_kib") > 1024.0, "{measured}");
    assert!(times[0] < ACKNOWLEDGED_MS, "{measured}");
    assert!(memory[0] - figure("idle_rss_kib") < ADDED_KIB_MAX, "{measured}");
}
