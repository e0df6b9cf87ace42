/**
 * Converts only the letters A to Z to lower case. `toLowerCase` would also convert the Kelvin sign to `k`, so that two
 * different names would become equal.
 */
export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/**
 * Like `toLowerCase`, but turns no other letter into an ASCII letter. For names that a host converted with
 * `toLowerCase`, as MeshCentral does.
 */
export function lowerCaseButAscii(text: string): string {
  return asciiLowerCase(text).replace(/[^\0-\x7f]/gu, (letter) => {
    const lowered = letter.toLowerCase()
    return /[\0-\x7f]/.test(lowered) ? letter : lowered
  })
}
