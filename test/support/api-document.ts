import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { openApiDocument } from '../../sidecar/api/openapi/document.ts'

interface Operation {
  readonly requestBody?: unknown
  readonly responses: Readonly<Record<number, { readonly description: string }>>
}

const DOCUMENT = openApiDocument()
const PATHS: Readonly<Record<string, { readonly post?: Operation }>> = JSON.parse(JSON.stringify(DOCUMENT.paths))

/** Names of the document's schemas that describe answers, pushes and their parts. */
const ANSWERS = /Answer$|Push$|^(Message|Avatar|ErrorDetail|Aps|ApsAlert)$/

// Not strict, because the document also has keywords of OpenAPI, which JSON Schema does not know.
const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false })
ajv.addSchema(closed(DOCUMENT), 'document')
const compiled = new Map<string, ValidateFunction>()

/** Throws if an answer, or an accepted request, does not match `/v1/openapi.json`. */
export function expectDocumented(
  request: { readonly path: string; readonly body: unknown },
  answer: { readonly status: number; readonly body: unknown },
): void {
  const path = request.path.replace(/\?.*/, '')
  const operation = PATHS[path]?.post
  if (!operation) {
    expectValid('components/schemas/ErrorAnswer', answer.body)
    return
  }
  const response = operation.responses[answer.status]
  if (!response) throw new Error(`${path} answered with ${answer.status}, of which its document says nothing.`)
  const content = 'content/application~1json/schema'
  const place = `paths/${path.replaceAll('/', '~1')}/post`
  expectValid(`${place}/responses/${answer.status}/${content}`, answer.body)
  if (answer.status === 200) expectValid(`${place}/requestBody/${content}`, sentValue(request.body))
  else if (!response.description.includes(`${Object(answer.body).error}: `))
    throw new Error(`${path} answered with another error than its document says of ${answer.status}.`)
}

/** Throws if the content of a push to a phone does not match its webhook in `/v1/openapi.json`. */
export function expectDocumentedPush(webhook: keyof typeof DOCUMENT.webhooks, received: unknown): void {
  expectValid(`webhooks/${webhook}/post/requestBody/content/application~1json/schema`, received)
}

/** Whether a request body matches `/v1/openapi.json`. Ignores that the API also accepts SSIDs as integers and null. */
export function isDocumentedBody(path: string, body: unknown): boolean {
  const place = `paths/${path.replaceAll('/', '~1')}/post/requestBody/content/application~1json/schema`
  return validatorOf(place)(sentValue(body))
}

function expectValid(place: string, value: unknown): void {
  const validate = validatorOf(place)
  if (!validate(value))
    throw new Error(`${JSON.stringify(value)} is not what ${place} says: ${ajv.errorsText(validate.errors)}`)
}

function validatorOf(place: string): ValidateFunction {
  const validator = compiled.get(place)
  if (validator) return validator
  const validate = ajv.compile({ $ref: `document#/${place}` })
  compiled.set(place, validate)
  return validate
}

/**
 * Returns a request body with its SSID as a text. The document allows only texts, but the API also accepts integers and
 * null.
 */
function sentValue(body: unknown): unknown {
  const value = typeof body === 'string' || Buffer.isBuffer(body) ? JSON.parse(String(body)) : body
  const ssid: unknown = Object(value).ssid
  return ssid === null || Number.isInteger(ssid) ? { ...value, ssid: String(ssid ?? '') } : value
}

/** Returns a copy of the document in which the objects of answers allow no undocumented members. */
function closed(value: unknown, name = '', within = false): object {
  const isAnswer = within || name === 'responses' || ANSWERS.test(name)
  const members = Object.entries(Object(value)).map(([key, member]) => [
    key,
    typeof member === 'object' && member !== null ? closed(member, key, isAnswer) : member,
  ])
  if (Array.isArray(value)) return members.map(([, member]) => member)
  const copy = Object.fromEntries(members)
  return isAnswer && copy.type === 'object' && copy.properties ? { ...copy, unevaluatedProperties: false } : copy
}
