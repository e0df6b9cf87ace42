/** A JSON object with members that have not been checked. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the members of an untrusted value, or no members if the value is not an object. */
export function membersOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}
