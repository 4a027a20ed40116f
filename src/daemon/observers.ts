import type { RunObserver } from '../../runner/run-observer.js';

/** The log hears of everything first, then whoever else watches. */
export function tellBoth(log: RunObserver, watcher: Partial<RunObserver>): RunObserver {
  return {
    runBegan: (...args) => {
      log.runBegan(...args);
      watcher.runBegan?.(...args);
    },
    closingBegan: (...args) => {
      log.closingBegan(...args);
      watcher.closingBegan?.(...args);
    },
    runtimeEvent: (...args) => {
      log.runtimeEvent(...args);
      watcher.runtimeEvent?.(...args);
    },
    agentStderr: (...args) => {
      log.agentStderr(...args);
      watcher.agentStderr?.(...args);
    },
    promptSent: (...args) => {
      log.promptSent(...args);
      watcher.promptSent?.(...args);
    },
    hookEnded: (...args) => {
      log.hookEnded(...args);
      watcher.hookEnded?.(...args);
    },
    stepStarted: (...args) => {
      log.stepStarted(...args);
      watcher.stepStarted?.(...args);
    },
    stepFinished: (...args) => {
      log.stepFinished(...args);
      watcher.stepFinished?.(...args);
    },
    answered: (...args) => {
      log.answered(...args);
      watcher.answered?.(...args);
    },
    messageGiven: (...args) => {
      log.messageGiven(...args);
      watcher.messageGiven?.(...args);
    },
    audited: (...args) => {
      log.audited(...args);
      watcher.audited?.(...args);
    },
    warned: (...args) => {
      log.warned(...args);
      watcher.warned?.(...args);
    },
    runEnded: (...args) => {
      log.runEnded(...args);
      watcher.runEnded?.(...args);
    },
  };
}
