import { MEMBERS, REQUEST_MEMBERS, TESTED_VERSIONS } from './meshcentral-members.ts'

/** What is read of an installation. Each throws like `node:fs`. */
export interface InstallationFiles {
  readonly read: (file: string, maxBytes?: number) => string
  /** Paths of the files in a folder and below it. */
  readonly list: (folder: string) => readonly string[]
}

export interface InstallationReading {
  readonly isFine: boolean
  /** For people, to be pasted into a report. */
  readonly text: string
}

interface Finding {
  readonly what: string
  readonly state: 'there' | 'moved' | 'unknown'
  readonly text: string
}

/** By path in MeshCentral's folder. */
type Sources = ReadonlyMap<string, string>

/**
 * Reads an installation of MeshCentral without starting it: whether all that single sign-on relies on is where it is in
 * the tested versions.
 *
 * @param folder the one that `node_modules` is in, or MeshCentral's own
 * @param version the package's own
 * @returns undefined where there is no MeshCentral
 */
export function readInstallation(
  folder: string,
  version: string,
  files: InstallationFiles,
): InstallationReading | undefined {
  const places = [`${folder}/node_modules/meshcentral`, folder]
  const [found] = places.flatMap((place) => {
    const meshCentral = versionIn(place, files)
    return meshCentral === undefined ? [] : [{ place, meshCentral }]
  })
  if (!found) return undefined
  const names = files.list(found.place).filter((name) => /^(?:webserver\/.*|[^/]*)\.js$/.test(name))
  const sources = new Map(names.map((name) => [name, files.read(`${found.place}/${name}`)]))
  const findings = [...reliedOn().map((one) => look(one, sources)), order(sources), references(sources)]
  const lines = (state: Finding['state']) =>
    findings.filter((one) => one.state === state).map(({ what, text }) => `  ${state}: ${what}: ${text}\n`)
  const there = lines('there').length
  const tested = TESTED_VERSIONS.includes(found.meshCentral) ? 'tested' : `tested: ${TESTED_VERSIONS.join(', ')}`
  const text = [
    `mesh-companion ${version}, MeshCentral ${found.meshCentral} (${tested}), Node.js ${process.version}\n`,
    `  there: ${there} of ${findings.length} parts that single sign-on relies on\n`,
    ...lines('moved'),
    ...lines('unknown'),
  ].join('')
  return { isFine: there === findings.length, text }
}

function versionIn(place: string, { read }: InstallationFiles): string | undefined {
  try {
    const { name, version } = JSON.parse(read(`${place}/package.json`)) as Record<string, unknown>
    return name === 'meshcentral' ? String(version) : undefined
  } catch {
    return undefined
  }
}

interface Part {
  readonly what: string
  readonly file: string
  readonly pattern: RegExp
}

function reliedOn(): readonly Part[] {
  const members = Object.entries(MEMBERS).flatMap(([owner, { file, functions, objects }]) =>
    [...functions, ...objects].map((name) => ({ what: `${owner}.${name}`, file, pattern: set('obj', name) })),
  )
  const ofRequests = REQUEST_MEMBERS.map((name) => ({
    what: `req.${name}`,
    file: MEMBERS.web.file,
    pattern: name === 'session' ? /require\('cookie-session'\)/ : set('req', name),
  }))
  return [...members, ...ofRequests, { what: 'server_startup', file: MEMBERS.server.file, pattern: /'server_startup'/ }]
}

function set(object: string, name: string): RegExp {
  return new RegExp(`\\b${object}\\.${name} = `)
}

function look({ what, file, pattern }: Part, sources: Sources): Finding {
  if (pattern.test(sources.get(file) ?? '')) return { what, state: 'there', text: file }
  const [elsewhere] = [...sources].flatMap(([name, source]) => (pattern.test(source) ? [name] : []))
  return elsewhere === undefined
    ? { what, state: 'unknown', text: `nothing like it in ${file}, nor elsewhere` }
    : { what, state: 'moved', text: `in ${elsewhere}, not in ${file}` }
}

/** Whether the hook comes before the routes. */
function order(sources: Sources): Finding {
  const what = 'hook_setupHttpHandlers'
  const found = look({ what, file: MEMBERS.web.file, pattern: /'hook_setupHttpHandlers'/ }, sources)
  const text = sources.get(MEMBERS.web.file) ?? ''
  const firstRoute = text.indexOf("obj.app.get(url + 'login'")
  return found.state !== 'there' || text.indexOf(`'${what}'`) < firstRoute
    ? found
    : { what, state: 'moved', text: `behind the routes in ${MEMBERS.web.file}` }
}

/** Whether what seals and opens is looked up at each call, so that ours is called. */
function references(sources: Sources): Finding {
  const what = 'calls of encodeCookie and decodeCookie'
  const held = [...sources].flatMap(([name, source]) =>
    /\.(?:en|de)codeCookie\b(?!\s*(?:\(|=[^=]))/.test(source) ? [name] : [],
  )
  return held.length === 0
    ? { what, state: 'there', text: 'everywhere' }
    : { what, state: 'moved', text: `kept by reference in ${held.join(', ')}` }
}
