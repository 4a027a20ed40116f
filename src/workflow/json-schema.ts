import { z } from 'zod';
import type { JsonObject } from '../domain/json.js';
import { frontMatterSchema } from './schema.js';
import { identifier, jsonMap, setting, text } from './setting.js';
import { executorShape } from './steps/executor-definitions.js';
import { serviceShapes } from './steps/services.js';
import { ACTIVITY_KINDS, KIND_SHAPES, KINDS, shapesAround } from './steps/step-schema.js';

/** The JSON Schema of the front matter, for editors, derived from the schema that validates it. */
export function frontMatterJsonSchema(trackerKinds: readonly string[]): JsonObject {
  const schema = z.toJSONSchema(frontMatterSchema.extend(PLAN_SETTINGS), {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      const isKind = zodSchema === frontMatterSchema.shape.tracker.shape.kind;
      if (isKind && trackerKinds.length > 0) jsonSchema.enum = [...trackerKinds];
      // zod omits the default of a transformed setting.
      const fallback = z.globalRegistry.get(zodSchema)?.default;
      if (fallback !== undefined) jsonSchema.default = fallback;
    },
  });
  return JSON.parse(JSON.stringify({ title: 'Front matter of WORKFLOW.md', ...schema })) as JsonObject;
}

const anyStep: z.ZodType = z.lazy(() => step).meta({ id: 'step' });
const shapes = shapesAround(anyStep);
const target = z.looseObject({
  id: KIND_SHAPES.agent.id,
  target: text.meta({
    description: '`activity:<name>`, one of `activities`. Keys beside it win over those of the activity.',
  }),
});
const step = z.union([...Object.values(KINDS), ...Object.values(shapes), target]);

const services = z.strictObject(serviceShapes).meta({ id: 'services' });

const activity = z.union(Object.values(ACTIVITY_KINDS));

/** The keys that `steps/` reads and validates. */
const PLAN_SETTINGS = {
  inputs: setting(jsonMap, null, 'Values for steps as `${inputs.<name>}`; may use issue, attempt and run.'),
  steps: setting(
    z.array(anyStep),
    null,
    'What a run does, in order. Absent: one agent, whose prompt is the text below.',
  ),
  activities: setting(
    z.record(identifier, activity),
    null,
    'Steps that are used more than once: `target: activity:<name>`.',
  ),
  executors: setting(
    z.record(z.string(), z.strictObject(executorShape)),
    null,
    'Your own programs, for external steps.',
  ),
  services: services
    .optional()
    .meta({ description: 'Where llm, tool, code and agent (http) steps send their requests.' }),
};
