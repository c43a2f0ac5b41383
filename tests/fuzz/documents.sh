#!/usr/bin/env bash
# Fuzzes the readers of all kinds of documents (or of those named), each for so many seconds: tests/fuzz/documents.sh 600 [kind…]
# Kinds: docx xlsx pptx odt ods html csv text, and zip-docx and the like for the archive itself. Builds as run.sh does; what is found lies
# in target/fuzz/found/document-KIND.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-30}
shift || true
kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(docx xlsx pptx odt ods html csv text zip-docx zip-xlsx)
export CARGO_TARGET_DIR="$PWD/target/fuzz"
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16"
host=$(rustc -vV | sed -n 's/^host: //p')
cargo build --quiet --release --manifest-path tests/fuzz/Cargo.toml --target "$host" --bin documents
# The names of elements and attributes that the readers know.
dictionary="$CARGO_TARGET_DIR/documents.dict"
grep -rohE '"[A-Za-z][A-Za-z0-9-]{0,40}"' shared/documents/src --include='*.rs' | sort -u >"$dictionary.$$"
mv "$dictionary.$$" "$dictionary"
for kind in "${kinds[@]}"; do
  found="target/fuzz/found/document-$kind"
  mkdir -p "$found/corpus"
  echo "fuzzing documents: $kind for $seconds s"
  log="$found/log"
  if ! RECADO_FUZZ_DOCUMENT=$kind "target/fuzz/$host/release/documents" -max_total_time="$seconds" -timeout=5 \
    -rss_limit_mb=2048 -max_len=65536 -dict="$dictionary" -artifact_prefix="$found/" -print_final_stats=1 \
    "$found/corpus" >"$log" 2>&1; then
    tail -40 "$log"
    exit 1
  fi
  grep -E "stat::number_of_executed_units|stat::slowest" "$log" | sed "s/^/$kind /"
done
