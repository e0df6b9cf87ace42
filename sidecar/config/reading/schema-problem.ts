import type { ErrorObject } from 'ajv'
import { jsonPath, pointerSteps } from '../json-path.ts'
import type { Problem } from '../problem.ts'
import type { MemberSchema } from '../schema.ts'
import { nearest } from './nearest.ts'

/**
 * Converts an error of ajv to a problem. Requires ajv's option `verbose`, which adds the setting's schema and value to
 * the error.
 */
export function schemaProblem(error: ErrorObject): Problem {
  const steps = pointerSteps(error.instancePath)
  const schema = error.parentSchema as MemberSchema
  if (error.keyword === 'additionalProperties') {
    const name = String(error.params.additionalProperty)
    return { path: jsonPath([...steps, name]), ...unknownMember(name, steps, Object.keys(schema.properties ?? {})) }
  }
  if (error.keyword === 'required') {
    const name = String(error.params.missingProperty)
    const remedy = schema.properties?.[name]?.description ?? schema.description
    return { path: jsonPath([...steps, name]), reason: 'is missing', remedy }
  }
  return { path: jsonPath(steps), reason: reasonOf(error, schema), remedy: schema.description }
}

function unknownMember(name: string, section: readonly string[], members: readonly string[]): Omit<Problem, 'path'> {
  const meant = nearest(name, members)
  const place = section.length === 0 ? '' : ` in ${jsonPath(section)}`
  return {
    reason: 'is not a known setting',
    remedy: meant ? `Did you mean ${JSON.stringify(meant)}?` : `The settings${place} are ${members.join(', ')}.`,
  }
}

function reasonOf(error: ErrorObject, schema: MemberSchema): string {
  switch (error.keyword) {
    case 'type':
      return `must be ${[schema.type].flat().map(typeInWords).join(' or ')}, not ${typeInWords(typeName(error.data, schema))}`
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
      return schema.minimum === undefined
        ? `must be more than ${schema.exclusiveMinimum} and at most ${schema.maximum}`
        : `must be ${schema.minimum} to ${schema.maximum}`
    case 'enum':
      return `must be one of ${(error.params.allowedValues as readonly string[]).join(', ')}`
    case 'minLength':
      return 'must not be empty'
    case 'maxLength':
      return `must have at most ${error.params.limit} characters`
    case 'maxItems':
      return `must have at most ${error.params.limit} entries`
    default:
      return 'does not have the right form'
  }
}

function typeName(value: unknown, { type }: MemberSchema): string {
  if (value === null) return 'null'
  if (typeof value === 'number' && [type].flat().includes('integer')) return 'fraction'
  return Array.isArray(value) ? 'array' : typeof value
}

function typeInWords(type: string): string {
  return TYPES_IN_WORDS[type] ?? type
}

const TYPES_IN_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  fraction: 'a fraction',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}
