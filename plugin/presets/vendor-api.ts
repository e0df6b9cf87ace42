import { causeCode } from '../log.ts'
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

/** For all pages together, in milliseconds. */
export const PAGES_MS = 15_000
const MOST_PAGES = 20

/** One page of a vendor's list: its groups, and where the next page is, if there is one. */
export interface Page {
  readonly memberships: readonly Membership[]
  readonly next: URL | undefined
}

export interface PageReader {
  readonly fetch: VendorFetch
  /** A secret. */
  readonly accessToken: string
  /** One page's JSON to its groups; undefined when it is not of the expected shape. */
  readonly read: (json: unknown) => Page | undefined
  /** For all pages together. */
  readonly totalMs: number
}

/**
 * All pages of a list of groups, from the first address on.
 *
 * @throws Error when a page does not come, is refused or makes no sense: a part of the list is no list
 */
export async function readPages(first: URL, reader: PageReader): Promise<readonly Membership[]> {
  const signal = AbortSignal.timeout(reader.totalMs)
  const all: Membership[] = []
  let url: URL | undefined = first
  for (let page = 1; url; page += 1) {
    if (page > MOST_PAGES) throw new Error(`there are more than ${MOST_PAGES} pages of groups`)
    // Checked for each page: the token goes nowhere but to the vendor.
    if (url.origin !== first.origin) throw new Error('the next page of groups is said to be at another host')
    const found = reader.read(await fetchJson(url, reader, signal))
    if (!found) throw new Error(`${url.hostname} sent something that is no list of groups`)
    all.push(...found.memberships)
    url = found.next
  }
  return all
}

/** The answer's JSON; undefined when it is none. */
async function fetchJson(url: URL, { fetch, accessToken }: PageReader, signal: AbortSignal): Promise<unknown> {
  const headers = { authorization: `Bearer ${accessToken}`, accept: 'application/json' }
  const init = { method: 'GET', headers, body: undefined, redirect: 'manual', signal } as const
  const response = await fetch(url.href, init).catch((error: unknown) => {
    // Only its code or name goes on: the words of an error about a header quote the header, and so the token.
    const what = causeCode(error) ?? (error instanceof Error ? error.name : typeof error)
    throw new Error(`${url.hostname} did not answer the request for groups: ${what}`)
  })
  if (response.status !== 200)
    throw new Error(`${url.hostname} answered the request for groups with ${response.status}`)
  return response.json().catch(() => undefined)
}

/** Members of an object that came as JSON; undefined for anything else, arrays included. */
export function membersOf(json: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : undefined
}

/** Text that is there and not empty. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
