import { ROUTE_NAMES } from '../../config/domains/route-names.ts'
import type { DomainSettings } from '../../config/settings.ts'
import { causeCode, printableText } from '../../log.ts'
import type { Fetch } from '../../provider/http/limited-fetch.ts'
import { isUntrusted, type Verdict } from './verdict.ts'

const question = 'files of this server'
const MAX_FILES = 5
/** Matches addresses in a page's markup. */
const ADDRESS = /\s(?:src|href)=["']?([^"'\s>]+)["'\s>]/gi
/** Matches paths of static files, which caches often store. */
const FILE = /\.(?:css|js|png|svg|ico|jpe?g|webp|gif)$/i

/**
 * Checks that the files of the public login page come without cookies. A cache could store a `Set-Cookie` with a file,
 * and sign later users in as the first one. Never rejects.
 */
export async function askForFiles({ client }: Pick<DomainSettings, 'client'>, fetch: Fetch): Promise<Verdict> {
  const page = new URL('login', client.redirect_uri)
  const get = (url: URL) => fetch(url.href, { method: 'GET', headers: {}, body: undefined, redirect: 'manual' })
  try {
    const markup = await (await get(page)).text()
    const addresses = [...markup.matchAll(ADDRESS)].flatMap(([, address = '']) =>
      URL.canParse(address, page.href) ? [new URL(address, page)] : [],
    )
    const files = addresses
      .filter(({ origin, pathname }) => origin === page.origin && FILE.test(pathname))
      .slice(0, MAX_FILES)
    for (const file of files) {
      const [name] = (await get(file)).headers.get('set-cookie')?.split('=') ?? []
      if (name === undefined) continue
      // Without the plugin, MeshCentral's files have cookies. Only the plugin answers this address with JSON.
      const keys = await get(new URL(ROUTE_NAMES.jwks, page))
      if (!keys.headers.get('content-type')?.includes('json')) {
        const text = `Not checked: the server at ${page.origin} runs without the plugin. Start it with the plugin (MeshCentral: \`meshcompanion\` in \`settings.plugins.list\`, its folder in \`plugins\`), and check again.`
        return { question, verdict: 'warn', text }
      }
      const text = `${printableText(file.origin + file.pathname)} comes with a cookie (${printableText(name)}). A cache that stores such an answer signs users in to another user's account. Configure all caches not to store Set-Cookie, empty them, and see "Behind a proxy" in the documentation.`
      return { question, verdict: 'fail', text }
    }
    const summary =
      files.length === 0
        ? `none on ${page.href}`
        : `no cookie comes with the files of the login page (${files.length} checked)`
    return { question, verdict: 'ok', text: summary }
  } catch (error) {
    const code = causeCode(error)
    const cause = code === undefined ? '' : ` [causeCode: ${code}]`
    const text =
      code !== undefined && isUntrusted(code)
        ? `Not checked: this machine does not trust the certificate of ${page.origin}${cause}. To check the files too, add the certificate's authority (MeshCentral's own: meshcentral-data/root-cert-public.crt) to the file that NODE_EXTRA_CA_CERTS names, beside that of the IdP, and run the checker again.`
        : `Not checked: ${page.origin} cannot be reached from this machine${cause}. Check again while it runs, on a machine that knows its name.`
    return { question, verdict: 'warn', text }
  }
}
