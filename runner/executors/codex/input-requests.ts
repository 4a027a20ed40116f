import { type Fields, fieldsOf, listOf, textOf } from '../../../src/domain/fields.js';
import type { Answer, QuestionField } from '../../../src/domain/question.js';
import { type Ask, approval, elicited, questionText } from './approvals.js';
import { REQUESTS } from './protocol.js';

/** Requests for words instead of a yes: the agent's own questions, and the forms of MCP servers. */
export function inputRequestOf(method: string, params: Fields): Ask | null {
  if (method === REQUESTS.userInput) return userInput(params);
  if (method !== REQUESTS.elicitation) return null;
  const properties = Object.entries(fieldsOf(fieldsOf(params.requestedSchema).properties)).slice(0, MAX_FIELDS);
  return properties.length === 0 ? plainElicitation(params) : form(params, properties);
}

const MAX_FIELDS = 50;

function userInput(params: Fields): Ask {
  const questions = listOf(params.questions).slice(0, MAX_FIELDS).map(fieldsOf);
  const fields = questions.map(
    (question, index): QuestionField => ({
      id: textOf(question.id) ?? String(index),
      label: textOf(question.question) ?? textOf(question.header) ?? '',
      options: listOf(question.options).flatMap((option) => textOf(fieldsOf(option).label) ?? []),
    }),
  );
  const text = questionText(
    questions.flatMap((question) => [textOf(question.header), textOf(question.question), ...described(question)]),
  );
  return {
    draft: { kind: 'input', text: text === '' ? 'The agent asks for input' : text, fields },
    reply: (answer) => {
      const given = valuesOf(answer);
      const answered = fields.filter((field) => Object.hasOwn(given, field.id));
      return { answers: Object.fromEntries(answered.map((field) => [field.id, { answers: [given[field.id]] }])) };
    },
  };
}

/** What its options mean, where they say so: a person chooses by their labels. */
function described(question: Fields): string[] {
  return listOf(question.options)
    .map(fieldsOf)
    .flatMap(({ label, description }) => (textOf(label) && textOf(description) ? [`${label}: ${description}`] : []));
}

function plainElicitation(params: Fields): Ask {
  const text = questionText([origin(params), textOf(params.message), textOf(params.url)]);
  return approval(text, elicited('accept', textOf(params.url) ? null : {}), elicited('decline'));
}

function form(params: Fields, properties: readonly (readonly [string, unknown])[]): Ask {
  const schemas = new Map(properties.map(([id, schema]) => [id, fieldsOf(schema)] as const));
  const fields = [...schemas].map(
    ([id, schema]): QuestionField => ({
      id,
      label: textOf(schema.title) ?? textOf(schema.description) ?? id,
      options: optionsOf(schema),
    }),
  );
  return {
    draft: { kind: 'input', text: questionText([origin(params), textOf(params.message)]), fields },
    reply: (answer) => {
      if (answer?.kind !== 'input') return elicited('decline');
      const given = Object.entries(answer.values).flatMap(([id, value]) => {
        const schema = schemas.get(id);
        return schema ? [[id, typed(value, schema)] as const] : [];
      });
      return elicited('accept', Object.fromEntries(given));
    },
  };
}

function origin(params: Fields): string {
  return `The MCP server ${textOf(params.serverName) ?? '(unnamed)'} asks`;
}

function optionsOf(schema: Fields): readonly string[] {
  if (schema.type === 'boolean') return ['true', 'false'];
  const choices = fieldsOf(schema.items);
  return [schema.enum, schema.oneOf, choices.enum, choices.anyOf]
    .flatMap(listOf)
    .flatMap((choice) => textOf(choice) ?? textOf(fieldsOf(choice).const) ?? []);
}

/** People answer in text; the form says what type it wants. What does not fit stays text, and the MCP server judges it. */
function typed(value: string, schema: Fields): unknown {
  if (schema.type === 'boolean') return value.trim().toLowerCase() === 'true';
  if (schema.type === 'array') return value.split(',').map((part) => part.trim());
  if (schema.type !== 'number' && schema.type !== 'integer') return value;
  const number = Number(value);
  return value.trim() !== '' && Number.isFinite(number) ? number : value;
}

function valuesOf(answer: Answer | null): { readonly [id: string]: string } {
  return answer?.kind === 'input' ? answer.values : {};
}
