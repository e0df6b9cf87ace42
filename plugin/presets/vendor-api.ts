import { type Clock, deadlineSignal } from '../clock.ts'
import { causeCode } from '../log.ts'
import type { Membership } from '../login/groups/memberships.ts'

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

/** What presets ask their vendors with. */
export interface VendorAccess {
  readonly fetch: VendorFetch
  readonly clock: Clock
}

/** For all pages together, in milliseconds. */
export const PAGES_MS = 15_000
const MOST_PAGES = 20

/** One page of a vendor's list: its groups, and where the next page is, if there is one. */
export interface Page {
  readonly memberships: readonly Membership[]
  readonly next: URL | undefined
}

export interface PageReader extends VendorAccess {
  /** A secret. */
  readonly accessToken: string
  /** One page's JSON to its groups; undefined when it is not of the expected shape. */
  readonly read: (json: unknown) => Page | undefined
  /** For all pages together. */
  readonly totalMs: number
  /** Sent with each page beside what all need. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A page that was answered with another status than 200. */
export class RefusedPage extends Error {
  readonly status: number
  /** Of the first page: nothing had been learned yet. */
  readonly isFirst: boolean
  constructor(hostName: string, status: number, isFirst: boolean) {
    super(`${hostName} answered the request for groups with ${status}`)
    this.status = status
    this.isFirst = isFirst
  }
}

/**
 * All pages of a list of groups, from the first address on.
 *
 * @throws RefusedPage, Error when a page does not come, is refused or makes no sense: a part of the list is no list
 */
export async function readPages(first: URL, reader: PageReader): Promise<readonly Membership[]> {
  const { signal, clear } = deadlineSignal(reader.clock, reader.totalMs)
  return readAll(first, reader, signal).finally(clear)
}

async function readAll(first: URL, reader: PageReader, signal: AbortSignal): Promise<readonly Membership[]> {
  const all: Membership[] = []
  let url: URL | undefined = first
  for (let page = 1; url; page += 1) {
    if (page > MOST_PAGES) throw new Error(`there are more than ${MOST_PAGES} pages of groups`)
    // Checked for each page: the token goes nowhere but to the vendor.
    if (url.origin !== first.origin) throw new Error('the next page of groups is said to be at another host')
    const response = await request(url, reader, signal)
    if (response.status !== 200) throw new RefusedPage(url.hostname, response.status, page === 1)
    // No JSON is no list either.
    const found = reader.read(await response.json().catch(() => undefined))
    if (!found) throw new Error(`${url.hostname} sent something that is no list of groups`)
    all.push(...found.memberships)
    url = found.next
  }
  return all
}

async function request(url: URL, { fetch, accessToken, headers: more }: PageReader, signal: AbortSignal) {
  const headers = { ...more, authorization: `Bearer ${accessToken}`, accept: 'application/json' }
  const init = { method: 'GET', headers, body: undefined, redirect: 'manual', signal } as const
  return fetch(url.href, init).catch((error: unknown) => {
    // Only its code or name goes on: the words of an error about a header quote the header, and so the token.
    throw unanswered(url, causeCode(error) ?? (error instanceof Error ? error.name : typeof error))
  })
}

function unanswered({ hostname }: URL, what: string): Error {
  return new Error(`${hostname} did not answer the request for groups: ${what}`)
}

/** Text that is there and not empty. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
