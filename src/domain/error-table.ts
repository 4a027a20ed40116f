import { RUN_ERRORS } from './run-errors.js';
import { SETUP_ERRORS } from './setup-errors.js';
import { STEP_ERRORS } from './step-errors.js';

/** Every error that a person can meet. The README lists them all, and a test says so. */
export const ERRORS = { ...SETUP_ERRORS, ...RUN_ERRORS, ...STEP_ERRORS };
