/**
 * Converts only the letters A to Z to lower case. `toLowerCase` would also convert the Kelvin sign to `k`, so that two
 * different names would become equal.
 */
export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/**
 * Converts every letter to lower case, except letters beyond ASCII that would become ASCII letters. Use it for names
 * that a host has converted with `toLowerCase`, as MeshCentral does with the keys of its configuration.
 */
export function lowerCaseButAscii(text: string): string {
  return asciiLowerCase(text).replace(/[^\0-\x7f]/gu, (letter) => {
    const lowered = letter.toLowerCase()
    return /[\0-\x7f]/.test(lowered) ? letter : lowered
  })
}
