#!/bin/bash
# Runs the tests of exploits and containment as an ordinary user, with namespaces and without. Root runs them as root without namespaces
# first, then as an ordinary user in a copy of the checkout. Needs a build, util-linux and namespaces.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly TESTS=(node node_modules/vitest/vitest.mjs run --config test/security/vitest.config.ts)
# The host's git works without namespaces anyway, and its tests take long.
readonly WITHOUT=(env BATON_TEST_NAMESPACES=forbidden "${TESTS[@]}" --exclude test/security/git.test.ts)

if [ "$(id -u)" -ne 0 ]; then
  echo '== as an ordinary user with namespaces'
  "${TESTS[@]}"
  echo '== as an ordinary user without namespaces'
  # The same user, in a user namespace below which no other can be made.
  # shellcheck disable=SC2016
  unshare --user --map-current-user --keep-caps bash -c 'echo 0 > /proc/sys/user/max_user_namespaces
    exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"' bash "${WITHOUT[@]}"
  exit
fi

echo '== as root without namespaces, as in most containers'
setpriv --inh-caps=-all --bounding-set=-sys_admin "${WITHOUT[@]}"

readonly NOBODY=65534
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
# That user may not be able to enter the checkout or the folder of node.
mkdir "$place"/{bin,home,tmp}
cp "$(command -v node)" "$place/bin/"
cp -a . "$place/checkout"
chown -R $NOBODY:$NOBODY "$place"
setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups env -i CI="${CI:-}" HOME="$place/home" TMPDIR="$place/tmp" \
  PATH="$place/bin:$PATH" bash "$place/checkout/test/security/every-user.sh"
