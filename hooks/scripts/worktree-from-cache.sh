#!/usr/bin/env bash
# Makes the workspace a git worktree of a local bare cache that all issues share, which saves downloads and disk space.
# For after_create, before_run or both. Safe for concurrent issues, because a lock protects the cache.
#
#   BATON_REPO_URL      required: the repository to cache
#   BATON_CACHE_DIR     the bare repository; default: below $XDG_CACHE_HOME/baton, one per URL
#   BATON_BASE_BRANCH   where new branches begin; default: the default branch of the remote
#   BATON_WORKSPACE, BATON_ISSUE_IDENTIFIER, BATON_ISSUE_BRANCH   set by Baton
set -euo pipefail
# shellcheck source=git-common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/git-common.sh"

: "${BATON_REPO_URL:?set it to the repository to work on}"
command -v flock >/dev/null || die 'flock is missing: install util-linux'
enter_workspace

cache=${BATON_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/baton/repositories/$(short_hash "$BATON_REPO_URL").git}
mkdir -p -- "$(dirname -- "$cache")"
cache=$(cd -- "$(dirname -- "$cache")" && pwd -P)/$(basename -- "$cache")

default=$(default_branch "$BATON_REPO_URL")
base=${BATON_BASE_BRANCH:-$default}
branch=$(issue_branch "$default" "$base")

exec 9>"$cache.lock"
flock 9
safe_git init --quiet --bare "$cache"
fetch_origin "$cache"

if [ -e .git ]; then
  common=$(cd -- "$(safe_git rev-parse --git-common-dir)" && pwd -P)
  [ "$common" = "$cache" ] || die "$PWD belongs to $common, not to the cache $cache"
else
  [ -z "$(ls -A)" ] || die "$PWD is neither empty nor a worktree: nothing is checked out over it"
  # Workspaces that were removed leave their entry, and with it the claim on their branch, behind.
  safe_git --git-dir="$cache" worktree prune --expire now
  if safe_git --git-dir="$cache" rev-parse --quiet --verify "refs/heads/$branch" >/dev/null; then
    safe_git --git-dir="$cache" worktree add "$PWD" "$branch" >/dev/null
  else
    start=$(start_point "$cache" "$branch" "$base")
    safe_git --git-dir="$cache" worktree add --no-track -b "$branch" "$PWD" "$start" >/dev/null
  fi
fi
fast_forward "$branch"
note "$(safe_git rev-parse --abbrev-ref HEAD) at $(safe_git rev-parse --short HEAD)"
