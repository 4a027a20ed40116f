#!/usr/bin/env bash
# Clones a git repository into the workspace, or updates the existing clone, on a branch for the issue.
# For after_create, before_run or both. Can be repeated. Never changes local commits and files.
#
#   BATON_REPO_URL      required: the repository to clone
#   BATON_BASE_BRANCH   where new branches begin; default: the default branch of the remote
#   BATON_WORKSPACE, BATON_ISSUE_IDENTIFIER, BATON_ISSUE_BRANCH   set by Baton
set -euo pipefail
# shellcheck source=git-common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/git-common.sh"

: "${BATON_REPO_URL:?set it to the repository to work on}"
enter_workspace

if [ ! -e .git ]; then
  [ -z "$(ls -A)" ] || die "$PWD is neither empty nor a git repository: nothing is cloned over it"
  safe_git init --quiet
fi

default=$(default_branch "$BATON_REPO_URL")
base=${BATON_BASE_BRANCH:-$default}
branch=$(issue_branch "$default" "$base")
fetch_origin .git

if safe_git rev-parse --quiet --verify HEAD >/dev/null; then
  fast_forward "$branch"
else
  start=$(start_point .git "$branch" "$base")
  safe_git checkout --quiet --no-track -B "$branch" "$start"
fi
note "$(safe_git rev-parse --abbrev-ref HEAD) at $(safe_git rev-parse --short HEAD)"
