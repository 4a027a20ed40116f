# Every hook of the trials. argv: the folder of the trial.
world=$1 issue=$BATON_ISSUE_IDENTIFIER run=${BATON_RUN_ID:-} outcome=${BATON_RUN_OUTCOME:-}
. "$world/scripts/common.sh"
begin "$BATON_HOOK"
if [ "$BATON_HOOK" = after_create ] && [ -e "$world/with-git" ]; then
  git init --quiet .
  git -c user.name=a -c user.email=a@b commit --quiet --allow-empty --message=begin
fi
hold "in_$BATON_HOOK"
mark end "$BATON_HOOK"
