import { BatonError } from '../../../src/domain/errors.js';

/** The message of the `step_data_error` that the function must throw. */
export function dataFailure(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof BatonError && error.code === 'step_data_error') return error.message;
    throw error;
  }
  throw new Error('it did not fail');
}
