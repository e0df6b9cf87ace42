import { ROUTE_NAMES } from '../../config/domains/route-names.ts'
import type { DomainSettings } from '../../config/settings.ts'
import { causeCode, printableText } from '../../log.ts'
import type { Fetch } from '../../provider/http/limited-fetch.ts'
import type { Verdict } from './verdict.ts'

const question = 'files of this server'
const MOST_FILES = 5
/** Addresses in a page's markup, and the paths of those that are files. */
const ADDRESS = /\s(?:src|href)=["']?([^"'\s>]+)["'\s>]/gi
const FILE = /\.(?:css|js|png|svg|ico|jpe?g|webp|gif)$/i

/**
 * Asks this server's public address for the files of its login page, as anybody may: a cache in front that kept a
 * `Set-Cookie` with one of them signs people in as whoever fetched it first. Never rejects.
 */
export async function askForFiles({ client }: Pick<DomainSettings, 'client'>, fetch: Fetch): Promise<Verdict> {
  const page = new URL('login', client.redirect_uri)
  const get = (url: URL) => fetch(url.href, { method: 'GET', headers: {}, body: undefined, redirect: 'manual' })
  try {
    const markup = await (await get(page)).text()
    const there = [...markup.matchAll(ADDRESS)].flatMap(([, address = '']) =>
      URL.canParse(address, page.href) ? [new URL(address, page)] : [],
    )
    const own = there
      .filter(({ origin, pathname }) => origin === page.origin && FILE.test(pathname))
      .slice(0, MOST_FILES)
    for (const file of own) {
      const [name] = (await get(file)).headers.get('set-cookie')?.split('=') ?? []
      if (name === undefined) continue
      // Where the plugin is loaded it takes these cookies away, and tells its keys, or that there are none, in JSON.
      const keys = await get(new URL(ROUTE_NAMES.jwks, page))
      if (!keys.headers.get('content-type')?.includes('json')) {
        const text = `Not asked: ${page.origin} serves without the plugin. Start that server with it (MeshCentral: \`meshcompanion\` in \`settings.plugins.list\`, its folder in \`plugins\`), and ask again.`
        return { question, verdict: 'warn', text }
      }
      const text = `${printableText(file.origin + file.pathname)} comes with a cookie (${printableText(name)}). A cache that keeps such an answer signs people in as somebody else: have no cache keep Set-Cookie, empty those that there are, and see "Behind a proxy" in the documents.`
      return { question, verdict: 'fail', text }
    }
    const none = own.length === 0 ? `none on ${page.href}` : `no cookie comes with ${own.length} of the login page`
    return { question, verdict: 'ok', text: none }
  } catch (error) {
    const code = causeCode(error)
    const text = `Not asked: ${page.origin} cannot be reached from here${code === undefined ? '' : ` [causeCode: ${code}]`}. Ask again once it serves, where its name is known and its certificate trusted (MeshCentral's own: NODE_EXTRA_CA_CERTS=…/root-cert-public.crt).`
    return { question, verdict: 'warn', text }
  }
}
