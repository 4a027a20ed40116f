#!/usr/bin/env bash
# Clones a git repository into the workspace, or updates the existing clone, on a branch for the issue.
# For after_create, before_run or both. Can be repeated. Never changes local commits and files.
#
#   BATON_REPO_URL      required: the repository to clone
#   BATON_BASE_BRANCH   where new branches begin; default: the default branch of the remote
#   BATON_WORKSPACE, BATON_ISSUE_IDENTIFIER, BATON_DELIVERY_FILE, BATON_NODE   set by Baton
set -euo pipefail
: "${BATON_REPO_URL:?set it to the repository to work on}"
exec "${BATON_NODE:-node}" "$(dirname -- "${BASH_SOURCE[0]}")/../../runner/git/program.js" update
