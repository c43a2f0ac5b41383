#!/bin/sh
# Builds what a release holds for one processor, the one of this machine for the program, and puts it into target/dist:
#
#   infra/make-release.sh x86_64|arm64 webhook processor …
#
#   recado-VERSION-ARCHITECTURE.tar.gz           the program for one machine and its units for systemd, `recado-on-aws` for moves,
#                                                the sample configuration, the licences
#   recado-FUNCTION-VERSION-ARCHITECTURE.zip     each Lambda function: `bootstrap` for the runtime provided.al2023
#
# Needs cargo-lambda and zip.
set -eu
cd "$(dirname "$0")/.."
architecture=$1
shift
case $architecture in
    x86_64) flag=--x86-64 machine=x86_64 ;;
    arm64) flag=--arm64 machine=aarch64 ;;
    *)
        echo "usage: $0 x86_64|arm64 FUNCTION …" >&2
        exit 2
        ;;
esac
if [ "$(uname -sm)" != "Linux $machine" ]; then
    echo "the program for one machine is built for the machine that builds it, and this one is $(uname -sm)" >&2
    exit 1
fi
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
dist=$PWD/target/dist
rm -rf "$dist"
mkdir -p "$dist"

cargo build --release --locked --package recado --features recado/full --package recado-on-aws
name=recado-$version-$architecture
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/$name"
built=${CARGO_TARGET_DIR:-target}/release
cp -r "$built/recado" "$built/recado-on-aws" infra/systemd recado.toml LICENSE-MIT LICENSE-APACHE "$folder/$name"
tar -C "$folder" -czf "$dist/$name.tar.gz" "$name"

packages=
for function in "$@"; do
    packages="$packages --package $function"
done
# shellcheck disable=SC2086
cargo lambda build --release --locked $flag $packages
infra/check-architecture.sh "$architecture"
for function in "$@"; do
    (cd "target/lambda/$function" && zip -qX "$dist/recado-$function-$version-$architecture.zip" bootstrap)
done
ls -l "$dist"
