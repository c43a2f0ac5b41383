use crate::ids::BatchId;
use jiff::Timestamp;

/// Writes the id of a batch that is made at `at`: the time in milliseconds, then random bits, all in hexadecimal.
#[expect(clippy::expect_used, reason = "hexadecimal digits are a valid id")]
pub fn write_batch_id(at: Timestamp, random: u64) -> BatchId {
    let millis = at.as_millisecond().unsigned_abs() & 0xffff_ffff_ffff;
    BatchId::parse(&format!("batch_{millis:012x}{random:016x}")).expect("hexadecimal digits")
}
