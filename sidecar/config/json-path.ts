/** Splits a JSON Pointer (RFC 6901), as ajv reports: `/listen/trustProxy/0` becomes `listen`, `trustProxy`, `0`. */
export function pointerSteps(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Formats a place in a JSON document for the operator: `listen.trustProxy[0]`, or `$` for the whole document. */
export function jsonPath(steps: readonly string[]): string {
  if (steps.length === 0) return '$'
  return steps.reduce((path, step) => {
    if (/^\d+$/.test(step)) return `${path}[${step}]`
    if (/^[A-Za-z_$][\w$]*$/.test(step)) return path === '' ? step : `${path}.${step}`
    return `${path}[${JSON.stringify(step)}]`
  }, '')
}
