/**
 * The steps of a JSON Pointer (RFC 6901), as ajv reports places: `/listen/trustProxy/0` is `listen`, `trustProxy`, `0`.
 */
export function pointerSteps(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** A place in a JSON document as people write it: `listen.trustProxy[0]`; the document as a whole is `$`. */
export function jsonPath(steps: readonly string[]): string {
  if (steps.length === 0) return '$'
  return steps.reduce((path, step) => {
    if (/^\d+$/.test(step)) return `${path}[${step}]`
    if (/^[A-Za-z_$][\w$]*$/.test(step)) return path === '' ? step : `${path}.${step}`
    return `${path}[${JSON.stringify(step)}]`
  }, '')
}
