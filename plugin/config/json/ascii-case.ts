/**
 * Lowers the letters A to Z alone. `toLowerCase` makes a `k` of the Kelvin sign too, so that two names would be one.
 */
export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/**
 * Lowers each letter that does not become one of ASCII. For names that a host has lowered by `toLowerCase`, as
 * MeshCentral does with the keys of its configuration.
 */
export function lowerCaseButAscii(text: string): string {
  return asciiLowerCase(text).replace(/[^\0-\x7f]/gu, (letter) => {
    const lowered = letter.toLowerCase()
    return /[\0-\x7f]/.test(lowered) ? letter : lowered
  })
}
