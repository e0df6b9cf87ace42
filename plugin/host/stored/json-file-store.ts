import { randomBytes } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { KeyedStore } from './keyed-store.ts'

/** The whole file is held in memory and written anew with each change: some ten thousand people. */
const MAX_BYTES = 16 * 1024 * 1024

/** What a file has, and what tells this state of it from any other. */
interface Contents {
  readonly texts: ReadonlyMap<string, string>
  readonly mark: string
}

interface Batch {
  readonly changes: Map<string, string>
  readonly written: Promise<void>
}

const NO_FILE: Contents = { texts: new Map(), mark: 'none' }

/**
 * Texts by key in one JSON file, made with its folder at the first change and readable by its owner alone: for one
 * process, and for as many people as fit into 16 MB. What is set is in the file, whole, before that resolves, or
 * nothing of it is. A file that cannot be read fails each call and is never written over; it is tried again each time.
 * One that somebody else has changed fails the next change, and what is in it counts from then on.
 */
export function jsonFileStore(file: string): KeyedStore {
  let loading: Promise<Contents> | undefined
  let writing: Promise<void> = Promise.resolve()
  let gathered: Batch | undefined

  function load(): Promise<Contents> {
    loading ??= readContents(file).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }

  async function write(changes: ReadonlyMap<string, string>): Promise<void> {
    const { texts, mark } = await load()
    if ((await markNow(file)) !== mark) {
      loading = undefined
      throw new Error(`${file} was changed by somebody else. Open it once, in one process, and stop that to edit it.`)
    }
    loading = Promise.resolve(await writeTexts(file, new Map([...texts, ...changes])))
  }

  /** What comes while the file is written goes into it together with what comes next. */
  function gather(): Batch {
    const changes = new Map<string, string>()
    const written = writing.then(() => {
      gathered = undefined
      return write(changes)
    })
    writing = written.catch(() => undefined)
    return { changes, written }
  }

  return {
    get: async (key) => (await load()).texts.get(key),
    set: (key, text) => {
      gathered ??= gather()
      gathered.changes.set(key, text)
      return gathered.written
    },
  }
}

async function readContents(file: string): Promise<Contents> {
  try {
    const handle = await open(file)
    try {
      const stats = await handle.stat({ bigint: true })
      if (stats.size > MAX_BYTES)
        throw new Error(`${file} is over ${MAX_BYTES} bytes. Keep so many records in a database.`)
      return { texts: new Map(entriesOf(await handle.readFile('utf8'), file)), mark: markOf(stats) }
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (isMissing(error)) return NO_FILE
    throw error
  }
}

async function markNow(file: string): Promise<string> {
  try {
    return markOf(await stat(file, { bigint: true }))
  } catch (error) {
    if (isMissing(error)) return NO_FILE.mark
    throw error
  }
}

function markOf({ ino, size, mtimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs].join()
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
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

/**
 * Beside the file first: whoever reads it, and whoever comes after a crash, finds the old one or the new one, whole.
 */
async function writeTexts(file: string, texts: Contents['texts']): Promise<Contents> {
  const text = `${JSON.stringify(Object.fromEntries(texts), null, 2)}\n`
  if (Buffer.byteLength(text) > MAX_BYTES) throw new Error(`${file} would be over ${MAX_BYTES} bytes.`)
  await mkdir(dirname(file), { recursive: true })
  const beside = `${file}.${randomBytes(6).toString('hex')}`
  try {
    const handle = await open(beside, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
      const mark = markOf(await handle.stat({ bigint: true }))
      await rename(beside, file)
      return { texts, mark }
    } finally {
      await handle.close()
    }
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}
