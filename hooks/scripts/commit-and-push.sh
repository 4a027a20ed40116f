#!/usr/bin/env bash
# Commits the changes of the agent and pushes them to the branch of the issue. For after_run. Can be repeated.
# Pushes only to the branch of the issue, whatever branch the agent is on, and never to the default or the base branch.
#
#   BATON_REPO_URL      where to push; default: the remote `origin` of the workspace
#   BATON_BASE_BRANCH   a further branch that is never pushed to
#   BATON_COMMIT_NAME, BATON_COMMIT_EMAIL   the author if git has none; default: Baton <baton@localhost>
#   BATON_WORKSPACE, BATON_ISSUE_IDENTIFIER, BATON_ISSUE_TITLE, BATON_ISSUE_BRANCH, BATON_ISSUE_URL   set by Baton
set -euo pipefail
# shellcheck source=git-common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/git-common.sh"

enter_workspace
if [ ! -e .git ]; then
  note 'no git repository in the workspace: nothing to push'
  exit 0
fi
[ -z "$(safe_git ls-files --unmerged)" ] || die 'unresolved conflicts: nothing is committed'

identity=()
if [ -z "$(safe_git config user.email || true)${GIT_AUTHOR_EMAIL:-}${EMAIL:-}" ]; then
  identity=(-c "user.name=${BATON_COMMIT_NAME:-Baton}" -c "user.email=${BATON_COMMIT_EMAIL:-baton@localhost}")
fi

stage_all
if ! safe_git diff --cached --quiet --no-ext-diff; then
  title=$(printf %s "${BATON_ISSUE_TITLE:-}" | LC_ALL=C tr -s '\000-\037\177' ' ')
  printf '%s: %s\n\n%s\n' "$BATON_ISSUE_IDENTIFIER" "$title" "${BATON_ISSUE_URL:-}" |
    safe_git ${identity[@]+"${identity[@]}"} commit --quiet --no-verify --cleanup=whitespace --file=-
fi
if ! safe_git rev-parse --quiet --verify HEAD >/dev/null; then
  note 'no commits: nothing to push'
  exit 0
fi

remote=${BATON_REPO_URL:-origin}
default=$(default_branch "$remote")
branch=$(issue_branch "$default" "${BATON_BASE_BRANCH:-$default}")
pushed_ref="refs/baton/pushed/$branch"
pushed=$(safe_git rev-parse --quiet --verify "$pushed_ref" || true)

known=(--remotes=origin)
if [ -n "$pushed" ]; then known+=("$pushed"); fi
if [ "$(safe_git rev-list --count HEAD --not "${known[@]}")" = 0 ]; then
  note 'nothing new to push'
  exit 0
fi

if ! safe_git push --quiet -- "$remote" "HEAD:refs/heads/$branch"; then
  # The agent may have rewritten its own commits. What we pushed ourselves may be replaced, what others pushed may not.
  [ -n "$pushed" ] || die "$branch could not be pushed: the remote refuses it, or has commits that are not here"
  safe_git push --quiet "--force-with-lease=refs/heads/$branch:$pushed" -- "$remote" "HEAD:refs/heads/$branch" ||
    die "$branch could not be pushed: the remote refuses it, or somebody else pushed to it"
fi
safe_git update-ref "$pushed_ref" HEAD
note "pushed $(safe_git rev-parse --short HEAD) to $branch"
