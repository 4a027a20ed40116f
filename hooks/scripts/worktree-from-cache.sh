#!/usr/bin/env bash
# The same as clone-or-update.sh, under the name of an earlier version: all clones come from one local repository per remote.
# Worktrees shared their repository with the agents of all issues, so they are no longer made.
#
#   BATON_REPO_URL      required: the repository to clone
#   BATON_BASE_BRANCH   where new branches begin; default: the default branch of the remote
#   BATON_WORKSPACE, BATON_ISSUE_IDENTIFIER, BATON_DELIVERY_FILE, BATON_NODE   set by Baton
set -euo pipefail
: "${BATON_REPO_URL:?set it to the repository to work on}"
exec bash "$(dirname -- "${BASH_SOURCE[0]}")/clone-or-update.sh"
