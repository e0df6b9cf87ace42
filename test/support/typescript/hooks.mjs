import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../../', import.meta.url)
/** Compiled files of this repository, one for each source, so that it does not grow. `npm ci` empties it. */
const CACHE = fileURLToPath(new URL('node_modules/.cache/mesh-companion-tests/', ROOT))
const COMPILER = readFileSync(new URL(import.meta.url))

/** Loads TypeScript files as Node.js loads other modules. */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context)
  const text = readFileSync(fileURLToPath(url), 'utf8')
  const source = url.startsWith(ROOT.href) ? await compileOnce(url, text) : await compile(url, text)
  return { format: 'module', shortCircuit: true, source }
}

async function compileOnce(url, text) {
  const file = join(CACHE, createHash('sha256').update(url).digest('hex'))
  // The last line names the text that was compiled, and this compiler.
  const mark = `// ${createHash('sha256').update(text).update(COMPILER).digest('hex')}\n`
  const kept = read(file)
  if (kept?.endsWith(mark)) return kept
  const code = (await compile(url, text)) + mark
  mkdirSync(CACHE, { recursive: true })
  // Another process must not read half of the file.
  const half = `${file}.${randomUUID()}`
  writeFileSync(half, code)
  renameSync(half, file)
  return code
}

async function compile(url, text) {
  // Imported now: a process needs no compiler if all of its files are compiled already.
  const { transform } = await import('esbuild')
  const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } }
  const options = { loader: 'ts', format: 'esm', target: 'node20', sourcemap: 'inline', sourcefile: url, tsconfigRaw }
  return (await transform(text, options)).code
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
