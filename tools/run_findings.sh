#!/usr/bin/env bash
# Run findings one after another, those that are named or all, and say which are the same, changed, or not installed.
# Each installs its own packages. The exit status is 1 if one changed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../findings" && pwd)
said=$(mktemp)
trap 'rm -f "$said"' EXIT
same=0 changed=0 missing=0
[ $# -gt 0 ] || set -- $(basename -s .sh "$here"/*.sh)
for name; do
    "$here/$name.sh" > "$said" 2>&1 < /dev/null
    case $? in
        0) echo "same           $name"; same=$((same + 1)) ;;
        77) echo "not installed  $name"; missing=$((missing + 1)) ;;
        *) echo "CHANGED        $name"; sed 's/^/    /' "$said"; changed=$((changed + 1)) ;;
    esac
done
echo "$same the same, $changed changed, $missing not installed (their packages could not be)"
[ "$changed" -eq 0 ]
