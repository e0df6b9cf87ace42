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
/** How often one page is asked for while the vendor says to come again later. */
const MOST_TRIES = 3

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
  const limit = { signal, endsAt: reader.clock.elapsed() + reader.totalMs }
  return readAll(first, reader, limit).finally(clear)
}

async function readAll(first: URL, reader: PageReader, limit: Limit): Promise<readonly Membership[]> {
  const all: Membership[] = []
  let url: URL | undefined = first
  for (let page = 1; url; page += 1) {
    if (page > MOST_PAGES) throw new Error(`there are more than ${MOST_PAGES} pages of groups`)
    // Checked for each page: the token goes nowhere but to the vendor.
    if (url.origin !== first.origin) throw new Error('the next page of groups is said to be at another host')
    const response = await ask(url, reader, limit)
    if (response.status !== 200) throw new RefusedPage(url.hostname, response.status, page === 1)
    // No JSON is no list either.
    const found = reader.read(await response.json().catch(() => undefined))
    if (!found) throw new Error(`${url.hostname} sent something that is no list of groups`)
    all.push(...found.memberships)
    url = found.next
  }
  return all
}

interface Limit {
  readonly signal: AbortSignal
  /** Of elapsed time. */
  readonly endsAt: number
}

/** One page; where the vendor is asked too often and says when to come again, that is waited for if there is time. */
async function ask(url: URL, reader: PageReader, limit: Limit): Promise<Response> {
  const { clock } = reader
  for (let tries = 1; ; tries += 1) {
    const response = await request(url, reader, limit.signal)
    const waitMs = response.status === 429 ? retryAfterMs(response.headers.get('retry-after'), clock.now()) : undefined
    if (waitMs === undefined || tries === MOST_TRIES || waitMs >= limit.endsAt - clock.elapsed()) return response
    await new Promise<void>((resolve) => clock.after(waitMs, resolve))
  }
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

/**
 * How long a server wants to be left alone: seconds, or a date. Undefined: it does not say so in a way that can be understood.
 * Source: RFC 9110, section 10.2.3.
 *
 * @param nowMs since 1970
 * @returns milliseconds, not below 0
 */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // `Date.parse` takes much for a date that is none, such as a lone number.
  if (!/^[A-Z][a-z]{2,8},? .*GMT$/.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
