import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { KeyedStore } from './keyed-store.ts'

/** The whole file is held in memory and written anew with each change: some ten thousand people. */
const MAX_BYTES = 16 * 1024 * 1024

type Texts = ReadonlyMap<string, string>

/**
 * Texts by key in one JSON file, made with its folder at the first change and readable by its owner alone: for one process, and for as many
 * people as fit into 16 MB. What is set is in the file, whole, before that resolves, or nothing of it is. A file that cannot be read fails
 * each call and is never written over; it is tried again each time.
 */
export function jsonFileStore(file: string): KeyedStore {
  let loading: Promise<Texts> | undefined
  let writing: Promise<void> = Promise.resolve()
  let gathered: { readonly changes: Map<string, string>; readonly written: Promise<void> } | undefined

  function load(): Promise<Texts> {
    loading ??= readTexts(file).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }

  /** What comes while the file is written goes into it together with what comes next. */
  function gather(): { readonly changes: Map<string, string>; readonly written: Promise<void> } {
    const changes = new Map<string, string>()
    const written = writing.then(async () => {
      gathered = undefined
      const texts = new Map([...(await load()), ...changes])
      await writeTexts(file, texts)
      loading = Promise.resolve(texts)
    })
    writing = written.catch(() => undefined)
    return { changes, written }
  }

  return {
    get: async (key) => (await load()).get(key),
    set: (key, text) => {
      gathered ??= gather()
      gathered.changes.set(key, text)
      return gathered.written
    },
  }
}

async function readTexts(file: string): Promise<Texts> {
  try {
    const { size } = await stat(file)
    if (size > MAX_BYTES) throw new Error(`${file} is over ${MAX_BYTES} bytes. Keep so many records in a database.`)
    return new Map(entriesOf(await readFile(file, 'utf8'), file))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map()
    throw error
  }
}

function entriesOf(text: string, file: string): readonly [string, string][] {
  const fault = new Error(`${file} is no JSON object of texts. Mend it, or put a copy in its place.`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's own words would quote the file.
    throw fault
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault
  return Object.entries(value).map(([key, one]: [string, unknown]) => {
    if (typeof one !== 'string') throw fault
    return [key, one]
  })
}

/** Beside the file first: whoever reads it, and whoever comes after a crash, finds the old one or the new one, whole. */
async function writeTexts(file: string, texts: Texts): Promise<void> {
  const text = `${JSON.stringify(Object.fromEntries(texts), null, 2)}\n`
  if (Buffer.byteLength(text) > MAX_BYTES) throw new Error(`${file} would be over ${MAX_BYTES} bytes.`)
  await mkdir(dirname(file), { recursive: true })
  const beside = `${file}.${randomBytes(6).toString('hex')}`
  try {
    const handle = await open(beside, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(beside, file)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}
