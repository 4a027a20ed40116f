import { z } from 'zod';

/** `saved.json`: what a folder of saved work is. Written last, before the folder gets its name. */
export const savedRecord = z.object({
  version: z.literal(1),
  issue: z.object({ id: z.string(), identifier: z.string(), title: z.string() }),
  workspace_key: z.string(),
  saved_at: z.iso.datetime(),
  repositories: z.array(
    z.object({
      /** In the workspace; empty for the workspace itself. */
      path: z.string(),
      /** What the names of its files begin with. */
      prefix: z.string().regex(/^[A-Za-z0-9._-]*$/),
      /** The commit it stood on; `null` before the first one. */
      head: z
        .string()
        .regex(/^[0-9a-f]{40,64}$/)
        .nullable(),
      /** The branch it was on; `null` where HEAD was detached. */
      branch: z.string().nullable(),
      bundle: z.boolean(),
      patch: z.boolean(),
    }),
  ),
  /** What a person should know about what was not saved. */
  left_out: z.array(z.string()),
});

export type SavedRecord = z.infer<typeof savedRecord>;
export type SavedRepository = SavedRecord['repositories'][number];

export const RECORD_FILE = 'saved.json';
export const BUNDLE_FILE = 'work.bundle';
export const PATCH_FILE = 'work.patch';
/** A folder that is still being filled, or whose daemon was killed meanwhile. */
export const PARTIAL_PREFIX = '.partial-';

export function savedName(workspaceKey: string, savedAtMs: number): string {
  return `${workspaceKey}@${new Date(savedAtMs).toISOString().replaceAll(':', '.')}`;
}

/** Key and time of a name; `null` when it does not carry a time of ours, and so is not ours. */
export function parseSavedName(name: string): { readonly key: string; readonly savedAtMs: number } | null {
  const [, key, time] = /^(.+)@([^@]+)$/.exec(name) ?? [];
  const savedAtMs = Date.parse(time?.replace(/T(\d+)\.(\d+)\./, 'T$1:$2:') ?? '');
  return key === undefined || Number.isNaN(savedAtMs) ? null : { key, savedAtMs };
}
