/** Of answers that were none, or no answer of ours. */
const NO_STATUS = 0;

/** The daemon was asked, and did not do it or did not say so. The codes are those of the API, or one of the two below. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    /** Of the HTTP answer; 0: there was none that could be understood. */
    readonly status: number,
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** It was there, and said nothing, or not all of it. */
export function noAnswer(message: string, cause?: unknown): ApiError {
  return new ApiError(NO_STATUS, 'no_answer', message, { cause });
}

/** It said something that the daemon of this version does not say. */
export function badAnswer(message: string, cause?: unknown): ApiError {
  return new ApiError(NO_STATUS, 'bad_answer', message, { cause });
}
