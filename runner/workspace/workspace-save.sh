# Saves the work in one git repository as files outside of it. Run by save-work.ts, contained like an agent, because an agent wrote everything
# in the repository, including its configuration. That configuration is only used to find paths; the work is saved through a bare
# repository of our own that borrows its objects and a copy of its index.
#
#   BATON_SAVE_STAGE        list: write the names of new and of modified files to $BATON_SAVE_OUT/new and …/modified
#                           save: write $BATON_SAVE_OUT/work.bundle and …/work.patch, if there is something to save, and to
#                           …/standing commit and branch of HEAD, one line each, empty if there is none
#   BATON_SAVE_REPOSITORY   the folder that contains .git
#   BATON_SAVE_OUT          the output folder; for `save` it contains `leave-out`, NUL-separated pathspecs
#   BATON_SAVE_MAX_KB       no file written here may grow larger
set -euo pipefail
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1
export GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat GIT_NO_REPLACE_OBJECTS=1 GIT_CEILING_DIRECTORIES
export GIT_AUTHOR_NAME=Baton GIT_AUTHOR_EMAIL=baton@localhost GIT_COMMITTER_NAME=Baton GIT_COMMITTER_EMAIL=baton@localhost
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS
ulimit -f "$BATON_SAVE_MAX_KB"
GIT_CEILING_DIRECTORIES=$(dirname -- "$BATON_SAVE_REPOSITORY")
out=$BATON_SAVE_OUT
own=$out/own.git
cd -- "$BATON_SAVE_REPOSITORY"

ask() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }
save() { command git --git-dir="$own" --work-tree="$BATON_SAVE_REPOSITORY" -c core.bare=false -c core.hooksPath=/dev/null "$@"; }

borrow() {
  local dir common name
  dir=$(ask rev-parse --absolute-git-dir)
  common=$(ask rev-parse --path-format=absolute --git-common-dir)
  command git init --quiet --bare --template= --object-format="$(ask rev-parse --show-object-format)" "$own"
  mkdir -p "$own/objects/info" "$own/info"
  ask rev-parse --path-format=absolute --git-path objects >"$own/objects/info/alternates"
  for name in "$dir"/index "$dir"/sharedindex.* "$common"/shallow; do
    if [ -f "$name" ]; then cp -- "$name" "$own/"; fi
  done
  if [ -f "$common/info/exclude" ]; then cp -- "$common/info/exclude" "$own/info/exclude"; fi
}

# Files that the index ignores (assume-unchanged, skip-worktree) may have changed too.
unhide() {
  local entry
  : >"$out/assumed"
  : >"$out/skipped"
  save ls-files -v -z | while IFS= read -r -d '' entry; do
    case $entry in [a-z]' '*) printf '%s\0' "${entry:2}" >>"$out/assumed" ;; esac
    case $entry in
    [Ss]' '*) if [ -e "${entry:2}" ] || [ -L "${entry:2}" ]; then printf '%s\0' "${entry:2}" >>"$out/skipped"; fi ;;
    esac
  done
  save update-index --no-assume-unchanged -z --stdin <"$out/assumed"
  save update-index --no-skip-worktree -z --stdin <"$out/skipped"
}

# The branches of a linked worktree are in its main repository; only its HEAD is its own.
wanted_refs() {
  local number=0 entry common ref
  if [ -n "$head" ]; then printf 'create refs/baton/HEAD %s\n' "$head"; fi
  common=$(ask rev-parse --path-format=absolute --git-common-dir)
  [ "$(ask rev-parse --absolute-git-dir)" = "$common" ] || return 0
  ask for-each-ref --format='create %(refname) %(objectname)' refs/heads
  # Tags of the clone are packed and may be outside of every branch. Tags that were created here are separate files.
  for ref in $(ask for-each-ref --format='%(refname)' refs/tags); do
    if [ -f "$common/$ref" ]; then printf 'create %s %s\n' "$ref" "$(ask rev-parse --verify "$ref")"; fi
  done
  if ask rev-parse --quiet --verify refs/stash >/dev/null; then
    for entry in $(ask rev-list --walk-reflogs refs/stash); do
      printf 'create refs/baton/stash/%s %s\n' "$number" "$entry"
      number=$((number + 1))
    done
  fi
}

# Changes that were staged and then changed again in the working tree are in neither HEAD nor the patch.
keep_staged() {
  local commit
  [ -n "$staged" ] && [ "$staged" != "$(save write-tree)" ] && [ "$staged" != "$(save rev-parse "$base^{tree}")" ] || return 0
  commit=$(printf 'What was staged\n' | save commit-tree "$staged" ${head:+-p "$head"})
  save update-ref refs/baton/staged "$commit"
}

# A repository that borrows objects can name commits of their owner. What is saved must be in its own objects.
refuse_borrowed() {
  local objects index foreign
  objects=$(ask rev-parse --path-format=absolute --git-path objects)
  [ -s "$objects/info/alternates" ] || return 0
  save rev-list --stdin <"$out/revisions" | sort >"$out/wanted"
  {
    for index in "$objects"/pack/*.idx; do
      if [ -f "$index" ]; then command git show-index <"$index" | cut -d ' ' -f 2; fi
    done
    (cd -- "$objects" && printf '%s\n' ??/*) | tr -d /
  } | sort >"$out/owned"
  foreign=$(comm -23 "$out/wanted" "$out/owned" | sed -n 1p)
  [ -z "$foreign" ] || { printf 'commit %s is in another repository, whose objects this one borrows\n' "$foreign" >&2; exit 1; }
}

inner_repositories() {
  local entry
  save ls-files -z --stage | while IFS= read -r -d '' entry; do
    case $entry in '160000 '*) printf ':(top,exclude,literal)%s\0' "${entry#*$'\t'}" ;; esac
  done
}

case $BATON_SAVE_STAGE in
list)
  borrow
  unhide
  save ls-files --others --exclude-standard -z >"$out/new"
  save ls-files --modified -z >"$out/modified"
  ;;
save)
  head=$(ask rev-parse --quiet --verify 'HEAD^{commit}' || true)
  printf '%s\n%s\n' "$head" "$(ask symbolic-ref --quiet HEAD || true)" >"$out/standing"
  wanted_refs | save update-ref --stdin

  # In a nested repository git would use the settings of that one; it is saved separately.
  staged=$(save write-tree 2>/dev/null || true) # Fails during a conflict.
  { printf '.\0'; cat -- "$out/leave-out"; inner_repositories; } | save add --all --pathspec-from-file=- --pathspec-file-nul
  base=${head:-$(save hash-object -t tree /dev/null)}
  save diff --cached --binary --full-index --no-ext-diff --no-textconv --no-color --output="$out/work.patch" "$base"
  keep_staged

  {
    save for-each-ref --format='%(refname)'
    ask for-each-ref --format='^%(objectname)' refs/remotes refs/baton/pushed
  } >"$out/revisions"
  if grep -q '^refs/' "$out/revisions"; then refuse_borrowed; fi
  if grep -q '^refs/' "$out/revisions" && [ "$(save rev-list --count --stdin <"$out/revisions")" != 0 ]; then
    save bundle create --quiet "$out/work.bundle" --stdin <"$out/revisions"
  fi
  ;;
esac
