use super::*;
use crate::millis::from_unix_millis;

#[test]
fn the_digest_depends_on_every_record_and_on_no_order() {
    let hash = |first: u8| {
        let mut hash = [0xff; 32];
        hash[0] = first;
        hash
    };
    let sum = |hashes: &[u8]| {
        let mut tally = KindTally::default();
        for first in hashes {
            tally.add_record(&hash(*first));
        }
        tally
    };
    assert_eq!(sum(&[1, 2, 255]), sum(&[255, 1, 2]));
    assert_ne!(sum(&[1, 2, 255]), sum(&[1, 2, 254]));
    assert_ne!(sum(&[1]), sum(&[1, 1]));
    let digest = sum(&[1, 2]).digest;
    assert_eq!(RecordDigest::try_from(digest.to_string()), Ok(digest));
    assert!(RecordDigest::try_from("ab".to_owned()).is_err());
}

#[test]
fn a_time_of_expiry_is_rounded_up_to_a_second() {
    let rounded = |at| record::round_up_to_second(from_unix_millis(at)).as_millisecond();
    assert_eq!(
        [rounded(0), rounded(1), rounded(1000), rounded(1001)],
        [0, 1000, 1000, 2000]
    );
}
