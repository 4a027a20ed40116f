/** A subclass of the `DatabaseSync` of `@photostructure/sqlite` with a callback at the end of a transaction and of other statements. */
export function watched(Real) {
  return class DatabaseSync extends Real {
    #holdsClaim = false;

    exec(sql) {
      if (sql !== 'COMMIT') return super.exec(sql);
      globalThis.chaosReached('before_commit');
      const holdsClaim = this.#holdsClaim;
      this.#holdsClaim = false;
      if (holdsClaim) globalThis.chaosReached('claim_unstored');
      super.exec(sql);
      if (holdsClaim) globalThis.chaosReached('claim_stored');
      globalThis.chaosReached('after_commit');
    }

    prepare(sql) {
      const statement = super.prepare(sql);
      const run = statement.run.bind(statement);
      const value = (...args) => {
        if (/INTO claims/.test(sql) && args.some(isRunning)) this.#holdsClaim = true;
        // Inside a transaction only its end counts.
        if (this.isTransaction) return run(...args);
        const name = /INTO open_runs/.test(sql) ? 'note' : 'other_statement';
        globalThis.chaosReached(`before_${name}`);
        const result = run(...args);
        globalThis.chaosReached(`after_${name}`);
        return result;
      };
      Object.defineProperty(statement, 'run', { value });
      return statement;
    }
  };
}

function isRunning(text) {
  return typeof text === 'string' && text.includes('"kind":"running"');
}
