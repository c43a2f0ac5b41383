#!/usr/bin/env bash
# Rules of the repository that no compiler checks.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0
complain() { echo "tidy: $1" >&2; failed=1; }

# Prints what a package (or `--workspace`) depends on, a name on each line; ends the script where cargo cannot tell.
dependencies_of() {
  cargo tree --quiet --offline "$@" --edges normal --prefix none || { echo "tidy: cargo tree $* failed" >&2; exit 1; }
}
# The dependency rule: the domain and the pipelines know neither AWS nor HTTP nor SQL, and one machine no AWS.
for crate in recado-domain recado-pipeline recado; do
  tree=$(dependencies_of --package "$crate")
  if grep -qE '^(aws-|lambda_)' <<<"$tree"; then
    complain "$crate depends on an AWS crate"
  fi
  if [ "$crate" != recado ] && grep -qE '^(reqwest|axum|rusqlite|tokio) ' <<<"$tree"; then
    complain "$crate depends on HTTP, SQL or a runtime"
  fi
done
# The command line is a client: it knows no store, no model and no server.
tree=$(dependencies_of --package recado-cli)
if grep -qE '^(recado-(embedded|ai|aws|console|moving)|rusqlite) ' <<<"$tree"; then
  complain "recado-cli depends on a store, a model or the server"
fi
tests/build_weight.py crates >/dev/null || complain "a program has more crates than it may: tests/build_weight.py crates"
# What sets instances up stays out of the functions on AWS, but of the one that serves the API.
functions=$(sed -n 's/^name = "\(.*\)"/--package \1/p' functions/*/Cargo.toml | grep -vE ' (recado|recado_server|one_machine|api)$')
# shellcheck disable=SC2086 # each package is an argument of its own
tree=$(dependencies_of $functions)
if grep -q '^recado-onboarding ' <<<"$tree"; then
  complain "a function on AWS besides api depends on recado-onboarding"
fi
# One TLS library, one SQLite.
tree=$(dependencies_of --workspace)
if grep -qE '^(aws-lc-rs|aws-lc-sys|openssl|openssl-sys|native-tls) ' <<<"$tree"; then
  complain "a second TLS library came in"
fi
# Every dependency of the workspace has a user.
for name in $(sed -n '/^\[workspace.dependencies\]/,/^\[workspace.lints/s/^\([a-z0-9_-]*\) *=.*/\1/p' Cargo.toml); do
  grep -qE "^$name(\.workspace)? *=" functions/*/Cargo.toml shared/*/Cargo.toml shared/features/*/Cargo.toml tests/*/Cargo.toml ||
    complain "no crate uses the workspace's dependency $name"
done
# Prints what a manifest names under `[dependencies]`, a name on each line.
named_in() {
  awk '/^\[/ { own = /^\[dependencies\]/ } own && /^[a-z]/ { sub(/[. =].*/, ""); print }' "$1"
}
# Each crate uses what it depends on.
for manifest in functions/*/Cargo.toml shared/*/Cargo.toml shared/features/*/Cargo.toml; do
  for name in $(named_in "$manifest"); do
    git grep -qw "${name//-/_}" -- "$(dirname "$manifest")/src/*.rs" || complain "$manifest names $name, and nothing there uses it"
  done
done
# A room knows the ports, and neither what is behind them nor a program nor the list of all rooms. The path of a message knows no room.
behind='ai|aws|cli|console|documents|email|embedded|features|google-calendar|http-client|knowledge-search|lambda|local|machine|moving|notify|onboarding|tools|traces'
packages=
for manifest in shared/features/*/Cargo.toml; do
  packages+="|$(sed -n 's/^name = "\(recado-.*\)"/\1/p' "$manifest")"
  if found=$(named_in "$manifest" | grep -E "^recado-($behind)$"); then
    complain "$manifest names $found"
  fi
done
for manifest in shared/domain/Cargo.toml shared/ports/Cargo.toml shared/pipeline/Cargo.toml; do
  if found=$(named_in "$manifest" | grep -E "^(recado-(http|features)$packages)$"); then
    complain "$manifest names $found"
  fi
done
# The use cases have no clock, no random numbers and no environment of their own.
if git ls-files 'shared/domain/src/*.rs' 'shared/pipeline/src/*.rs' 'shared/features/*.rs' | grep -vE '^shared/features/src/tests(/|\.rs$)' |
  xargs grep -nE 'SystemTime::now|Timestamp::now|Instant::now|env::var|tokio::'; then
  complain "shared/domain, shared/pipeline or a room reads a clock, the environment or a runtime"
fi
# The rules count time in instants and lengths of time; only `millis`, a setting's earlier name, the JSON of messages and tests know milliseconds.
counted=$(git ls-files 'shared/domain/src/*.rs' 'shared/pipeline/src/*.rs' 'shared/features/*.rs' ':!shared/domain/src/millis.rs' \
    ':!shared/ports/src/settings/legacy_names.rs' | grep -vE '/tests?(/|\.rs$)|/message_view/' |
  xargs awk 'FNR == 1 { tests = 0; last = "" } last ~ /^#\[cfg\(test\)\]/ && /^(pub.* )?mod [a-z_]+ \{/ { tests = 1 } { last = $0 }
    !tests && !/^ *\/\// && /[A-Z]_MS[^A-Z_]|[a-z]_ms: |add_millis\(/ { print FILENAME ":" FNR ": " $0 }')
if [ -n "$counted" ]; then
  echo "$counted"
  complain "a rule counts milliseconds: use jiff's Timestamp and SignedDuration"
fi
# Only the enum of the providers, shared/whatsapp and shared/onboarding name a provider, and tests.
# (shared/lambda composes the one whose events come by AWS's queue and whose sends need AWS's client.)
named=$(git ls-files 'shared/*.rs' 'functions/*.rs' ':!shared/whatsapp' ':!shared/onboarding' ':!shared/domain/src/provider.rs' | grep -vE '/tests?(/|\.rs$)' |
  xargs awk 'FNR == 1 { tests = 0; last = "" } last ~ /^#\[cfg\(test\)\]/ && /^(pub.* )?mod [a-z_]+ \{/ { tests = 1 } { last = $0 }
    !tests && !/^ *\/\// && /recado_whatsapp::(evolution|meta|dialog360)|Provider::(Evolution|Meta|Dialog360)|"(evolution|meta|360dialog|aws-social)"/ {
      print FILENAME ":" FNR ": " $0 }' | grep -vE 'feature = |schema\(example = ' || true)
if [ -n "$named" ]; then
  echo "$named"
  complain "a provider is named outside of shared/whatsapp and shared/onboarding"
fi
# Use cases share steps, not each other. A step, a hook and the answers to one know no use case.
path=shared/pipeline/src
names=$(find $path/usecases -maxdepth 1 -name '*.rs' -printf '%f\n' | sed 's/\.rs$//' | paste -sd '|')
while read -r file; do
  own=$(sed -nE "s#^$path/usecases/([a-z_]+).*#\1#p" <<<"$file")
  if grep -nHE "crate::(\{|(usecases::)?\b($names)\b)" "$file" | grep -vE "crate::usecases::${own:-none}\b"; then
    complain "$file imports another use case"
  fi
done < <(for folder in usecases steps hooks gates rules parts; do git ls-files "$path/$folder/*.rs"; done)
# The code map of ARCHITECTURE.md names every module of the rules, the use cases and their steps, in the table of its folder.
map_table=0
for modules in shared/domain/src $path/usecases $path/steps; do
  map_table=$((map_table + 1))
  named=$(awk -v wanted="$map_table" '/^## /{ map = /^## Code map/; table = 0 } !map { next }
    /^\| module \|/ { table++ } table == wanted && /^\|/ { print $0 }' ARCHITECTURE.md | cut -d '|' -f 2)
  for module in "$modules"/*.rs; do
    module=$(basename "$module" .rs)
    case $module in
      lib) ;;
      *) grep -qE "\`$module(::[a-z_]+)?\`" <<<"$named" || complain "the code map of ARCHITECTURE.md leaves out $modules/$module" ;;
    esac
  done
done
# So it does with every room, in the table of rooms.
named=$(awk '/^## /{ map = /^## Code map/; table = 0 } !map { next } /^\| room \|/ { table = 1 } !/^\|/ { table = 0 } table' ARCHITECTURE.md |
  cut -d '|' -f 2)
for manifest in shared/features/*/Cargo.toml; do
  room=$(basename "$(dirname "$manifest")")
  grep -qF "\`$room\`" <<<"$named" || complain "the table of rooms in ARCHITECTURE.md leaves out $room"
done
# A crate with one test program names each file of its `tests` in it, and a crate without doc tests has none.
for manifest in $(git ls-files '*/Cargo.toml'); do
  folder=$(dirname "$manifest")
  if grep -q '^autotests = false' "$manifest"; then
    for file in "$folder"/tests/*.rs; do
      name=$(basename "$file" .rs)
      grep -q "tests/$name\.rs\"" "$manifest" || grep -rqE "^mod $name;|/$name\.rs\"" "$folder/tests" || complain "$file is part of no test program"
    done
  fi
  if grep -q '^doctest = false' "$manifest" && grep -rnE '^ *//[/!] *```' "$folder/src" | grep -v '```text'; then
    complain "$manifest leaves out doc tests, and there are some"
  fi
done
# Each index costs each write. So a comment above it names the query that it serves, or the file that drops it.
schema=shared/embedded/src
while IFS=$'\t' read -r place comment; do
  known=0
  for name in $(grep -oE '`[a-z_]+(\.sql)?`' <<<"$comment" | tr -d '`'); do
    case $name in
      *.sql) [ ! -f "$schema/folder/$name" ] || known=1 ;;
      *) ! git grep -qE "fn $name\b" -- "$schema" || known=1 ;;
    esac
  done
  [ "$known" = 1 ] || complain "$place: no comment above this index names its query, a function of $schema"
done < <(awk 'FNR == 1 { comment = "" } /^-- / { comment = comment " " $0; next }
  /^CREATE (UNIQUE )?INDEX/ { print FILENAME ":" FNR "\t" comment } { comment = "" }' "$schema"/folder/*.sql)
# Every function has a resource in the template, and the reverse.
for function in webhook processor deferred-reply sender api reconcile publisher poster; do
  [ -d "functions/$function" ] || complain "functions/$function is missing"
  grep -q "target/lambda/$function/" template.yaml || complain "template.yaml does not deploy $function"
done
# A folder of payloads is one of a provider: `.ci/run` asks that further payloads have each of them.
for folder in tests/fixtures/*/; do
  provider=$(basename "$folder" | sed 's/^360dialog$/dialog360/; s/-/_/g')
  [ -d "shared/whatsapp/src/$provider" ] || complain "$folder is not named after a provider"
done
# One module style: `x.rs` beside `x/`. No circles of imports.
if git ls-files 'shared/*/mod.rs' 'functions/*/mod.rs' | grep .; then
  complain "a module is x/mod.rs: call it x.rs"
fi
tests/import_circles.py || complain "files import each other in circles: tests/import_circles.py"
# Names and comments that a newcomer understands.
tests/plain_words.py || complain "names or comments are hard to read: tests/plain_words.py --list"
# A part only grows with a limit that somebody raises.
tests/size.py --check || complain "a part has more lines than it may: tests/size.py"
# Each behaviour that may not break has a case, or names a test that is there.
tests/behaviours/run.py --rows >/dev/null || complain "tests/behaviours/rows.toml names what is not there"
# Each planted bug still has its place and its test.
tests/planted.py --check || complain "tests/planted.toml names what is not there"
# The links of the pages lead to files and headings that exist.
tests/anchors.py || complain "a link leads nowhere"
# What the pages name exists: routes, commands with their options, settings.
tests/named_things.py || complain "a page names what is not there"
# Files are short.
while read -r lines file; do
  case $file in
    total) continue ;;
    shared/* | functions/*) most=400 ;;
    *) most=480 ;;
  esac
  [ "$lines" -le "$most" ] || complain "$file has $lines lines"
done < <(git ls-files '*.rs' | grep -vE '/tests?(/|\.rs$)' | xargs wc -l)
# A README, not a manual.
bytes=$(wc -c <README.md)
[ "$bytes" -le 9216 ] || complain "README.md has $bytes bytes, more than 9 KB: move what is not for a first reader to docs/"
# A cell of these pages' tables is read at a glance.
if awk '/^\|/ { gsub(/\\\|/, ""); cells = split($0, cell, "|")
    for (i = 2; i < cells; i++) if (split(cell[i], words, " ") > 48) { print FILENAME ":" FNR ": " cell[i]; found = 1 } }
    END { exit !found }' docs/protocol.md docs/reliability.md; then
  complain "a cell of a table has more than 48 words"
fi
# Nothing of one machine in the repository.
if git grep -nIE '/(work|home|root)/[a-z]' -- . ':!tests/tidy.sh' ':!*.lock'; then
  complain "a machine path stands in the repository"
fi
exit "$failed"
