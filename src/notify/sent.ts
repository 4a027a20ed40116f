/** What came of one try to deliver a notice. `code` and `detail` never hold the address: who has a webhook's can write into its channel. */
export type Sent =
  | { readonly ok: true; readonly detail: string }
  | {
      readonly ok: false;
      /** A short word for logs, such as `http_500`, `ECONNREFUSED`, `exit_3`, `timeout`. */
      readonly code: string;
      readonly detail: string;
      /** It would go no better the next time. */
      readonly isFinal: boolean;
      /** How long the receiver wants to be left alone. */
      readonly retryAfterMs: number | null;
    };

/** Where notices go. `send` settles soon after its signal is aborted. */
export interface Target {
  readonly name: 'url' | 'command';
  send(body: string, signal: AbortSignal): Promise<Sent>;
}

export function notSent(code: string, detail: string, more: { isFinal?: boolean; retryAfterMs?: number | null } = {}) {
  const { isFinal = false, retryAfterMs = null } = more;
  return { ok: false, code, detail, isFinal, retryAfterMs } as const satisfies Sent;
}
