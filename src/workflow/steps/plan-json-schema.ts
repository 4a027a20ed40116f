import { z } from 'zod';
import { identifier, jsonMap, setting, text } from '../setting-types.js';
import { executorShape } from './executor-schema.js';
import { serviceShapes } from './service-schema.js';
import { ACTIVITY_KINDS, KIND_SHAPES, KINDS, shapesAround } from './step-schema.js';

const anyStep: z.ZodType = z.lazy(() => step).meta({ id: 'step' });
const shapes = shapesAround(anyStep);
const target = z.looseObject({
  id: KIND_SHAPES.agent.id,
  target: text.meta({
    description: '`activity:<name>`, one of `activities`. Keys beside it win over those of the activity.',
  }),
});
const step = z.union([...Object.values(KINDS), ...Object.values(shapes), target]);

/** A definition of its own: it is not one flat section of settings as the others are. */
const services = z.strictObject(serviceShapes).meta({ id: 'services' });

const activity = z.union(Object.values(ACTIVITY_KINDS));

/** What editors are told about the parts of the front matter that `steps/` reads. */
export const PLAN_SETTINGS = {
  inputs: setting(jsonMap, null, 'Values for steps as `${inputs.<name>}`; may use issue, attempt and run.'),
  steps: setting(
    z.array(anyStep),
    null,
    'What a run does, in order. Absent: one agent, whose prompt is the text below.',
  ),
  activities: setting(
    z.record(identifier, activity),
    null,
    'Steps to be used more than once: `target: activity:<name>`.',
  ),
  executors: setting(
    z.record(z.string(), z.strictObject(executorShape)),
    null,
    'Programs of your own, for external steps.',
  ),
  services: services
    .optional()
    .meta({ description: 'Where llm, tool, code and agent (http) steps send their requests.' }),
};
