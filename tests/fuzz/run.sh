#!/usr/bin/env bash
# Fuzzes what reads the input of others (or the readers that are named), each for so many seconds: tests/fuzz/run.sh 600 [target…]
# A target is a provider, which starts from its fixtures, or a reader of src/main.rs, which starts from tests/fuzz/begin/NAME.
# Builds with the stable compiler; needs a C++ compiler for libFuzzer. What is found lies in
# target/fuzz (crashes under their own names: hand one to the binary as its argument to see it again).
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-30}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=($(ls -d tests/fixtures/*/ tests/fuzz/begin/*/ | xargs -n1 basename))
if ! command -v "${CXX:-c++}" >/dev/null; then
  echo "fuzzing needs a C++ compiler" >&2
  exit 1
fi
export CARGO_TARGET_DIR="$PWD/target/fuzz"
# What cargo-fuzz passes, without the sanitizers that need a nightly compiler: this code is safe Rust.
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16"
# Build scripts and macros must not be instrumented: a target that is named keeps the flags away from them.
host=$(rustc -vV | sed -n 's/^host: //p')
cargo build --quiet --release --manifest-path tests/fuzz/Cargo.toml --target "$host"
# The names that the parsers know are worth trying.
dictionary="$CARGO_TARGET_DIR/webhooks.dict"
grep -rohE '"[$A-Za-z_][A-Za-z0-9_.]{2,40}"' shared/whatsapp/src shared/domain/src/config/tools | sort -u | sed 's/"/\\"/g; s/.*/"&"/' >"$dictionary.$$"
# At once: another run may be reading it.
mv "$dictionary.$$" "$dictionary"
for target in "${targets[@]}"; do
  found="target/fuzz/found/$target"
  mkdir -p "$found/corpus"
  begin="tests/fixtures/$target"
  [ -d "$begin" ] || begin="tests/fuzz/begin/$target"
  echo "fuzzing $target for $seconds s"
  log="$found/log"
  if ! RECADO_FUZZ_TARGET=$target "target/fuzz/$host/release/parse" -max_total_time="$seconds" -timeout=5 \
    -rss_limit_mb=2048 -max_len=65536 -dict="$dictionary" -artifact_prefix="$found/" -print_final_stats=1 \
    "$found/corpus" "$begin" >"$log" 2>&1; then
    tail -40 "$log"
    exit 1
  fi
  grep -E "stat::number_of_executed_units|stat::average_exec_per_sec|stat::peak_rss_mb|stat::slowest" "$log" | sed "s/^/$target /"
  grep -E "cov: [0-9]+" "$log" | tail -1 | sed "s/^/$target /"
done
