# Functions for the other scripts.
# shellcheck shell=bash

# A failure inside $(…) ends the script too. Older versions of bash lack the option.
shopt -s inherit_errexit 2>/dev/null || true

# A hook has no terminal: fail instead of asking for a password.
export GIT_TERMINAL_PROMPT=0

note() { printf 'baton: %s\n' "$*"; }
die() {
  printf 'baton: %s\n' "$*" >&2
  exit 1
}

enter_workspace() {
  cd -- "${BATON_WORKSPACE:?is set by Baton}" || die "cannot enter $BATON_WORKSPACE"
  # A damaged repository in the workspace must not make git take one further up for it.
  GIT_CEILING_DIRECTORIES=$(dirname -- "$PWD")
  export GIT_CEILING_DIRECTORIES
}

# Git without hooks and helpers of the repository: the agent can write them, and they would run outside its sandbox.
# Also without background work, which would outlive the lock.
safe_git() {
  command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 -c maintenance.auto=false \
    -c submodule.recurse=false -c fetch.recurseSubmodules=false -c push.recurseSubmodules=no -c push.followTags=false \
    -c advice.detachedHead=false "$@"
}

# stage_all: everything in the working tree. In a repository inside the repository git looks for changes with the settings that
# it finds there (filters are commands), and an agent may have written those: of such a one only where it stands is taken over.
stage_all() {
  local entry inner=()
  while IFS= read -r -d '' entry; do
    case $entry in '160000 '*) inner+=("${entry#*$'\t'}") ;; esac
  done < <(safe_git ls-files -z --stage)
  if [ ${#inner[@]} = 0 ]; then
    safe_git add --all
    return
  fi
  { printf '.\0' && printf ':(top,exclude,literal)%s\0' "${inner[@]}"; } |
    safe_git add --all --pathspec-from-file=- --pathspec-file-nul
  printf '%s\0' "${inner[@]}" | safe_git update-index -z --remove --stdin
}

short_hash() { printf %s "$1" | command git hash-object --stdin | cut -c1-12; }

# Converts any text to a valid branch name. A changed name gets a hash of the text, so that it stays unique.
branch_name_of() {
  local name
  name=$(printf %s "$1" | LC_ALL=C tr -c 'A-Za-z0-9._/-' '-' | cut -c1-100 |
    sed -e 's#\.\.*#.#g' -e 's#/[./-]*#/#g' -e 's#^[./-]*##' -e 's#\.lock/#-lock/#g' -e 's#\.lock$#-lock#' -e 's#[./]*$##')
  if [ "$name" != "$1" ] || [ "$name" = HEAD ]; then name="${name:-issue}-$(short_hash "$1")"; fi
  command git check-ref-format "refs/heads/$name" || die "no branch name can be made of: $1"
  printf %s "$name"
}

# The branch of the issue: the tracker's suggestion, else baton/<identifier>, and never one of the given branches.
issue_branch() {
  local name taken
  name=$(branch_name_of "${BATON_ISSUE_BRANCH:-baton/${BATON_ISSUE_IDENTIFIER:?is set by Baton}}")
  for taken in "$@"; do
    if [ "$name" = "$taken" ]; then name="baton/$(branch_name_of "$BATON_ISSUE_IDENTIFIER")"; fi
  done
  for taken in "$@"; do
    if [ "$name" = "$taken" ]; then name="$name-$(short_hash "$BATON_ISSUE_IDENTIFIER")"; fi
  done
  printf %s "$name"
}

# The default branch of the remote.
default_branch() {
  local answer name
  answer=$(safe_git ls-remote --symref -- "$1" HEAD) || die "cannot read from $1"
  name=$(sed -n 's#^ref: refs/heads/\(.*\)[[:space:]]HEAD$#\1#p' <<<"$answer")
  [ -n "$name" ] || die "$1 has no default branch; is it empty?"
  printf %s "$name"
}

# fetch_origin <git directory>: sets `origin` to BATON_REPO_URL and fetches all branches.
fetch_origin() {
  safe_git --git-dir="$1" config remote.origin.url "${BATON_REPO_URL:?set it to the repository to work on}"
  safe_git --git-dir="$1" config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
  safe_git --git-dir="$1" fetch --quiet --prune origin
}

# start_point <git directory> <branch> <base>: the commit that the branch of the issue starts from.
start_point() {
  local ref
  for ref in "refs/remotes/origin/$2" "refs/remotes/origin/$3"; do
    if safe_git --git-dir="$1" rev-parse --quiet --verify "$ref^{commit}" >/dev/null; then
      printf %s "$ref"
      return
    fi
  done
  die "$BATON_REPO_URL has no branch $3"
}

# Fast-forwards to commits that others pushed to the branch of the issue, if no local commit can get lost.
fast_forward() {
  local branch=$1 remote="refs/remotes/origin/$1"
  safe_git rev-parse --quiet --verify "$remote" >/dev/null || return 0
  if [ "$(safe_git symbolic-ref --quiet --short HEAD || true)" != "$branch" ]; then
    note "HEAD is not on $branch: left as it is"
  elif [ -n "$(safe_git status --porcelain --ignore-submodules=dirty)" ]; then
    note "uncommitted changes: left as they are, $branch is not updated"
  else
    safe_git merge --quiet --ff-only "$remote" || note "$branch has commits of its own: left as it is"
  fi
}
