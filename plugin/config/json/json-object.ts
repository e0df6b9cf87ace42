/** An object as JSON has them, its members not yet looked at. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The members of what came from outside; none where it is no object. */
export function membersOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}
