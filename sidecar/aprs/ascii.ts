/** Whether a character code is an ASCII letter or digit. False for NaN, which `charCodeAt` returns past the end. */
export function isAlphanumeric(code: number): boolean {
  const lowered = code | 0x20
  return (lowered >= 0x61 && lowered <= 0x7a) || (code >= 0x30 && code <= 0x39)
}
