/** The laws that must hold after every event, whatever the faults. */
export const LAWS = {
  one_tree_per_issue: 'an issue has at most one living process tree, across restarts',
  capacity: 'no start goes over the limits of its moment, in all and per state',
  numbers_grow: 'the numbers of the runs of an issue only grow, for ever',
  run_ids_unique: 'no two runs have one id',
  stored_before_started: 'a claim is on the disk before the first process of its run',
  accounted_for: 'an issue that the tracker lists is claimed, or a candidate, or known to have been given up since',
  no_removal_under_life:
    'no workspace is removed under a living tree of its issue, and no run starts in one that is being removed',
  removed_only_terminal: 'a workspace is removed only when the tracker has said that its issue is terminal',
  released_for_a_reason:
    'an issue is given up only when the tracker has said that it left: "unknown" and failures say nothing',
  old_run_changes_nothing: 'what a run says after its end changes nothing',
  exit_means_gone: 'a run has exited only when its tree is gone',
  restart_loses_nothing:
    'claims, counts, due times, holds, pause and spending are after a restart what was last told to be stored',
  runs_recorded: 'every run has one record, which is closed with it and never opened again',
  tokens_once: 'no token is counted twice, over restarts and resumed threads',
  question_kept:
    'a question that was open when the daemon died is there again once its run is closed, where the workflow parks',
  held_starts_nothing: 'a daemon that is paused, on hold, blind or leaving starts nothing new, a probe aside',
  not_before_due: 'a retry does not start before its time',
  limit_is_kept:
    'after the tracker has refused to be asked, nothing is asked or claimed before the reset, a poll aside that a person asked for',
  tracker_is_no_fault:
    'a run that ends for a limit of the tracker, or before it began because the tracker could not be read, counts as no failure',
  refused_not_hot: 'an issue whose run the tracker ended does not run again at once, whatever reset was named',
  deadly_is_parked:
    'an issue during whose runs the daemon was killed three times in a row does not start before it is freed',
  waits_bounded:
    'no issue and no hold waits longer than the longest backoff, whatever the clock does; a reset that was named aside',
  stall_is_silence: 'a run is stopped as stalled only after that long a silence, sleep aside',
  stop_once: 'a living run is asked to stop once',
  after_run_paid: 'an after_run that is owed is paid before the next run of its issue, and once per life',
  orderly_exit: 'a daemon that leaves in order leaves in time, and leaves no process behind',
  state_is_whole: 'every running claim has its run, every run its claim, and nobody is claimed and a candidate at once',
  core_never_throws: 'no event makes the core throw, and none keeps it busy without an end',
  everything_ends:
    'once faults stop, whatever is active finishes or is parked, and no tree, slot, removal or finished workspace is left',
} as const;
export type LawName = keyof typeof LAWS;

export interface Breach {
  readonly law: LawName;
  readonly message: string;
}
