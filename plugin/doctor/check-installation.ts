import { MEMBERS, REQUEST_MEMBERS, TESTED_VERSIONS } from './meshcentral-members.ts'

/** Access to an installation's files. Each function throws like `node:fs`. */
export interface InstallationFiles {
  readonly read: (file: string, maxBytes?: number) => string
  /** Returns the paths of all files in a folder and its subfolders. */
  readonly list: (folder: string) => readonly string[]
}

export interface InstallationReading {
  readonly isFine: boolean
  /** The result of the check. Administrators can paste this text into a bug report. */
  readonly text: string
}

interface Finding {
  readonly name: string
  readonly state: 'there' | 'moved' | 'unknown'
  readonly text: string
}

/** The contents of source files, by path in MeshCentral's folder. */
type Sources = ReadonlyMap<string, string>

/**
 * Checks an installation of MeshCentral without starting it: whether the parts that single sign-on relies on are where
 * the tested versions have them.
 *
 * @param folder contains `node_modules`, or is MeshCentral's own
 * @param version the version of this package
 * @returns undefined if the folder has no MeshCentral
 */
export function readInstallation(
  folder: string,
  version: string,
  files: InstallationFiles,
): InstallationReading | undefined {
  const places = [`${folder}/node_modules/meshcentral`, folder]
  const [installation] = places.flatMap((place) => {
    const meshCentral = versionIn(place, files)
    return meshCentral === undefined ? [] : [{ place, meshCentral }]
  })
  if (!installation) return undefined
  const names = files.list(installation.place).filter((name) => /^(?:webserver\/.*|[^/]*)\.js$/.test(name))
  const sources = new Map(names.map((name) => [name, files.read(`${installation.place}/${name}`)]))
  const findings = [...requiredParts().map((part) => look(part, sources)), hookOrder(sources), cookieCalls(sources)]
  const lines = (state: Finding['state']) =>
    findings.filter((finding) => finding.state === state).map(({ name, text }) => `  ${state}: ${name}: ${text}\n`)
  const presentCount = lines('there').length
  const tested = TESTED_VERSIONS.includes(installation.meshCentral) ? 'tested' : `tested: ${TESTED_VERSIONS.join(', ')}`
  const text = [
    `mesh-companion ${version}, MeshCentral ${installation.meshCentral} (${tested}), Node.js ${process.version}\n`,
    `  there: ${presentCount} of ${findings.length} parts of MeshCentral that single sign-on relies on\n`,
    ...lines('moved'),
    ...lines('unknown'),
  ].join('')
  return { isFine: presentCount === findings.length, text }
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
  readonly name: string
  readonly file: string
  readonly pattern: RegExp
}

function requiredParts(): readonly Part[] {
  const members = Object.entries(MEMBERS).flatMap(([owner, { file, functions, objects }]) =>
    [...functions, ...objects].map((member) => ({ name: `${owner}.${member}`, file, pattern: set('obj', member) })),
  )
  const requestMembers = REQUEST_MEMBERS.map((member) => ({
    name: `req.${member}`,
    file: MEMBERS.web.file,
    pattern: member === 'session' ? /require\('cookie-session'\)/ : set('req', member),
  }))
  return [
    ...members,
    ...requestMembers,
    { name: 'server_startup', file: MEMBERS.server.file, pattern: /'server_startup'/ },
  ]
}

function set(object: string, name: string): RegExp {
  return new RegExp(`\\b${object}\\.${name} = `)
}

function look({ name, file, pattern }: Part, sources: Sources): Finding {
  if (pattern.test(sources.get(file) ?? '')) return { name, state: 'there', text: file }
  const [elsewhere] = [...sources].flatMap(([path, source]) => (pattern.test(source) ? [path] : []))
  return elsewhere === undefined
    ? { name, state: 'unknown', text: `not in ${file}, nor in another file` }
    : { name, state: 'moved', text: `in ${elsewhere}, not in ${file}` }
}

/** Checks that MeshCentral calls the plugin's hook before MeshCentral adds its own routes. */
function hookOrder(sources: Sources): Finding {
  const name = 'hook_setupHttpHandlers'
  const installation = look({ name, file: MEMBERS.web.file, pattern: /'hook_setupHttpHandlers'/ }, sources)
  const text = sources.get(MEMBERS.web.file) ?? ''
  const firstRoute = text.indexOf("obj.app.get(url + 'login'")
  return installation.state !== 'there' || text.indexOf(`'${name}'`) < firstRoute
    ? installation
    : { name, state: 'moved', text: `after the routes in ${MEMBERS.web.file}` }
}

/** Checks that MeshCentral keeps no references to `encodeCookie` and `decodeCookie`, which would bypass the plugin. */
function cookieCalls(sources: Sources): Finding {
  const name = 'calls of encodeCookie and decodeCookie'
  const references = [...sources].flatMap(([path, source]) =>
    /\.(?:en|de)codeCookie\b(?!\s*(?:\(|=[^=]))/.test(source) ? [path] : [],
  )
  return references.length === 0
    ? { name, state: 'there', text: 'everywhere' }
    : {
        name,
        state: 'moved',
        text: `referenced instead of called in ${references.join(', ')}, so MeshCentral may bypass the plugin`,
      }
}
