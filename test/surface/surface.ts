import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { WARNING_CODES } from '../../plugin/config/problem.ts'
import { oidcSchema } from '../../plugin/config/rules/schema/schema.ts'
import { LOGIN_ERRORS, MESSAGES } from '../../plugin/errors.ts'
import { PRESETS } from '../../plugin/presets/presets.ts'
import { packagedDocument } from '../../sidecar/api/openapi/document.ts'
import { SETTINGS_SCHEMA } from '../../sidecar/config/schema.ts'
import { API_ERRORS, STORE_FAULTS } from '../../sidecar/errors.ts'
import { LABELS } from '../../sidecar/metrics.ts'
import { OBSTACLES } from '../../sidecar/operator/page/obstacles.ts'
import { codesIn, namesIn, rowsIn, textOf } from '../sidecar/docs/page.ts'
import { inCode, readDocument, section, tableRows } from '../support/documents.ts'
import { declarationsOf } from './declarations.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The folder of the recorded surface. */
export const RECORD = fileURLToPath(new URL('recorded', import.meta.url))

/** Members of schemas that only explain. A change of them changes nothing for programs. */
const WORDS: ReadonlySet<string> = new Set(['description', 'summary', 'title'])

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  readonly bin: Readonly<Record<string, string>>
}

/**
 * Returns the public surface as texts by file name: what users, other programs and alerts rely on. Explanations are
 * left out.
 */
export async function publicSurface(): Promise<Readonly<Record<string, string>>> {
  return {
    'exports.txt': await exportsText(),
    'configuration.json': json({ sidecar: SETTINGS_SCHEMA, oidc: oidcSchema(PRESETS) }),
    'codes.json': json(codes()),
    'events.json': json(events()),
    'metrics.json': json(metrics()),
    'openapi.json': json(packagedDocument()),
  }
}

/** Lists the entry points with the types of everything that they export. */
async function exportsText(): Promise<string> {
  const { exports, bin } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Manifest
  const folder = await mkdtemp(join(tmpdir(), 'declarations-'))
  try {
    const command = ['node_modules/typescript/bin/tsc', '-p', '.tsconfig.build.json', '--emitDeclarationOnly']
    const maps = ['--sourceMap', 'false', '--inlineSources', 'false']
    await promisify(execFile)(process.execPath, [...command, ...maps, '--outDir', folder], { cwd: ROOT })
    const texts = new Map<string, string>()
    const entries = Object.entries(exports).map(([path, target]) => {
      if (typeof target === 'string') return `${path}: data`
      const entry = declarationsOf(join(folder, target.types.replace('./dist/', '')), folder)
      for (const [key, text] of entry.texts) texts.set(key, text)
      return `${path}: ${entry.names.join(', ')}`
    })
    const declarations = [...texts].sort(([one], [other]) => (one < other ? -1 : 1))
    return `${[
      ...entries,
      ...Object.keys(bin).map((name) => `command ${name}`),
      ...declarations.map(([key, text]) => `// ${key}\n${text}`),
    ].join('\n\n')}\n`
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function codes() {
  return {
    api: Object.fromEntries(Object.entries(API_ERRORS).map(([code, { status }]) => [code, status])),
    database: Object.keys(STORE_FAULTS),
    start: namesIn(textOf('troubleshooting.md', '## Codes at the start'), 'code'),
    readiness: Object.keys(OBSTACLES),
    logins: Object.keys(LOGIN_ERRORS),
    messages: Object.keys(MESSAGES),
    configurationWarnings: WARNING_CODES,
  }
}

/** The events of the logs. Tests of the documents compare their tables with the sources. */
function events() {
  const plugin = tableRows(section(readDocument('plugin/docs/troubleshooting.md'), '## Events'))
  const sidecarRows = rowsIn(textOf('every-day.md', '## The log'), 'event')
  const eventsAt = (level: string) => sidecarRows.filter((row) => row[1] === level).flatMap(([cell]) => codesIn(cell))
  return {
    plugin: plugin.flatMap(([names = '']) => inCode(names)).sort(),
    sidecar: {
      problems: [...namesIn(textOf('troubleshooting.md', '## Events'), 'event')].sort(),
      info: eventsAt('info').sort(),
      debug: eventsAt('debug').sort(),
    },
  }
}

/** The metrics. A test of the documents compares their table with what the sidecar exposes. */
function metrics() {
  const page = textOf('metrics-and-alerts.md', '## Metrics')
  const namesBelow = (heading: string) =>
    Object.fromEntries(rowsIn(page, heading).map(([name, labels]) => [codesIn(name)[0], codesIn(labels)]))
  return { counters: namesBelow('counter'), others: namesBelow('gauge or histogram'), labelsOfCounters: LABELS }
}

function json(value: object): string {
  return `${JSON.stringify(withoutWords(value), null, 2)}\n`
}

/** Copies JSON without the members that only explain. A property of that name in a schema stays. */
function withoutWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutWords)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name, member]) => !(WORDS.has(name) && typeof member === 'string'))
  return Object.fromEntries(members.map(([name, member]) => [name, withoutWords(member)]))
}
