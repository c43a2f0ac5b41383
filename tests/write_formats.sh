#!/usr/bin/env bash
# Writes the data folder and the table export of the present format into tests/formats/VERSION. Run it once for each
# release, before its tag; what is there of a released version is never written again.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
if git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null; then
  echo "$version is released: its files stay as they are" >&2
  exit 1
fi
RECADO_FORMAT_FOLDER=$PWD/tests/formats/$version
export RECADO_FORMAT_FOLDER
mkdir -p "$RECADO_FORMAT_FOLDER"
cargo test --workspace --features recado-tests/emulator,recado-lambda/aws-social,recado/tested --test one_machine -- \
  --ignored --exact formats::write_the_folder_of_the_present_format
cargo test --workspace --features recado-tests/emulator,recado-lambda/aws-social,recado/tested --test formats -- \
  --ignored --exact write_the_table_of_the_present_format
ls -l "$RECADO_FORMAT_FOLDER"
