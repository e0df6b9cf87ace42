import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKED = fileURLToPath(new URL('../../../dist/meshcentral-plugin/meshcompanion', import.meta.url))

/** A record of MeshCentral's database. */
export type DbRecord = Readonly<Record<string, unknown>> & { readonly _id: string }

/** The data folder of one server: configuration, certificates, database, plugins and authentication log. */
export interface DataFolder {
  readonly path: string
  /** Returns the lines of the authentication log without their line breaks. */
  authLog(): Promise<readonly string[]>
  /** Returns the current records by id. A record is written some 100 ms after it changed. */
  records(): Promise<ReadonlyMap<string, DbRecord>>
  /** Returns the event log, oldest first. */
  events(): Promise<readonly DbRecord[]>
  writeConfig(config: object): Promise<void>
  /** Copies the packed plugin into the folder, or the plugin with this text as its program. */
  addPlugin(program?: string): Promise<void>
  remove(): Promise<void>
}

/** @param template a folder to copy the certificates from, because creating them takes seconds */
export async function makeDataFolder(template?: string): Promise<DataFolder> {
  const path = await mkdtemp(join(tmpdir(), 'meshcentral-data-'))
  const isWanted = (file: string) => !/^(config\.json|auth\.log|plugins|files|.*\.db)$/.test(basename(file))
  if (template !== undefined) await cp(template, path, { recursive: true, filter: isWanted })
  await mkdir(join(path, 'plugins'), { recursive: true })

  return {
    path,
    authLog: async () => (await readText(join(path, 'auth.log'))).split(/\r?\n/).slice(0, -1),
    records: () => readRecords(join(path, 'meshcentral.db')),
    events: async () => [...(await readRecords(join(path, 'meshcentral-events.db'))).values()],
    writeConfig: (config) => writeFile(join(path, 'config.json'), JSON.stringify(config)),
    addPlugin: async (program) => {
      const folder = join(path, 'plugins/meshcompanion')
      await cp(PACKED, folder, { recursive: true })
      if (program !== undefined) await writeFile(join(folder, 'meshcompanion.js'), program)
    },
    remove: () => rm(path, { recursive: true, force: true, maxRetries: 3 }),
  }
}

/** Returns the program of the packed plugin as text. */
export function packedProgram(): Promise<string> {
  return readFile(join(PACKED, 'meshcompanion.js'), 'utf8')
}

/**
 * Returns the program with a change that runs right before it sets itself up in MeshCentral.
 *
 * @param change statements about `web` and `server`
 */
export async function alteredProgram(change: string): Promise<string> {
  return `${await packedProgram()}
    const genuine = module.exports.meshcompanion
    module.exports = { meshcompanion(handler) {
      const plugin = genuine(handler)
      const setUp = plugin.hook_setupHttpHandlers
      plugin.hook_setupHttpHandlers = function (web, server = handler.parent) { ${change}; setUp.call(this, web, server) }
      return plugin
    } }`
}

/** Reads records, one a line. The last line with an id counts; the very last line may be incomplete. */
async function readRecords(file: string): Promise<ReadonlyMap<string, DbRecord>> {
  const records = new Map<string, DbRecord>()
  for (const line of (await readText(file)).split('\n').slice(0, -1)) {
    const record = JSON.parse(line) as DbRecord
    if (record.$$deleted === true) records.delete(record._id)
    else if (record.$$indexCreated === undefined) records.set(record._id, record)
  }
  return records
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
}
