#!/usr/bin/env bash
# Commits the changes of the agent and pushes them to the branch of the issue. For after_run. Can be repeated.
# Pushes only to the branch of the issue, whatever branch the agent is on, and never to the default or the base branch.
# Git runs in a repository outside of the workspace, so nothing that the agent wrote takes effect: docs/security.md.
#
#   BATON_REPO_URL      where to push; default: where clone-or-update.sh cloned from
#   BATON_BASE_BRANCH   the branch that the work is for: protected files are compared with it, and it is never pushed to; default: the default branch
#   BATON_COMMIT_NAME, BATON_COMMIT_EMAIL   the author if git has none; default: Baton <baton@localhost>
#   BATON_WORKSPACE, BATON_ISSUE_IDENTIFIER, BATON_ISSUE_TITLE, BATON_ISSUE_URL, BATON_DELIVERY_FILE, BATON_NODE   set by Baton
set -euo pipefail
exec "${BATON_NODE:-node}" "$(dirname -- "${BASH_SOURCE[0]}")/../../runner/git/program.js" push
