import { z } from 'zod';
import type { JsonObject } from '../domain/json.js';
import { frontMatterSchema } from './schema.js';
import { PLAN_SETTINGS } from './steps/plan-json-schema.js';

/** The JSON Schema of the front matter, for editors: made from the definition that validates it. */
export function frontMatterJsonSchema(trackerKinds: readonly string[]): JsonObject {
  const schema = z.toJSONSchema(frontMatterSchema.extend(PLAN_SETTINGS), {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const isKind = zodSchema === frontMatterSchema.shape.tracker.shape.kind;
      if (isKind && trackerKinds.length > 0) jsonSchema.enum = [...trackerKinds];
      // zod leaves out the default of a setting that is transformed, as all of ours are.
      const fallback = z.globalRegistry.get(zodSchema)?.default;
      if (fallback !== undefined) jsonSchema.default = fallback;
    },
  });
  return JSON.parse(JSON.stringify({ title: 'Front matter of WORKFLOW.md', ...schema })) as JsonObject;
}
