/**
 * Removes trailing slashes from an address. Does not use a regular expression, because it would take quadratic time on
 * a long run of slashes.
 */
export function withoutTrailingSlashes(address: string): string {
  let end = address.length
  while (address[end - 1] === '/') end -= 1
  return address.slice(0, end)
}
