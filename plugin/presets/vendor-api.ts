import type { Membership } from '../login/memberships.ts'

/** `fetch` with our limits on time, size, redirects and plain HTTP. */
export type VendorFetch = (
  url: string,
  init: {
    readonly method: 'GET'
    readonly headers: Record<string, string>
    readonly body: undefined
    readonly redirect: 'manual'
    readonly signal: AbortSignal
  },
) => Promise<Response>

/** For all pages together. */
const TOTAL_MS = 15_000
const MOST_PAGES = 20

/** One page of a vendor's list: its groups, and where the next page is, if there is one. */
export interface Page {
  readonly memberships: readonly Membership[]
  readonly next: URL | undefined
}

/**
 * All pages of a list of groups, from the first address on.
 *
 * @param read one page's JSON to its groups; undefined when it is not of the expected shape
 * @throws Error when a page does not come, is refused or makes no sense: a part of the list is no list
 */
export async function readPages(
  fetch: VendorFetch,
  first: URL,
  accessToken: string,
  read: (json: unknown) => Page | undefined,
): Promise<readonly Membership[]> {
  const signal = AbortSignal.timeout(TOTAL_MS)
  const all: Membership[] = []
  let url: URL | undefined = first
  for (let page = 1; url; page += 1) {
    if (page > MOST_PAGES) throw new Error(`more than ${MOST_PAGES} pages of groups`)
    // Checked again for each page: the token goes nowhere but to the vendor.
    if (url.origin !== first.origin) throw new Error('the next page of groups is at another host')
    const headers = { authorization: `Bearer ${accessToken}`, accept: 'application/json' }
    const response = await fetch(url.href, { method: 'GET', headers, body: undefined, redirect: 'manual', signal })
    if (response.status !== 200)
      throw new Error(`${url.hostname} answered the request for groups with ${response.status}`)
    const found = read(await response.json().catch(() => undefined))
    if (!found) throw new Error(`${url.hostname} sent something that is no list of groups`)
    all.push(...found.memberships)
    url = found.next
  }
  return all
}

/** A member of an object that came as JSON, undefined when there is no such text. */
export function textMember(object: unknown, name: string): string | undefined {
  if (typeof object !== 'object' || object === null) return undefined
  const value: unknown = Reflect.get(object, name)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The entries of a list member; undefined when it is there and is no list. A missing one is empty. */
export function listMember(object: unknown, name: string): readonly unknown[] | undefined {
  if (typeof object !== 'object' || object === null) return undefined
  const value: unknown = Reflect.get(object, name)
  if (value === undefined) return []
  return Array.isArray(value) ? value : undefined
}
