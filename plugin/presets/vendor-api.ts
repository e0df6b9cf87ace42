import { type Clock, deadlineSignal } from '../clock.ts'
import { causeCode } from '../log.ts'
import type { Membership } from '../login/groups/memberships.ts'

/** A `fetch` with limits on time, size, redirects and plain HTTP. */
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

/** The `fetch` and clock that presets use for requests to their vendors. */
export interface VendorAccess {
  readonly fetch: VendorFetch
  readonly clock: Clock
}

/** Time limit for all pages of a list of groups together, in milliseconds. */
export const PAGES_MS = 15_000
const MAX_PAGES = 20

/** One page of a vendor's list: its groups, and the address of the next page, if there is one. */
export interface Page {
  readonly memberships: readonly Membership[]
  readonly next: URL | undefined
}

export interface PageReader extends VendorAccess {
  /** The user's access token for the vendor's API. A secret. */
  readonly accessToken: string
  /** Reads the groups from one page's JSON. Returns undefined if the JSON does not have the expected shape. */
  readonly read: (json: unknown) => Page | undefined
  /** Time limit for all pages of the list together, in milliseconds. */
  readonly totalMs: number
  /** Additional headers for each request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The error if a vendor's API answers the request for a page of groups with a status other than 200. */
export class RefusedPage extends Error {
  readonly status: number
  /** Whether the vendor refused the first page of the list, so that no groups were read. */
  readonly isFirst: boolean
  constructor(hostName: string, status: number, isFirst: boolean) {
    super(`${hostName} answered the request for groups with ${status}`)
    this.status = status
    this.isFirst = isFirst
  }
}

/**
 * Reads all pages of a list of groups.
 *
 * @throws RefusedPage if the vendor refuses a page
 * @throws Error if a page is missing or unusable
 */
export async function readPages(first: URL, reader: PageReader): Promise<readonly Membership[]> {
  const { signal, clear } = deadlineSignal(reader.clock, reader.totalMs)
  return readAll(first, reader, signal).finally(clear)
}

async function readAll(first: URL, reader: PageReader, signal: AbortSignal): Promise<readonly Membership[]> {
  const all: Membership[] = []
  let url: URL | undefined = first
  for (let page = 1; url; page += 1) {
    if (page > MAX_PAGES) throw new Error(`there are more than ${MAX_PAGES} pages of groups`)
    // Check the host of each page, so that the token is sent only to the vendor.
    if (url.origin !== first.origin) throw new Error('the next page of groups is at another host')
    const response = await request(url, reader, signal)
    if (response.status !== 200) throw new RefusedPage(url.hostname, response.status, page === 1)
    // If a page is not JSON, report it like a page of an unexpected shape.
    const read = reader.read(await response.json().catch(() => undefined))
    if (!read) throw new Error(`${url.hostname} did not answer with a list of groups`)
    all.push(...read.memberships)
    url = read.next
  }
  return all
}

async function request(url: URL, { fetch, accessToken, headers: extraHeaders }: PageReader, signal: AbortSignal) {
  const headers = { ...extraHeaders, authorization: `Bearer ${accessToken}`, accept: 'application/json' }
  const init = { method: 'GET', headers, body: undefined, redirect: 'manual', signal } as const
  return fetch(url.href, init).catch((error: unknown) => {
    // Use only the code or the name of the error. The message of an error about a header quotes the header, which
    // contains the token.
    throw unanswered(url, causeCode(error) ?? (error instanceof Error ? error.name : typeof error))
  })
}

function unanswered({ hostname }: URL, cause: string): Error {
  return new Error(`${hostname} did not answer the request for groups: ${cause}`)
}

/** Whether a value is a non-empty string. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
