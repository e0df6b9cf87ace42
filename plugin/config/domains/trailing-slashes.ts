/**
 * Removes trailing slashes from an address. No regular expression, because one would start again at each slash of a
 * long run.
 */
export function withoutTrailingSlashes(address: string): string {
  let end = address.length
  while (address[end - 1] === '/') end -= 1
  return address.slice(0, end)
}
